"""Cascade doubly robust: a model says what to expect, the log corrects it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.logs.decision import Decision
from longrank.logs.importance import normalised
from longrank.logs.model import Model, values_along
from longrank.logs.target import Target, last_step
from longrank.logs.value import Estimate, Settings, bootstrap, effective_size, mean_interval
from longrank.payoffs import Payoffs

Array = NDArray[np.float64]


def corrections(
    decision: Decision, target: Target, model: Model, index: int
) -> tuple[float, Array]:
    """V(start), and delta_j = r_j + V(after action j) - Q(action j) for every action of the log.

    The estimate of the decision is V(start) + sum_j w_j delta_j. Any Q keeps it unbiased, as long
    as V = sum over actions of the policy's probability times Q.
    """
    payoffs = decision.payoffs
    assert decision.items is not None
    assert payoffs is not None
    chances = model.chances(decision.items, index)
    early = model.early(index, decision.tries)
    last = last_step(decision)
    after = _continuations(target, chances, early, payoffs, decision.tries, last)
    values, actions = np.zeros(last + 2), np.zeros(last + 1)
    for i in range(last + 1):
        loss, choices = payoffs.losses[i], target.choices[i]
        if i == decision.tries:  # the budget is used up: STOP is certain
            values[i] = actions[i] = loss
            continue
        going = early[i] * loss + (1.0 - early[i]) * (
            chances * payoffs.rewards[i] + (1.0 - chances) * after[i]
        )
        values[i] = choices[:-1] @ going + choices[-1] * loss
        actions[i] = going[decision.order[i]] if i < len(decision.order) else loss
    deltas = values[1:] - actions  # V(after) is 0 where the cascade ended
    deltas[last] += decision.reward
    return float(values[0]), deltas


def _continuations(
    target: Target, chances: Array, early: Array, payoffs: Payoffs, tries: int, last: int
) -> Array:
    """What is left to expect after one more failure, from each prefix on. Shape (last + 1,).

    Exact where the policy is certain of its sequence. Otherwise as if its further choices were
    those that it has now: that costs some variance, and no bias.
    """
    if target.sequence is not None:
        along = values_along(chances[target.sequence], early, payoffs)
        return np.append(along, np.zeros(max(last + 2 - len(along), 0)))[1 : last + 2]
    after = np.zeros(last + 1)
    for i in range(min(last + 1, tries)):
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


def doubly_robust(
    name: str, starts: Array, deltas: Array, weights: Array, effective: float, settings: Settings
) -> Estimate:
    """mean of V + sum_j w_j delta_j (Kiyohara et al. 2022, with STOP as an action).

    Unbiased where the log supports the policy, whatever the model; the better the model, the less
    variance.
    """
    terms = starts + (weights * deltas).sum(axis=1)
    span = float(terms.max() - terms.min())
    low, high, method = mean_interval(terms, span, settings)
    notes = ("the range of the terms is the one seen",) if method == "bernstein" else ()
    return Estimate(
        name,
        "doubly robust",
        float(terms.mean()),
        low,
        high,
        method,
        len(terms),
        effective,
        notes=notes,
    )


def doubly_robust_normalised(
    name: str, starts: Array, deltas: Array, weights: Array, effective: float, settings: Settings
) -> Estimate:
    """The same with weights divided by their mean at each position."""
    columns = weights.shape[1]

    def combine(means: Array) -> Array:
        parts = normalised(means[:, 1 : columns + 1], means[:, columns + 1 :])
        return np.asarray(means[:, 0] + parts.sum(axis=1))

    table = np.hstack([starts[:, np.newaxis], weights * deltas, weights])
    low, high = bootstrap(table, combine, settings)
    return Estimate(
        name,
        "doubly robust, self-normalised",
        float(combine(table.mean(axis=0)[np.newaxis])[0]),
        low,
        high,
        "bootstrap",
        len(starts),
        effective,
    )


def effective_of(weights: Array, last: NDArray[np.int64]) -> float:
    """The effective number of decisions by the weights at their ends."""
    return effective_size(weights[np.arange(len(weights)), last])
