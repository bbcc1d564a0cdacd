"""What a log says about a policy: all that the estimators need, decision by decision."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longrank.logs.bounds import bound
from longrank.logs.corrections import correct
from longrank.logs.decision import Decision
from longrank.logs.history import History
from longrank.logs.model import DRAWS, Model, expected_of
from longrank.logs.target import early_stops, last_step, target, weights
from longrank.logs.warm import observed
from longrank.policies import Policy

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """All that the estimators need of one policy: a row for every decision."""

    rewards: Array
    bounds: Array  # low, high, exact
    weights: Array  # after every action; the last one goes on
    last: NDArray[np.int64]
    matches: Array
    unsupported: Array
    starts: Array
    deltas: Array
    expected: Array  # by the model: the second and fourth power of the sum of corrections
    modelled: Array
    stops: Array  # the probability that it stops before the budget is used up, along the log
    short: Array  # whether the log did


def gather(
    policy: Policy, history: History, model: Model, draws: int = DRAWS, *, learn: bool = False
) -> Evidence:
    """Ask the policy about every decision of the log.

    ``draws`` are for the model's estimate. With ``learn`` a copy of the policy learns from each
    decision after it was asked.
    """
    drawn = copy.deepcopy(policy)  # the model's estimate draws from it
    rows: list[tuple[float, ...]] = []
    steps: list[Array] = []
    deltas: list[Array] = []
    for index, decision in enumerate(history.decisions()):
        row, own, correction = _one(drawn, decision, model, index, draws)
        if learn and decision.learned:
            drawn.learn(*observed(decision, getattr(drawn, "features", None)))
        rows.append(row)
        steps.append(own)
        deltas.append(correction)
    table = np.array(rows)
    return Evidence(
        rewards=table[:, 0],
        bounds=table[:, 1:4],
        last=table[:, 4].astype(np.int64),
        matches=table[:, 5],
        unsupported=table[:, 6],
        starts=table[:, 7],
        expected=table[:, 8:10],
        modelled=table[:, 10],
        stops=table[:, 11],
        short=table[:, 12],
        weights=_padded(steps, repeat=True),
        deltas=_padded(deltas, repeat=False, width=max(map(len, steps))),
    )


def _one(
    policy: Policy, decision: Decision, model: Model, index: int, draws: int
) -> tuple[tuple[float, ...], Array, Array]:
    would = target(policy, decision)
    weighed = weights(would, decision)
    steps, unsupported = np.zeros(len(decision.order) + 1), 0.0
    if weighed is not None:
        steps, unsupported = weighed.steps, weighed.unsupported
    correction = correct(decision, would, model, index, steps)
    row = (
        decision.reward,
        *bound(decision, would),
        last_step(decision),
        would.reached[-1],
        unsupported,
        correction.start,
        correction.square,
        correction.fourth,
        expected_of(model, decision, index, policy, would.sequence, draws),
        early_stops(would, decision),
        len(decision.order) < decision.tries,
    )
    return row, steps, correction.deltas


def _padded(rows: list[Array], *, repeat: bool, width: int | None = None) -> Array:
    """Rows of different lengths as one table, filled up with their last number or with 0."""
    table = np.zeros((len(rows), max(map(len, rows)) if width is None else width))
    for row, target_row in zip(rows, table, strict=True):
        target_row[: len(row)] = row
        if repeat:
            target_row[len(row) :] = row[-1]
    return table
