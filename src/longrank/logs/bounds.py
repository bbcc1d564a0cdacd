"""What is certain about another policy, without any assumption on what succeeds.

Where both sequences share a prefix and the outcome fell inside it, the reward is known. Where the
policy stops inside the shared prefix, it is known too. Elsewhere it lies between a success at the
first item that differs and failure of all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.logs.decision import Decision
from longrank.logs.intervals import mean_interval
from longrank.logs.target import Target
from longrank.logs.value import Estimate, Settings


def bound(decision: Decision, target: Target) -> tuple[float, float, float]:
    """The least and the most that the policy can have earned, and the probability that it is exact.

    For a policy that decides by chance: the expectation over its chances.
    """
    payoffs, outcome = decision.payoffs, decision.outcome
    assert payoffs is not None
    low = high = exact = 0.0
    here = 1.0  # the probability that the policy has played the same so far
    for i in range(outcome.tried + 1):
        choices = target.choices[i]
        if i == outcome.tried and i < len(decision.order):  # stopped early: so it would have been
            return low + here * payoffs.losses[i], high + here * payoffs.losses[i], exact + here
        stop, same = float(choices[-1]), 0.0
        if i < outcome.tried:
            same = float(choices[decision.order[i]])
        other = 1.0 - stop - same
        low += here * (stop * payoffs.losses[i] + other * payoffs.losses[target.reach])
        high += here * stop * payoffs.losses[i]
        if other > 1e-12:
            high += here * other * payoffs.rewards[i]
        else:
            other = 0.0
        exact += here * stop
        here *= same
        if here == 0.0:
            break
        if outcome.succeeded and i + 1 == outcome.tried:
            reward = payoffs.rewards[i]
            return low + here * reward, high + here * reward, exact + here
    return low, high, exact


def bounds(name: str, found: NDArray[np.float64], settings: Settings) -> Estimate:
    """The bounds over all decisions; ``found`` has the columns of :func:`bound`.

    ``low`` and ``high`` are certain for the decisions of this log. A note says what they become
    for further decisions of the same kind.
    """
    low, high, exact = found.mean(axis=0)
    span = float(found[:, 1].max() - found[:, 0].min())
    least, _, _ = mean_interval(np.ascontiguousarray(found[:, 0]), span, settings)
    _, most, method = mean_interval(np.ascontiguousarray(found[:, 1]), span, settings)
    note = (
        f"for further decisions like these: {least:.4f} to {most:.4f} "
        f"({settings.confidence:.0%}, {method})"
    )
    return Estimate(
        name,
        "bounds",
        value=float(low) if exact > 1.0 - 1e-12 else float("nan"),
        low=float(low),
        high=float(high),
        method="bounds",
        rounds=len(found),
        exact=float(exact),
        notes=(note,),
    )
