"""What doubly robust makes of one decision: what a model expected, and what the log corrects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.logs.decision import Decision
from longrank.logs.model import Model, values_along
from longrank.logs.target import Target, last_step

Array = NDArray[np.float64]


class Correction(NamedTuple):
    """V(start), and delta_j = r_j + V(after action j) - Q(action j) for every action of the log.

    The estimate of the decision is V(start) + sum_j w_j delta_j. Any Q keeps it unbiased, as long
    as V = sum over actions of the policy's probability times Q. ``square`` and ``fourth`` are
    what the model expects of these powers of the sum, given what was played.
    """

    start: float
    deltas: Array
    square: float
    fourth: float


def correct(
    decision: Decision, target: Target, model: Model, index: int, weights: Array
) -> Correction:
    """By the model of decision ``index``; ``weights`` are those of every action of the log."""
    payoffs, tries = decision.payoffs, decision.tries
    assert decision.items is not None
    assert payoffs is not None
    chances = model.chances(decision.items, index)
    early = model.early(index, tries)
    count = len(decision.order)
    after = _continuations(decision, target, chances, early)
    values, actions = np.zeros(count + 2), np.zeros(count + 1)
    for i in range(count + 1):
        loss, choices = payoffs.losses[i], target.choices[i]
        if i == tries:  # the budget is used up: STOP is certain
            values[i] = actions[i] = loss
            continue
        going = early[i] * loss + (1.0 - early[i]) * (
            chances * payoffs.rewards[i] + (1.0 - chances) * after[i]
        )
        values[i] = choices[:-1] @ going + choices[-1] * loss
        actions[i] = going[decision.order[i]] if i < count else loss
    last = last_step(decision)
    deltas = values[1 : last + 2] - actions[: last + 1]
    deltas[last] = decision.reward - actions[last]  # nothing follows where the cascade ended
    further = weights * (values[1:] - actions)  # what each failure adds
    outcomes = _outcomes(decision, chances[decision.order], early, further, weights, actions)
    likely, sums = np.array(outcomes).T
    squares = sums**2
    return Correction(float(values[0]), deltas, float(likely @ squares), float(likely @ squares**2))


def _outcomes(
    decision: Decision, chances: Array, early: Array, further: Array, weights: Array, actions: Array
) -> list[tuple[float, float]]:
    """Every outcome that what was played could have had: its probability, and sum_j w_j delta_j."""
    assert decision.payoffs is not None
    rewards, losses = decision.payoffs.rewards, decision.payoffs.losses
    found, total, here = [], 0.0, 1.0
    for i, chance in enumerate(chances):
        stop = here * early[i]
        success = (here - stop) * chance
        found.append((stop, total + weights[i] * (losses[i] - actions[i])))
        found.append((success, total + weights[i] * (rewards[i] - actions[i])))
        total += further[i]
        here -= stop + success
    n = len(chances)
    return [*found, (here, total + weights[n] * (losses[n] - actions[n]))]


def _continuations(decision: Decision, target: Target, chances: Array, early: Array) -> Array:
    """What is left to expect after one more failure, from each prefix of the log on.

    Exact where the policy is certain of its sequence. Otherwise as if its further choices were
    those that it has now: that costs some variance, and no bias.
    """
    payoffs, tries = decision.payoffs, decision.tries
    assert payoffs is not None
    after = np.zeros(len(decision.order) + 1)
    if target.sequence is not None:
        along = values_along(chances[target.sequence], early, payoffs)[1 : len(after) + 1]
        after[: len(along)] = along
        return after
    for i in range(min(len(after), tries)):
        choices = target.choices[i]
        stop = choices[-1]
        p = choices[:-1] @ chances / (1.0 - stop) if stop < 1.0 else 0.0
        value = payoffs.losses[tries]
        for j in range(tries - 1, i, -1):
            on = p * payoffs.rewards[j] + (1.0 - p) * value
            on = early[j] * payoffs.losses[j] + (1.0 - early[j]) * on
            value = stop * payoffs.losses[j] + (1.0 - stop) * on
        after[i] = value
    return after
