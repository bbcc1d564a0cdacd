"""2. A simulated round, compiled as a whole, against one X @ M^-1 by BLAS."""

from __future__ import annotations

import numpy as np

from longrank import Payoffs, named
from longrank.experiments.bench.measure import Row, alternate, ratio
from longrank.experiments.bench.rounds import B, D, K, rounds
from longrank.simulation import Stream
from longrank.simulation.stream import live

ROUNDS = 500


def figures() -> list[Row]:
    dealt, payoffs = rounds(count=ROUNDS), Payoffs.exponential(B)
    items = np.concatenate([x for x, _ in dealt])
    wins = np.concatenate([y for _, y in dealt])
    stream = Stream(items, np.arange(0, len(items) + 1, K), wins)
    policy = named("ind", dim=D, max_budget=B, exploration=0.1, rate=5.0, radius=3.0)
    sets, inverse, out = [x for x, _ in dealt], np.eye(D) + 0.01, np.empty((K, D))

    def products() -> None:
        for x in sets:
            np.dot(x, inverse, out=out)

    times = alternate({"ours": lambda: live(policy, stream, payoffs), "BLAS": products}, 15, 4)
    what = f"a simulated round of Ind, k = {K}, d = {D}, b = {B}, against one X @ M^-1"
    taken = {name: time.per(ROUNDS) for name, time in times.items()}
    return [ratio(what, taken["ours"], taken["BLAS"], 5.0, "X @ M^-1")]
