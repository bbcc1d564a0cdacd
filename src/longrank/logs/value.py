"""An estimate of what a policy is worth, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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


def bootstrap(
    columns: Array, statistic: Callable[[Array], Array], settings: Settings
) -> tuple[float, float]:
    """The percentile bootstrap over decisions.

    ``columns`` has one row per decision, shape (n, m); ``statistic`` turns means of resampled
    rows, shape (resamples, m), into as many values.
    """
    n = len(columns)
    rng = np.random.default_rng(settings.seed)
    means = np.empty((settings.resamples, columns.shape[1]))
    for b in range(settings.resamples):
        counts = np.bincount(rng.integers(n, size=n), minlength=n)
        means[b] = counts @ columns / n
    tail = (1.0 - settings.confidence) / 2.0
    low, high = np.quantile(statistic(means), [tail, 1.0 - tail])
    return float(low), float(high)


def bernstein(values: Array, span: float, settings: Settings) -> tuple[float, float]:
    """The empirical Bernstein interval (Maurer, Pontil 2009) of a mean; holds for every n.

    ``span`` is the length of an interval that holds every value.
    """
    n = len(values)
    if n < 2:
        return -math.inf, math.inf
    log = math.log(4.0 / (1.0 - settings.confidence))  # half of the risk for each side
    spread = math.sqrt(2.0 * float(values.var(ddof=1)) * log / n)
    reach = spread + 7.0 * span * log / (3.0 * (n - 1))
    mean = float(values.mean())
    return mean - reach, mean + reach


def mean_interval(values: Array, span: float, settings: Settings) -> tuple[float, float, str]:
    """The interval of a mean, as the settings want it; and what was done."""
    if settings.interval == "bernstein":
        return (*bernstein(values, span, settings), "bernstein")
    return (*bootstrap(values[:, np.newaxis], lambda m: m[:, 0], settings), "bootstrap")


def effective_size(weights: Array) -> float:
    """(sum w)^2 / sum w^2: how many decisions of equal weight would be as good."""
    square = float((weights**2).sum())
    return float(weights.sum()) ** 2 / square if square > 0.0 else 0.0
