"""Cascade importance sampling: every reward is weighted by how likely its prefix was."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.logs.intervals import mean_interval, ratio_interval
from longrank.logs.value import Estimate, Settings, cautions, effective_size

Array = NDArray[np.float64]


def no_support(weights: Array, last: NDArray[np.int64], unsupported: Array) -> str:
    """Why the log cannot tell what the policy would earn; empty where it can.

    Weights that are supported have mean 1 after every number of actions.
    """
    if unsupported.max() > 1e-9:
        share = unsupported.mean()
        return (
            f"the log has no support: in {int((unsupported > 1e-9).sum())} of {len(weights)} "
            f"decisions it was certain to do something that this policy does otherwise "
            f"({share:.1%} of its choices); a deterministic log gives bounds only"
        )
    final = weights[np.arange(len(weights)), last]
    mean = float(final.mean())
    if mean == 0.0:
        return f"none of the {len(weights)} decisions began as this policy would"
    error = float(final.std(ddof=1)) / np.sqrt(len(final)) if len(final) > 1 else np.inf
    if mean < 0.8 and mean + 6.0 * error < 1.0:
        return (
            f"the log has no support: the weights average {mean:.3f} in place of 1, so about "
            f"{1.0 - mean:.0%} of what this policy plays was never to be seen in the log"
        )
    return ""


def importance(
    name: str, rewards: Array, weights: Array, last: NDArray[np.int64], settings: Settings
) -> Estimate:
    """mean of w_T r, with w_T the weight of the actions up to the one that led to the outcome.

    Unbiased where the log supports the policy and its propensities are right. For sequences of
    fixed length it is the reward interaction IPS of McInerney et al. (2020).
    """
    final = weights[np.arange(len(rewards)), last]
    terms = final * rewards
    low, high, method = mean_interval(terms, _span(rewards, final), settings)
    effective = effective_size(final)
    notes = cautions(effective, method)
    if abs(final.mean() - 1.0) > 0.1:
        off = f"the weights average {final.mean():.2f} in place of 1, and so the value is off"
        notes += (f"{off}: the self-normalised form corrects for that",)
    return Estimate(
        name,
        "importance sampling",
        float(terms.mean()),
        low,
        high,
        method,
        len(rewards),
        effective,
        notes=notes,
    )


def self_normalised(
    name: str, rewards: Array, weights: Array, last: NDArray[np.int64], settings: Settings
) -> Estimate:
    """The same with weights divided by their mean at each position: some bias, less variance."""
    rows = np.arange(len(rewards))
    terms = np.zeros(weights.shape)
    terms[rows, last] = weights[rows, last] * rewards
    value, low, high = ratio_interval(terms, weights, settings)
    effective = effective_size(weights[rows, last])
    return Estimate(
        name,
        "importance sampling, self-normalised",
        value,
        low,
        high,
        "bootstrap",
        len(rewards),
        effective,
        notes=cautions(effective, "bootstrap"),
    )


def _span(rewards: Array, final: Array) -> float:
    """The range of w r, taken from what was seen."""
    return float(final.max() * (max(rewards.max(), 0.0) - min(rewards.min(), 0.0)))
