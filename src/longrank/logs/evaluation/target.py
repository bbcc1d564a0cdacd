"""The target: what the policy to evaluate would do in place of the log's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longrank.logs.decision import Decision
from longrank.policies import Policy, Randomised
from longrank.policies.randomised import certain_choices, prefix_propensities

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Target:
    """What a policy would do along the sequence of the log.

    ``choices[i]`` are its probabilities of the next action after the first i items of the log,
    STOP last; ``reached[i]`` is the probability that its first i actions are those of the log;
    ``sequence`` is what it plays, if that is certain; ``reach`` is its maximum number of attempts.
    """

    choices: Array
    reached: Array
    sequence: NDArray[np.int64] | None
    reach: int


def aim(policy: Policy, decision: Decision) -> Target:
    """Ask a policy what it would do in place of a decision of the log."""
    items, payoffs, given = decision.offer(policy)
    played, reach = None, decision.tries
    if isinstance(policy, Randomised):
        choices = policy.choices(items, payoffs, decision.order, decision.budget, **given)
    else:
        played = policy.rank(items, payoffs, decision.budget, **given).order
        choices, reach = certain_choices(played, len(items), decision.order), len(played)
    reached = np.ones(len(decision.order) + 2)
    reached[1:] = prefix_propensities(choices, decision.order)
    return Target(choices, reached, played, reach)


def last_step(decision: Decision) -> int:
    """Return the index of the action that led to the outcome.

    That is the item that succeeded; STOP after the last one; or, after an early stop, the item
    that would have come next: it was committed to, but not tried. Without an outcome it is STOP.
    """
    if decision.outcome is None:
        return len(decision.order)
    return decision.outcome.tried - decision.outcome.succeeded


def early_stops(target: Target, decision: Decision) -> float:
    """Return the probability that the policy chooses to stop inside the sequence of the log."""
    until = min(last_step(decision) + 1, decision.tries)
    return float(target.reached[:-1][:until] @ target.choices[:until, -1])
