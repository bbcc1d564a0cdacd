"""Worlds in which giving up may be best, for tests and benchmarks of the recommended policy."""

import numpy as np
from numpy.typing import NDArray

from longrank import Payoffs, unit_rows
from longrank.links import LOGISTIC
from longrank.simulation import Stream


def small_world(seed: int, rounds: int = 5_000) -> tuple[Stream, Payoffs, NDArray[np.bool_]]:
    """A random small world: up to eight items of two to five numbers, any budget, any payoffs.

    It shows whether a policy gives up where it should and only there. Returns the rounds, what
    they pay, and in which of them an oracle would try an item.
    """
    rng = np.random.default_rng(seed)
    k, d, b = int(rng.integers(1, 9)), int(rng.integers(2, 6)), int(rng.integers(1, 6))
    u = rng.normal(size=d)
    u *= rng.uniform(0.3, 4.0) / np.linalg.norm(u)
    items = unit_rows(rng.normal(size=(rounds * k, d))) * rng.uniform(0.3, 1.0)
    chances = LOGISTIC.probability(items @ u + rng.uniform(-5.0, 1.0))
    cost = float(rng.uniform(0.02, min(0.9, 1.0 / b)))
    payoffs = [
        Payoffs.exponential(b),
        Payoffs.linear(b, attempt_cost=cost, give_up=-float(rng.uniform(0.0, 0.5))),
        Payoffs.linear(b, attempt_cost=cost),
    ][seed % 3]
    best = np.sort(chances.reshape(rounds, k), axis=1)[:, ::-1][:, :b]
    plays = np.array([payoffs.best_length(row) > 0 for row in best])
    starts = np.arange(0, len(items) + 1, k)
    return Stream(items, starts, rng.random(len(items)) < chances), payoffs, plays
