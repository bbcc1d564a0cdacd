"""Timing, what a benchmark reports, and plain numpy versions to compare with."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from longrank import Outcome, Payoffs, Policy, unit_rows
from longrank.arrays import Flags, Matrix, Order, Vector
from longrank.jobs import one_thread
from longrank.links import LOGISTIC

Play = Callable[[], object]
_PAUSE = 0.2  # seconds


@dataclass(frozen=True)
class Times:
    """Seconds of one call, measured in several blocks."""

    blocks: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.blocks)

    @property
    def minimum(self) -> float:
        return min(self.blocks)

    def per(self, calls: int) -> Times:
        """Seconds of one of the ``calls`` things that a call did."""
        return Times(tuple(block / calls for block in self.blocks))

    def __str__(self) -> str:
        return f"{shown(self.median)} (min {shown(self.minimum)})"


def shown(seconds: float) -> str:
    """Format a time with a unit that fits."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def alternate(
    plays: Mapping[str, Play], blocks: int, calls: int = 1, *, threads: bool = False
) -> dict[str, Times]:
    """Time every play in turn, block after block, so that noise affects all of them alike.

    Each is called once before, untimed. By default time is processor time, summed over our
    threads, and BLAS has one thread. With ``threads`` it is wall-clock time and all cores may be
    used, after a pause in which the threads of BLAS stop spinning.
    """
    taken: dict[str, list[float]] = {name: [] for name in plays}
    now = time.perf_counter if threads else time.process_time
    with contextlib.nullcontext() if threads else one_thread("measuring"):
        for play in plays.values():
            play()
        for _ in range(blocks):
            for name, play in plays.items():
                time.sleep(_PAUSE if threads else 0.0)
                start = now()
                for _ in range(calls):
                    play()
                taken[name].append((now() - start) / calls)
    return {name: Times(tuple(blocks)) for name, blocks in taken.items()}


@dataclass(frozen=True)
class Measure:
    """One figure and its aim, an upper limit; None where the figure is only reported."""

    what: str
    value: float
    aim: float | None
    raw: str
    unit: str = "x"

    @property
    def met(self) -> bool:
        return self.aim is None or self.value <= self.aim


def ratio(
    what: str,
    ours: Times,
    other: Times,
    aim: float | None,
    name: str = "reference",
    remark: str = "",
) -> Measure:
    """Our time over another, by the medians; the ratio of the minima is reported beside it."""
    raw = f"longrank {ours}, {name} {other}; of the minima {ours.minimum / other.minimum:.3g}"
    return Measure(what, ours.median / other.median, aim, raw + (remark and f"; {remark}"))


def sigmoid(scores: Vector) -> Vector:
    """The logistic curve."""
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


class NumpyInd:
    """Algorithm 1 in numpy."""

    def __init__(
        self, dim: int, budget: int, alpha: float = 0.1, rate: float = 5.0, radius: float = 3.0
    ) -> None:
        self.budget, self.alpha, self.rate, self.radius = budget, alpha, rate, radius
        self.weights = np.zeros(dim)
        self.inverse = np.eye(dim) / budget

    def rank(self, items: Matrix, payoffs: Payoffs) -> Order:
        widths = np.sqrt(self.alpha * ((items @ self.inverse) * items).sum(axis=1))
        scores = items @ self.weights + widths
        order = np.argsort(-scores, kind="stable")[: self.budget]
        p = sigmoid(scores[order])
        survival = np.concatenate([[1.0], np.cumprod(1.0 - p)])
        gained = np.concatenate([[0.0], np.cumsum(survival[:-1] * p * payoffs.rewards[: len(p)])])
        values = gained + survival * payoffs.losses[: len(p) + 1]
        return order[: len(p) - int(np.argmax(values[::-1]))]

    def learn(self, rows: Matrix, succeeded: bool) -> None:
        for i, x in enumerate(rows):
            s = 1.0 if succeeded and i == len(rows) - 1 else -1.0
            direction = self.inverse @ x
            square, mean = x @ direction, x @ self.weights
            if abs(mean) > self.radius:
                edge = np.copysign(self.radius, mean)
                self.weights -= (mean - edge) / square * direction
                mean = edge
            self.inverse -= np.outer(direction, direction) / (1.0 + square)
            self.weights += self.rate * s / (1.0 + np.exp(s * mean)) / (1.0 + square) * direction


K, D, B, ROUNDS = 100, 10, 10, 200

RoundPlay = Callable[[Matrix, Flags], None]


def rounds(dim: int = D, items: int = K, count: int = ROUNDS) -> list[tuple[Matrix, Flags]]:
    """Matrices of items on the unit sphere, and which of them succeed."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=dim)
    dealt = [unit_rows(rng.normal(size=(items, dim))) for _ in range(count)]
    return [(x, rng.random(items) < LOGISTIC.probability(2.0 * x @ truth)) for x in dealt]


def playing(policy: Policy, payoffs: Payoffs) -> RoundPlay:
    """One round of a policy."""

    def play(items: Matrix, wins: Flags) -> None:
        ranking = policy.rank(items, payoffs)
        policy.learn(ranking, Outcome(*_outcome(wins[ranking.order])))

    return play


def playing_numpy(plain: NumpyInd, payoffs: Payoffs) -> RoundPlay:
    """One round of the numpy version."""

    def play(items: Matrix, wins: Flags) -> None:
        order = plain.rank(items, payoffs)
        tried, succeeded = _outcome(wins[order])
        plain.learn(items[order[:tried]], succeeded)

    return play


def _outcome(wins: Flags) -> tuple[int, bool]:
    """How many items are tried until one succeeds, and whether one does."""
    hits = np.flatnonzero(wins)
    return (int(hits[0]) + 1, True) if hits.size else (len(wins), False)


def through(play: RoundPlay, dealt: list[tuple[Matrix, Flags]]) -> Callable[[], None]:
    """Play all rounds in one call."""

    def play_all() -> None:
        for items, wins in dealt:
            play(items, wins)

    return play_all
