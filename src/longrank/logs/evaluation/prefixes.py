"""What the prefixes of a logged sequence tell of a policy, also of one that stops earlier.

A sequence that goes on longer shows what stopping earlier would have earned. So a policy's stop
needs no support: what counts is how likely the log's prefix was, not whether the log stopped there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.logs.decision import Decision
from longrank.logs.evaluation.target import Target, last_step
from longrank.payoffs import Payoffs

Array = NDArray[np.float64]
_CERTAIN = 1.0 - 1e-9


class Known(NamedTuple):
    """What a decision tells of a policy.

    ``masses[j]`` is how much of the policy the first j + 1 actions of the log stand for: its mean
    over a log is 1 for every j if the log supports the policy, and less by what it could not have
    done. ``earned`` is what that much of the policy earned, up to the outcome: its mean is what the
    policy earns. Neither is ever divided by the probability that the log stops. ``lost`` is the
    probability that the policy does, before the outcome, what the log could not have done.
    """

    masses: Array
    earned: float
    lost: float


def known(decision: Decision, target: Target, payoffs: Payoffs) -> Known | None:
    """Return what a decision tells of a policy; None if the log has no propensity.

    Where only the propensity of the whole sequence is known, only the whole sequence tells.
    """
    if decision.propensity is None:
        return None
    count, last = len(decision.order), last_step(decision)
    reward = np.nan if decision.outcome is None else decision.reward_under(payoffs)
    if decision.prefix is None:
        weight = float(target.reached[-1]) / decision.propensity
        lost = 1.0 - float(target.reached[-1]) if decision.propensity >= _CERTAIN else 0.0
        return Known(np.full(count + 1, weight), weight * reward, lost)
    weights = target.reached[:-1] / np.append(1.0, decision.prefix)
    stopping = weights * target.choices[: count + 1, -1]
    masses = np.cumsum(stopping)
    masses[:-1] += weights[1:]
    ours = np.concatenate([[1.0], decision.prefix, [decision.propensity]])
    alone = ours[1:] >= ours[:-1] * _CERTAIN  # the log had no alternative here
    alone[last + 1 :] = False
    going = target.reached[:-1] * (1.0 - target.choices[: count + 1, -1])
    going[:-1] -= target.reached[1:-1]  # with an item other than the log's
    lost = max(float(going[alone].sum()), 0.0)
    if decision.outcome is None:
        return Known(masses, np.nan, lost)
    spent = np.append(0.0, np.cumsum(decision.paid(payoffs)))
    ends = payoffs.losses[: last + 1] - spent[: last + 1]
    earned = float(stopping[: last + 1] @ ends)
    if last < count:  # a success, or an early stop, at an item that the policy may have played
        earned += float(weights[last + 1]) * reward
    return Known(masses, earned, lost)


def earnable(decision: Decision, payoffs: Payoffs) -> tuple[float, float]:
    """Return the least and the most that a decision can earn, by its payoffs."""
    tries, size = decision.tries, decision.size
    rewards, losses = payoffs.rewards[:tries], payoffs.losses[: tries + 1]
    least, most = float(losses.min()), float(losses.max())
    if not tries:
        return least, most
    if not payoffs.has_prices or not size:
        return min(least, float(rewards.min())), max(most, float(rewards.max()))
    costs, gains, _, _, _ = payoffs.prices(size)
    spent = float(np.sort(costs)[::-1][:tries].sum())
    worst = float(rewards.min() + gains.min())
    best = float(rewards.max() + (gains - costs).max())
    return min(least, worst) - spent, max(most, best)
