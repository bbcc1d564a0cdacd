"""An estimate of what a policy is worth, and how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FEW = 100  # effective decisions, below which a bootstrap tends to be too narrow


@dataclass(frozen=True)
class Estimate:
    """What a policy would earn per decision, by one estimator; or why that cannot be said.

    Attributes
    ----------
    policy, estimator
        Of whom, and how.
    value
        The estimate; NaN where it was refused, or where there are only bounds.
    low, high
        The confidence interval; for bounds what is certain about the decisions of the log.
    confidence
        Of the interval, where it is one.
    method
        How the interval was made: bootstrap, bernstein or bounds.
    rounds
        The decisions that it rests on.
    effective
        The effective number of decisions, (sum w)^2 / sum w^2.
    exact
        The share of decisions whose reward is known for certain (bounds only).
    refused
        Why there is no estimate; empty where there is one.
    notes
        What to know before trusting it.
    """

    policy: str
    estimator: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    method: str = ""
    rounds: int = 0
    effective: float = math.nan
    exact: float = math.nan
    refused: str = ""
    notes: tuple[str, ...] = ()
    confidence: float = math.nan

    def __str__(self) -> str:
        if self.refused:
            return f"{self.policy}, {self.estimator}: refused, {self.refused}"
        value = "" if math.isnan(self.value) else f"{self.value:.4f} "
        return f"{self.policy}, {self.estimator}: {value}[{self.low:.4f}, {self.high:.4f}]"


@dataclass(frozen=True)
class Settings:
    """How intervals are made."""

    confidence: float = 0.95
    interval: str = "bootstrap"  # or "bernstein", where it applies
    resamples: int = 1000
    seed: int = 0


def cautions(effective: float, method: str) -> tuple[str, ...]:
    """What to know before trusting an interval that rests on so many effective decisions."""
    notes = []
    if effective < FEW:
        notes.append(f"only {effective:.1f} effective decisions: the interval may be too narrow")
    if method == "bernstein":
        notes.append("the interval takes the range that was seen for the whole range")
    return tuple(notes)


def effective_size(weights: Array) -> float:
    """(sum w)^2 / sum w^2: how many decisions of equal weight would be as good."""
    square = float((weights**2).sum())
    return float(weights.sum()) ** 2 / square if square > 0.0 else 0.0
