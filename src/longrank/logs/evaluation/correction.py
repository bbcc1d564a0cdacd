"""The correction of the outcome model by a decision of the log: what makes an estimate robust."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.logs.decision import Decision
from longrank.logs.evaluation.outcome_model import OutcomeModel, values_along
from longrank.logs.evaluation.target import Target, last_step
from longrank.payoffs import Payoffs

Array = NDArray[np.float64]


class Correction(NamedTuple):
    """V(start), and delta_j = r_j + V(after action j) - Q(action j) for every action of the log.

    The doubly robust estimate of the decision is V(start) + sum_j w_j delta_j. It is unbiased for
    any Q, as long as V is the policy's mean of Q over its actions. ``square`` and ``fourth`` are
    the moments of the sum that the model expects, given what was played.
    """

    start: float
    deltas: Array
    square: float
    fourth: float


def correct(
    decision: Decision, target: Target, model: OutcomeModel, index: int, weights: Array
) -> Correction:
    """Compute the correction with the model of decision ``index``; ``weights`` are per action."""
    payoffs, tries = model.payoffs(decision, index), decision.tries
    chances = model.predict(decision, index)
    early = model.early(index, tries)
    count = len(decision.order)
    costs, gains, rewards, losses, _ = payoffs.prices(len(chances))
    paid = decision.paid(payoffs)
    after = _continuations(decision, target, chances, early, payoffs)
    # values and actions do not count what was spent before
    values, actions = np.zeros(count + 2), np.zeros(count + 1)
    for i in range(count + 1):
        loss, choices = losses[i], target.choices[i]
        if i == tries:  # the budget is used up: STOP is certain
            values[i] = actions[i] = loss
            continue
        going = early[i] * loss + (1.0 - early[i]) * (
            chances * (rewards[i] + gains) - costs + (1.0 - chances) * after[i]
        )
        values[i] = choices[:-1] @ going + choices[-1] * loss
        actions[i] = going[decision.order[i]] if i < count else loss
    last = last_step(decision)
    deltas = values[1 : last + 2] - actions[: last + 1]
    deltas[:last] -= paid[:last]
    # nothing follows the end of the cascade
    deltas[last] = decision.reward_under(payoffs) + paid[:last].sum() - actions[last]
    further = weights[:-1] * (values[1:-1] - costs[decision.order] - actions[:-1])
    outcomes = _outcomes(decision, payoffs, chances, early, further, weights, actions)
    likely, sums, tries_made = np.array(outcomes).T
    noise = np.zeros(count + 1)  # variance that real costs add, by the number of attempts
    if model.costs is not None and decision.ended.costs is not None:
        np.cumsum(model.costs.noise * weights[:-1] ** 2, out=noise[1:])
    noise, squares = noise[tries_made.astype(np.int64)], sums**2
    square = float(likely @ (squares + noise))
    fourth = float(likely @ (squares**2 + 6.0 * squares * noise + 3.0 * noise**2))
    return Correction(float(values[0]), deltas, square, fourth)


def _outcomes(
    decision: Decision,
    payoffs: Payoffs,
    chances: Array,
    early: Array,
    further: Array,
    weights: Array,
    actions: Array,
) -> list[tuple[float, float, int]]:
    """List every possible outcome of what was played: its probability, sum_j w_j delta_j, attempts.

    ``further`` is what each failure adds to the sum.
    """
    costs, gains, rewards, losses, _ = payoffs.prices(len(chances))
    found, total, here = [], 0.0, 1.0
    for i, item in enumerate(decision.order):
        stop = here * early[i]
        success = (here - stop) * chances[item]
        earned = rewards[i] + gains[item] - costs[item]
        found.append((stop, total + weights[i] * (losses[i] - actions[i]), i))
        found.append((success, total + weights[i] * (earned - actions[i]), i + 1))
        total += further[i]
        here -= stop + success
    n = len(decision.order)
    return [*found, (here, total + weights[n] * (losses[n] - actions[n]), n)]


def _continuations(
    decision: Decision, target: Target, chances: Array, early: Array, payoffs: Payoffs
) -> Array:
    """Return the value left after one more failure, from each prefix of the log on.

    What was spent until then is not counted. Exact if the policy's sequence is certain. Otherwise
    it assumes that the policy's later choices are those that it has now, which costs some variance
    but no bias.
    """
    tries, after = decision.tries, np.zeros(len(decision.order) + 1)
    costs, gains, rewards, losses, _ = payoffs.prices(len(chances))
    if target.sequence is not None:
        n = min(len(after), len(target.sequence))
        ends = payoffs.along(target.sequence) if payoffs.has_prices else payoffs
        ahead = values_along(chances[target.sequence], early, ends)[1 : n + 1]
        after[:n] = ahead + np.cumsum(costs[target.sequence])[:n]
        return after
    for i in range(min(len(after), tries)):
        choices = target.choices[i]
        stop, p, gain = choices[-1], 0.0, 0.0
        if stop < 1.0:
            p = choices[:-1] @ chances / (1.0 - stop)
            gain = choices[:-1] @ (chances * gains - costs) / (1.0 - stop)
        value = losses[tries]
        for j in range(tries - 1, i, -1):
            on = p * rewards[j] + gain + (1.0 - p) * value
            on = early[j] * losses[j] + (1.0 - early[j]) * on
            value = stop * losses[j] + (1.0 - stop) * on
        after[i] = value
    return after
