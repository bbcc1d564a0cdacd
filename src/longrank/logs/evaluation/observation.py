"""Decisions without an outcome: how many there are, and what that does to an estimate."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InvalidInput
from longrank.links import LOGISTIC
from longrank.logs.evaluation.evidence import Evidence
from longrank.logs.evaluation.outcome_model import logistic

Array = NDArray[np.float64]
TREATMENTS = ("refuse", "at random", "bounds")
TOLERATED = 0.01  # the share of decisions without an outcome up to which a plain estimate is given
_RARELY = 0.02  # the probability of an outcome that weights go down to
_USUAL = 0.9  # the share of outcomes to expect; counts as one decision
_FIRST = 20  # decisions before the first block that is fitted


def treatment(missing: str) -> str:
    """Return how decisions without an outcome are to be treated, as it was asked for."""
    found = missing.replace("-", " ")
    if found not in TREATMENTS:
        raise InvalidInput("missing", f"be one of {', '.join(TREATMENTS)}", repr(missing))
    return found


def too_many(missing: int, decisions: int) -> str:
    """Return why a plain estimate is refused for missing outcomes; empty if it is not."""
    share = missing / max(missing + decisions, 1)
    if share <= TOLERATED:
        return ""
    return (
        f"{missing} of {missing + decisions} decisions ({share:.1%}) have no outcome, more than "
        f"{TOLERATED:.0%}: choose missing 'at random' (--missing at-random) if what was played "
        "explains why (then the others are weighted), or 'bounds' (--missing bounds) for what is "
        "certain whatever the reason"
    )


def chances(found: Evidence) -> Array:
    """Return the probability that the outcome of each decision is known, given what was played.

    A logistic regression on the length, the propensity and the items of the sequence, fitted in
    time order to the decisions before its block: so no weight depends on whether its own outcome,
    or a later one, is known, and none changes while the log grows. The first decisions go by the
    share of outcomes so far, and it is 1 as long as none is missing.
    """
    n, known = len(found.observed), found.observed
    before, times = np.append(0.0, np.cumsum(known)[:-1]), np.arange(n)
    own = (before + _USUAL) / (times + 1.0)
    for begin, end in pairwise([*_begins(n), n]):
        fitted = _predicted(found.played[:begin], known[:begin], found.played[begin:end])
        own[begin:end] = (begin * fitted + _USUAL) / (begin + 1.0)
    return np.asarray(np.where(before == times, 1.0, np.maximum(own, _RARELY)))


def _begins(n: int) -> list[int]:
    """Return where blocks begin that are fitted to what was before: each a quarter of that."""
    begins, place = [], _FIRST
    while place < n:
        begins.append(place)
        place += place // 4
    return begins


def _predicted(before: Array, known: NDArray[np.bool_], played: Array) -> Array:
    middle, spread = before.mean(axis=0), before.std(axis=0)
    some = spread > 1e-9
    x, new = ((part - middle)[:, some] / spread[some] for part in (before, played))
    own = logistic(np.column_stack([x, np.ones(len(x))]), known, 1.0)
    return np.asarray(LOGISTIC.probability(np.column_stack([new, np.ones(len(new))]) @ own))
