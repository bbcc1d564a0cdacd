"""Plans for candidates whose chances depend on those above them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from longrank.features import Features
from longrank.features.base import Greedy, Prepared
from longrank.learners import Learner
from longrank.payoffs import Payoffs
from longrank.planners.independent import plan_scores


def plan_rolling(
    features: Features,
    prepared: Prepared,
    belief: Any,
    payoffs: Payoffs,
    count: int,
    foresight: int = 0,
    learner: Learner | None = None,
) -> Greedy:
    """Plan as if chances stayed as they are, keep the first try, and plan the rest anew.

    Each position is planned with what is then known: how the remaining candidates look below
    those above, and up to ``foresight`` failures what ``learner`` would believe after them.
    """
    order: list[int] = []
    means, scores = np.empty(count), np.empty(count)
    rows = features.next_rows(prepared, order)
    for position in range(count):
        if position and not features.independent:
            rows = features.next_rows(prepared, order)
        if 0 < position <= foresight and learner is not None:
            if position == 1:
                learner = copy.deepcopy(learner)
            learner.observe(features.along(prepared, np.array(order[-1:])), False)
            belief = learner.belief(belief.bonus)
        mean_of, score_of = belief.hope(rows)
        free = np.delete(np.arange(len(prepared)), order)
        rest = payoffs.after(position, free)
        item = int(free[plan_scores(score_of[free], belief.link, rest, count - position)[0][0]])
        means[position], scores[position] = mean_of[item], score_of[item]
        order.append(item)
    chosen = np.array(order, np.int64)
    dense = np.empty((count, 0)) if features.sparse else features.along(prepared, chosen)
    return chosen, dense, means, scores
