"""Plans for candidates whose chances do not depend on those above them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.features import Features
from longrank.features.base import Greedy, Prepared
from longrank.payoffs import Payoffs

Vector = NDArray[np.float64]
Planned = tuple[Greedy, float]  # order, rows, means and scores along it; what it may miss


def plan_scores(
    scores: Vector, link: int, payoffs: Payoffs, count: int
) -> tuple[NDArray[np.int64], float]:
    """Plan a round by the scores of its candidates: ``count`` of them, the plan first.

    Also returns a bound on what the plan misses of the optimum.
    """
    chances = kernels.probabilities(link, scores)
    order, _, _, bound = kernels.plan(chances, *payoffs.prices(len(scores)), count)
    return order, float(bound)


def plan_independent(
    features: Features, prepared: Prepared, belief: Any, payoffs: Payoffs, count: int
) -> Planned:
    """Plan by the belief: index and dynamic programme, exact where ``docs/planning.md`` says."""
    rows = features.rows(prepared)
    means, scores = belief.hope(rows)
    order, bound = plan_scores(scores, belief.link, payoffs, count)
    dense = np.empty((len(order), 0)) if features.sparse else rows[order]
    return (order, dense, means[order], scores[order]), bound
