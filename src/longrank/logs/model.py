"""A model of success, fitted to the log: the estimate that stands on it, and its calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.errors import InvalidInput
from longrank.links import LOGISTIC
from longrank.logs.decision import Decision
from longrank.logs.history import History
from longrank.logs.intervals import mean_interval
from longrank.logs.value import Estimate, Settings, cautions
from longrank.payoffs import Payoffs
from longrank.policies import Policy

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
FOLDS = 5
DRAWS = 4  # sequences of a policy that decides by chance


class Predictions(NamedTuple):
    """What was predicted for every try of the log, and whether it succeeded."""

    predicted: Array
    succeeded: NDArray[np.bool_]


@dataclass(frozen=True)
class Model:
    """Logistic regression of success on the item, and how often somebody stops early.

    Fitted once without each of five parts of the log, so that no decision is predicted by a model
    that has seen it. ``weights`` has shape (folds, d + 1), the constant last; ``stops`` (folds,
    b + 1) is the share of sequences that were cut off after 0, 1, ... failures.
    """

    weights: Array
    stops: Array
    predictions: Predictions

    def chances(self, items: Array, index: int) -> Array:
        """The probability of success of every item of decision ``index``. Shape (k,)."""
        own = self.weights[index % len(self.weights)]
        return LOGISTIC.probability(items @ own[:-1] + own[-1])

    def early(self, index: int, count: int) -> Array:
        """The probability of an early stop after 0, ..., count failures."""
        own = self.stops[index % len(self.stops)]
        found = np.zeros(count + 1)
        found[: len(own)] = own[: count + 1]
        return found


def fit(history: History, folds: int = FOLDS, penalty: float = 1.0) -> Model:
    """Fit the model; keeps in memory the items that were tried, not the candidates."""
    rows: list[Array] = []
    ends: list[tuple[int, int, bool]] = []
    for decision in history.decisions():
        if decision.items is None:
            rule = "have the items of every decision for a model of success"
            raise InvalidInput("history", rule, f"none in row {decision.row}")
        outcome = decision.outcome
        rows.append(decision.items[decision.order[: outcome.tried]])
        ends.append((len(decision.order), outcome.tried, outcome.succeeded))
    ended = np.array(ends, np.int64)
    lengths, tried, succeeded = ended.T
    fold_of = np.arange(len(ends)) % folds
    x = np.concatenate(rows)
    x = np.column_stack([x, np.ones(len(x))])
    y = np.zeros(len(x), np.bool_)
    y[(np.cumsum(tried) - 1)[succeeded > 0]] = True
    owner = np.repeat(fold_of, tried)
    weights = np.stack([_logistic(x[owner != f], y[owner != f], penalty) for f in range(folds)])
    stops = np.stack([_stops(ended[fold_of != f], int(lengths.max())) for f in range(folds)])
    predicted = LOGISTIC.probability(np.einsum("ij,ij->i", x, weights[owner]))
    return Model(weights, stops, Predictions(predicted, y))


def _stops(ended: Counts, longest: int) -> Array:
    """How often somebody stopped after 0, 1, ... failures, of those who were to go on.

    ``ended`` has the length, the number of tries and the success of each decision.
    """
    lengths, tried, succeeded = ended.T
    reached = np.minimum(tried - succeeded, lengths - 1)
    at_risk = (reached[:, np.newaxis] >= np.arange(longest + 1)).sum(axis=0)
    early = tried[(succeeded == 0) & (tried < lengths)]
    return np.asarray(np.bincount(early, minlength=longest + 1) / np.maximum(at_risk, 1))


def _logistic(x: Array, y: NDArray[np.bool_], penalty: float) -> Array:
    """Fit the weights; the constant is not penalised (but for a trace, so that it stays finite)."""
    penalties = np.full(x.shape[1], penalty)
    penalties[-1] = 1e-6
    w = np.zeros(x.shape[1])
    kernels.fit_likelihood(x, y, penalties, LOGISTIC.code, w, np.diag(1.0 / penalties))
    return w


def values_along(chances: Array, early: Array, payoffs: Payoffs) -> Array:
    """The expected reward from each point of a sequence on, given failure until there."""
    return kernels.values_ahead(chances, payoffs.rewards, payoffs.losses, early)


def expected(model: Model, decision: Decision, index: int, order: NDArray[np.int64]) -> float:
    """What the model expects of a sequence in place of the one that was played."""
    assert decision.items is not None
    assert decision.payoffs is not None
    chances = model.chances(decision.items, index)[order]
    return float(values_along(chances, model.early(index, len(order)), decision.payoffs)[0])


def expected_of(
    model: Model,
    decision: Decision,
    index: int,
    policy: Policy,
    certain: NDArray[np.int64] | None,
    draws: int = DRAWS,
) -> float:
    """The same of a policy; unless its sequence is ``certain`` it is drawn from a few times."""
    assert decision.items is not None
    assert decision.payoffs is not None
    if certain is not None:
        return expected(model, decision, index, certain)
    total = 0.0
    for _ in range(draws):
        order = policy.rank(decision.items, decision.payoffs, decision.budget).order
        total += expected(model, decision, index, order)
    return total / draws if draws else float("nan")


def model_based(name: str, found: Array, settings: Settings) -> Estimate:
    """The mean of what the model expects in every decision."""
    span = float(found.max() - found.min())
    low, high, method = mean_interval(found, span, settings)
    note = "as good as its model: the interval knows nothing of the model's errors"
    return Estimate(
        name,
        "model",
        float(found.mean()),
        low,
        high,
        method,
        len(found),
        float(len(found)),
        notes=(note, *cautions(len(found), method)),
    )


def calibration(predictions: Predictions, bins: int = 10) -> list[tuple[float, float, int]]:
    """Predicted and true share of successes, and the number of tries, by tenths of the tries."""
    order = np.argsort(predictions.predicted, kind="stable")
    return [
        (
            float(predictions.predicted[part].mean()),
            float(predictions.succeeded[part].mean()),
            len(part),
        )
        for part in np.array_split(order, bins)
        if len(part)
    ]
