"""Cascade doubly robust: a model says what to expect, the log corrects it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.logs.intervals import bernstein, normal, ratio
from longrank.logs.value import Estimate, Settings, cautions, effective_size

Array = NDArray[np.float64]


def doubly_robust(
    name: str,
    starts: Array,
    deltas: Array,
    weights: Array,
    last: NDArray[np.int64],
    expected: Array,
    settings: Settings,
) -> Estimate:
    """mean of V + sum_j w_j delta_j (Kiyohara et al. 2022, with STOP as an action).

    Unbiased where the log supports the policy, whatever the model; the better the model, the less
    variance. ``expected`` has what the model expects of the second and the fourth power of the
    sum, shape (n, 2).
    """
    corrections = (weights * deltas).sum(axis=1)
    terms = starts + corrections
    if settings.interval == "bernstein":
        low, high = bernstein(terms, float(terms.max() - terms.min()), settings)
        method = settings.interval
    else:
        spread = variance(terms, corrections, expected)
        low, high = normal(float(terms.mean()), spread, settings)
        method = "normal"
    effective = effective_of(weights, last)
    return Estimate(
        name,
        "doubly robust",
        float(terms.mean()),
        low,
        high,
        method,
        len(terms),
        effective,
        notes=cautions(effective, method),
    )


def variance(terms: Array, corrections: Array, expected: Array) -> float:
    """The variance of the mean of terms, for which the log alone is a poor witness.

    Much of it comes from long runs of failures with a large weight, which are so rare that many
    logs hold none: those would seem better and surer than they are. The model knows how likely
    they were in what was played. So the mean square of the corrections is drawn from the one seen
    towards the one expected, as far as their difference may be chance (James, Stein 1961, the
    positive part): a model that is wrong is believed the less, the more the log says so.
    """
    squares, fourths = expected.T
    gap = float((corrections**2).mean() - squares.mean())
    chance = float((fourths - squares**2).mean()) / len(terms)
    believed = max(0.0, 1.0 - chance / gap**2) if gap else 0.0
    return max(float(terms.var()) - (1.0 - believed) * gap, 0.0) / len(terms)


def doubly_robust_normalised(
    name: str,
    starts: Array,
    deltas: Array,
    weights: Array,
    last: NDArray[np.int64],
    expected: Array,
    settings: Settings,
) -> Estimate:
    """The same with weights divided by their mean at each position."""
    corrections = weights * deltas
    value, influence = ratio(starts, corrections, weights)
    spread = variance(influence, corrections.sum(axis=1), expected)
    low, high = normal(value, spread, settings)
    effective = effective_of(weights, last)
    return Estimate(
        name,
        "doubly robust, self-normalised",
        value,
        low,
        high,
        "normal",
        len(starts),
        effective,
        notes=cautions(effective, "normal"),
    )


def effective_of(weights: Array, last: NDArray[np.int64]) -> float:
    """The effective number of decisions by the weights at their ends."""
    return effective_size(weights[np.arange(len(weights)), last])
