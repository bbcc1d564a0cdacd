"""Differences between policies on the same shuffles, and how sure they are."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt

from longrank.experiments.scores import Score

LEVEL = 0.95
BySeed = Mapping[int, float]  # a value of each shuffle


@dataclass(frozen=True)
class Difference:
    """A mean over shuffles, with the half width of Student's 95% interval: infinite for one."""

    mean: float
    half: float
    shuffles: int

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0; few shuffles that happen to agree prove nothing."""
        return abs(self.mean) > self.half > 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval."""
        return self.mean - self.half, self.mean + self.half


def ncr_of(score: Score) -> dict[int, float]:
    """Return the NCR of each reported shuffle."""
    return {row["seed"]: row["ncr"] for row in score.reported}


def difference(one: BySeed, other: BySeed | None = None) -> Difference | None:
    """Compare two policies (or one with 0) on the shuffles of both; None if there are none.

    >>> difference({0: 0.5, 1: 0.7}, {0: 0.4, 1: 0.4}).mean
    0.2
    """
    values = [x - (other[s] if other else 0.0) for s, x in one.items() if not other or s in other]
    if not values or not all(map(isfinite, values)):
        return None
    count, mean = len(values), round(statistics.fmean(values), 12)
    if count == 1:
        return Difference(mean, inf, 1)
    from scipy.special import stdtrit

    quantile = float(stdtrit(count - 1, (1.0 + LEVEL) / 2.0))
    return Difference(mean, quantile * statistics.stdev(values) / sqrt(count), count)


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
    cases: dict[tuple[str, int], dict[str, dict[int, float]]] = {}
    for score in scores:
        case = cases.setdefault((score.key.scenario, score.key.budget), {})
        case[score.key.policy] = ncr_of(score)
    complete = [case for case in cases.values() if len(case) == len(policies)]
    shared = [set.intersection(*(set(one) for one in case.values())) for case in complete]
    seeds = set.intersection(*shared) if shared else set()
    usable = [
        {policy: {s: values[s] for s in sorted(seeds)} for policy, values in case.items()}
        for case in complete
        if seeds and all(isfinite(x) for values in case.values() for x in values.values())
    ]
    if not usable:
        return Standings((), 0)
    found = []
    tops = [max(round(_mean(values), 2) for values in case.values()) for case in usable]
    for policy in policies:
        by_seed = {s: statistics.fmean(case[policy][s] for case in usable) for s in sorted(seeds)}
        first = sum(
            round(_mean(case[policy]), 2) >= top for case, top in zip(usable, tops, strict=True)
        )
        found.append(Standing(policy, _mean(by_seed), first, by_seed))
    return Standings(tuple(sorted(found, key=lambda one: -one.mean)), len(usable))


def _mean(values: BySeed) -> float:
    return statistics.fmean(values.values())
