"""Replay: the mean reward of the decisions in which the log happened to play the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.logs.value import Estimate, Settings, bootstrap, effective_size

Array = NDArray[np.float64]


def replay(
    name: str, rewards: Array, matches: Array, propensities: Array, settings: Settings
) -> Estimate:
    """Li, Chu, Langford, Wang (2011), with STOP as a part of the sequence.

    ``matches`` is the probability that the policy plays the whole sequence of the log, length
    included: 0 or 1 for a deterministic one. Keeping a match says nothing about its reward only
    where all sequences of the log were equally likely, so that a log with other chances is
    refused. (Counting a shared prefix as a match would keep early successes more often.)
    """
    estimator = "replay"
    if propensities.min() >= 1.0 - 1e-9:
        reason = "every propensity is 1: a deterministic log shows only what it played"
        return Estimate(name, estimator, refused=reason)
    if propensities.max() > propensities.min() * (1.0 + 1e-9):
        reason = (
            "the log's sequences were not equally likely "
            f"(propensities from {propensities.min():.3g} to {propensities.max():.3g}): "
            "use importance sampling, which corrects for that"
        )
        return Estimate(name, estimator, refused=reason)
    kept = matches > 0.0
    if not kept.any():
        reason = f"none of the {len(rewards)} decisions played what this policy would play"
        return Estimate(name, estimator, refused=reason)
    value = float(rewards @ matches / matches.sum())
    columns = np.column_stack([rewards * matches, matches])[kept]
    low, high = bootstrap(columns, lambda means: means[:, 0] / means[:, 1], settings)
    effective = effective_size(matches)
    notes = ("few decisions match",) if effective < 30 else ()
    return Estimate(
        name,
        estimator,
        value,
        low,
        high,
        "bootstrap",
        int(kept.sum()),
        effective,
        notes=notes,
    )
