"""1. A round: rank and learn through the public interface, every check on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from longrank import Outcome, Payoffs, Policy, named, unit_rows
from longrank.experiments.bench.measure import Row, alternate, ratio
from longrank.experiments.bench.plain import NumpyInd, Vector

K, D, B, ROUNDS = 100, 10, 10, 200

Items = Vector
Wins = np.typing.NDArray[np.bool_]
Play = Callable[[Items, Wins], None]


def rounds(dim: int = D, items: int = K, count: int = ROUNDS) -> list[tuple[Items, Wins]]:
    """Items on the unit sphere, and which of them succeed."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=dim)
    dealt = [unit_rows(rng.normal(size=(items, dim))) for _ in range(count)]
    return [(x, rng.random(items) < 1.0 / (1.0 + np.exp(-2.0 * x @ truth))) for x in dealt]


def playing(policy: Policy, payoffs: Payoffs) -> Play:
    """One round of a policy."""

    def play(items: Items, wins: Wins) -> None:
        ranking = policy.rank(items, payoffs)
        hits = np.flatnonzero(wins[ranking.order])
        tried = int(hits[0]) + 1 if hits.size else len(ranking)
        policy.learn(ranking, Outcome(tried, bool(hits.size)))

    return play


def playing_numpy(plain: NumpyInd, payoffs: Payoffs) -> Play:
    """The same without a library."""

    def play(items: Items, wins: Wins) -> None:
        order = plain.rank(items, payoffs)
        hits = np.flatnonzero(wins[order])
        tried = int(hits[0]) + 1 if hits.size else len(order)
        plain.learn(items[order[:tried]], bool(hits.size))

    return play


def through(play: Play, dealt: list[tuple[Items, Wins]]) -> Callable[[], None]:
    def all_of_them() -> None:
        for items, wins in dealt:
            play(items, wins)

    return all_of_them


def figures() -> list[Row]:
    dealt, payoffs = rounds(), Payoffs.exponential(B)
    ours = named("ind", dim=D, max_budget=B, exploration=0.1, rate=5.0, radius=3.0)
    times = alternate(
        {
            "longrank": through(playing(ours, payoffs), dealt),
            "numpy": through(playing_numpy(NumpyInd(D, B), payoffs), dealt),
        },
        blocks=15,
    )
    taken = {name: time.per(ROUNDS) for name, time in times.items()}
    what = f"a round of Ind, k = {K}, d = {D}, b = {B}, against Ind in numpy"
    return [ratio(what, taken["longrank"], taken["numpy"], None, "numpy")]
