"""Decisions without an outcome: how many there are, and what that does to an estimate."""

from __future__ import annotations

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

    A logistic regression on the length, the propensity and the items of the sequence.
    """
    x = found.played - found.played.mean(axis=0)
    spread = x.std(axis=0)
    x = x[:, spread > 1e-9] / spread[spread > 1e-9]
    x = np.column_stack([x, np.ones(len(x))])
    own = logistic(x, found.observed, 1.0)
    return np.maximum(LOGISTIC.probability(x @ own), _RARELY)
