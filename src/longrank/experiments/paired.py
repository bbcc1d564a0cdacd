"""Paired differences between policies on the same shuffles, with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt

import numpy as np

from longrank.arrays import Vector
from longrank.experiments.results import ResultRow
from longrank.experiments.scores import Score

LEVEL = 0.95
BySeed = Mapping[int, Vector]  # what each round of a shuffle adds to the NCR


@dataclass(frozen=True)
class Gap:
    """A mean over shuffles, with the half width of its 95% interval: infinite for one shuffle."""

    mean: float
    half: float
    shuffles: int

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return abs(self.mean) > self.half > 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval."""
        return self.mean - self.half, self.mean + self.half


def gains(score: Score) -> dict[int, Vector]:
    """Return what each round adds to the NCR, for each reported shuffle."""
    return {row["seed"]: _gains(row) for row in score.reported}


def _gains(row: ResultRow) -> Vector:
    curve, room = row["curve"], row["cr_max"] - row["cr_rand"]
    if curve is None or not room:
        return np.array([row["ncr"]])
    return (np.array(curve) - row["cr_rand"] / len(curve)) / room


def difference(by_seed: BySeed, other: BySeed | None = None) -> Gap | None:
    """Compare two policies (or one with 0) on the shuffles of both; None if there are none.

    The interval is Student's over the shuffles, or that of the rounds where it is wider: a few
    shuffles may agree by chance.

    >>> difference({0: np.array([0.5]), 1: np.array([0.75])}, {0: np.zeros(1), 1: np.zeros(1)}).mean
    0.625
    """
    apart = [
        x if other is None else _minus(x, other[seed])
        for seed, x in by_seed.items()
        if other is None or seed in other
    ]
    values = [float(each.sum()) for each in apart]
    if not values or not all(map(isfinite, values)):
        return None
    count, mean = len(values), float(np.mean(values))
    if count == 1:
        return Gap(mean, inf, 1)
    from scipy.special import ndtri, stdtrit

    upper = (1.0 + LEVEL) / 2.0
    between = float(stdtrit(count - 1, upper)) * float(np.std(values, ddof=1)) / sqrt(count)
    within = float(ndtri(upper)) * sqrt(sum(len(x) * float(np.var(x)) for x in apart)) / count
    return Gap(mean, max(between, within), count)


@dataclass(frozen=True)
class Standing:
    """A policy over the cases in which all were run: its mean NCR, and in how many it is best."""

    policy: str
    mean: float
    first: int
    by_seed: BySeed


@dataclass(frozen=True)
class Standings:
    """All policies over the same cases (scenario and budget), the best first."""

    policies: tuple[Standing, ...]
    cases: int


def standings(scores: Sequence[Score]) -> Standings:
    """Order policies by their mean NCR over the cases in which all have one.

    In a case every policy counts on the same shuffles. Of those that are equal at two decimals,
    each is best.
    """
    policies = list(dict.fromkeys(score.key.policy for score in scores))
    cases: dict[tuple[str, int], dict[str, dict[int, Vector]]] = {}
    for score in scores:
        case = cases.setdefault((score.key.scenario, score.key.budget), {})
        case[score.key.policy] = gains(score)
    complete = [case for case in cases.values() if len(case) == len(policies)]
    shared = [set(by) for case in complete for by in case.values()]
    seeds = set.intersection(*shared) if shared else set()
    usable = [case for case in complete if all(isfinite(_mean(by)) for by in case.values())]
    if not usable or not seeds:
        return Standings((), 0)
    tops = [max(round(_mean(by), 2) for by in case.values()) for case in usable]
    ranked = []
    for policy in policies:
        by_seed = {s: _average([case[policy][s] for case in usable]) for s in sorted(seeds)}
        first = sum(
            round(_mean(case[policy]), 2) >= top for case, top in zip(usable, tops, strict=True)
        )
        ranked.append(Standing(policy, _mean(by_seed), first, by_seed))
    return Standings(tuple(sorted(ranked, key=lambda standing: -standing.mean)), len(usable))


def _average(several: Sequence[Vector]) -> Vector:
    """Average rounds over cases, or else their sums."""
    if len({len(case) for case in several}) > 1:
        several = [case.sum(keepdims=True) for case in several]
    return np.asarray(np.mean(several, axis=0))


def _minus(first: Vector, second: Vector) -> Vector:
    """Subtract round by round, or else the sums."""
    if len(first) != len(second):
        first, second = first.sum(keepdims=True), second.sum(keepdims=True)
    return np.asarray(first - second)


def _mean(values: BySeed) -> float:
    return float(np.mean([each.sum() for each in values.values()]))
