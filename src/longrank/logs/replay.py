"""Replay: the mean reward of the decisions in which the log happened to play the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.logs.intervals import ratio_interval
from longrank.logs.value import Estimate, Settings, cautions, effective_size

Array = NDArray[np.float64]


def replay(name: str, rewards: Array, matches: Array, settings: Settings) -> Estimate:
    """Li, Chu, Langford, Wang (2011), with STOP as a part of the sequence.

    ``matches`` is the probability that the policy plays the whole sequence of the log, length
    included: 0 or 1 for a deterministic one. Keeping a match says nothing about its reward only
    where all sequences of the log were equally likely; whoever calls has checked that. (Counting
    a shared prefix as a match would keep early successes more often.)
    """
    estimator = "replay"
    kept = matches > 0.0
    if not kept.any():
        reason = f"none of the {len(rewards)} decisions played what this policy would play"
        return Estimate(name, estimator, refused=reason)
    weights = matches[kept, np.newaxis]
    terms = rewards[kept, np.newaxis] * weights
    value, low, high = ratio_interval(terms, weights, settings)
    effective = effective_size(matches)
    return Estimate(
        name,
        estimator,
        value,
        low,
        high,
        "bootstrap",
        int(kept.sum()),
        effective,
        notes=cautions(effective, "bootstrap"),
    )
