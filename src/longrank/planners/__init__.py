"""Planners: turn probabilities, and what everything costs and is worth, into a sequence.

Without prices the order is by the scores, and that is the features' own affair (``greedy``). With
a cost and a value for each candidate it is a planner's: :func:`plan_independent` where the
chances of a candidate do not depend on those above it, :func:`plan_rolling` where they do, and
:func:`best_dependent` where they do and the set is small enough to search it. Of very many
candidates :func:`find_contenders` finds the few that a plan can contain.
"""

from longrank.planners.contenders import find_contenders
from longrank.planners.exact import best_dependent
from longrank.planners.independent import plan_independent, plan_scores
from longrank.planners.rolling import plan_rolling

__all__ = [
    "best_dependent",
    "find_contenders",
    "plan_independent",
    "plan_rolling",
    "plan_scores",
]
