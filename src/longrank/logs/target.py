"""A decision of the log as another policy would have taken it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longrank.logs.decision import Decision
from longrank.policies import Policy, Randomised
from longrank.policies.randomised import certain_choices, prefix_propensities

Array = NDArray[np.float64]
_CERTAIN = 1.0 - 1e-9


@dataclass(frozen=True)
class Target:
    """What the policy would do along the sequence of the log.

    ``choices[i]`` are its probabilities of the next action after the first i items of the log,
    STOP last; ``reached[i]`` is the probability of its first i actions being those of the log;
    ``sequence`` is what it plays if that is certain; ``reach`` is the most tries it could make.
    """

    choices: Array
    reached: Array
    sequence: NDArray[np.int64] | None
    reach: int


def target(policy: Policy, decision: Decision) -> Target:
    """Ask the policy, which must not learn meanwhile."""
    items, payoffs = decision.items, decision.payoffs
    assert items is not None
    assert payoffs is not None
    played, reach = None, decision.tries
    if isinstance(policy, Randomised):
        choices = policy.choices(items, payoffs, decision.order, decision.budget)
    else:
        played = policy.rank(items, payoffs, decision.budget).order
        choices, reach = certain_choices(played, len(items), decision.order), len(played)
    reached = np.ones(len(decision.order) + 2)
    reached[1:] = prefix_propensities(choices, decision.order)
    return Target(choices, reached, played, reach)


def last_step(decision: Decision) -> int:
    """The index of the action whose consequence was the outcome.

    The item that succeeded; STOP after the last one; or, where somebody stopped early, the item
    that would have come next: it was committed to, but not tried.
    """
    return decision.outcome.tried - decision.outcome.succeeded


def early_stops(target: Target, decision: Decision) -> float:
    """The probability that the policy stops inside the sequence of the log by its own choice."""
    until = min(last_step(decision) + 1, decision.tries)
    return float(target.reached[:-1][:until] @ target.choices[:until, -1])


@dataclass(frozen=True)
class Weights:
    """w_j = P(first j actions, policy) / P(first j actions, log), for every action of the log.

    ``unsupported`` is the probability that the policy does, along the way, what the log could
    not have done.
    """

    steps: Array
    unsupported: float


def weights(target: Target, decision: Decision) -> Weights | None:
    """None where the log does not say how likely it was."""
    propensity = decision.propensity
    if propensity is None:
        return None
    theirs = target.reached
    if decision.prefix is None:  # only that of the whole sequence is known
        lost = 1.0 - float(theirs[-1]) if propensity >= _CERTAIN else 0.0
        return Weights(np.full(len(theirs) - 1, theirs[-1] / propensity), lost)
    ours = np.ones(len(theirs))
    ours[1:-1], ours[-1] = decision.prefix, propensity
    alone = ours[1:] >= ours[:-1] * _CERTAIN  # the log had no other choice here
    alone[last_step(decision) + 1 :] = False
    lost = float((theirs[:-1] - theirs[1:])[alone].sum())
    return Weights(theirs[1:] / ours[1:], max(lost, 0.0))
