"""The outcome model: success probabilities fitted to a log, and their calibration."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.errors import InvalidInput
from longrank.learners import SparseLaplace
from longrank.links import LOGISTIC
from longrank.logs.decision import Decision
from longrank.logs.evaluation.logged_costs import LoggedCosts, fit_costs
from longrank.logs.history import History, history_is_source
from longrank.payoffs import Payoffs
from longrank.policies import Policy
from longrank.schema import Schema

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
FOLDS = 5
DRAWS = 4  # sequences drawn from a randomised policy


class Predictions(NamedTuple):
    """The predicted probability of every attempt in the log, and whether it succeeded."""

    predicted: Array
    succeeded: NDArray[np.bool_]


@dataclass(frozen=True)
class OutcomeModel:
    """Logistic regression of success on the item, and the frequency of early stops.

    Cross-fitted in five folds, so that no decision is predicted by a model that has seen it.
    ``weights`` has shape (folds, d + 1), the constant last; ``stops`` (folds, b + 1) is the share
    of sequences that were abandoned after 0, 1, ... failures. ``costs`` are those that outcomes
    tell, if they do.
    """

    weights: Array
    stops: Array
    predictions: Predictions
    costs: LoggedCosts | None = field(default=None, kw_only=True)

    def chances(self, items: Array, index: int) -> Array:
        """Return the success probability of every item of decision ``index``, shape (k,)."""
        own = self.weights[index % len(self.weights)]
        return LOGISTIC.probability(items @ own[:-1] + own[-1])

    def predict(self, decision: Decision, index: int) -> Array:
        """Return the same for the candidates of a decision."""
        assert decision.items is not None
        return self.chances(decision.items, index)

    def payoffs(self, decision: Decision, index: int) -> Payoffs:
        """Return the payoffs of a decision, with the costs to be expected where it gives none."""
        if self.costs is not None:
            return self.costs.price(decision, index)
        assert decision.payoffs is not None
        return decision.payoffs

    def early(self, index: int, count: int) -> Array:
        """Return the probability of an early stop after 0, ..., count failures."""
        own = self.stops[index % len(self.stops)]
        found = np.zeros(count + 1)
        found[: len(own)] = own[: count + 1]
        return found


@dataclass(frozen=True)
class RecordModel(OutcomeModel):
    """The outcome model for records: in place of the weights a learner for each fold."""

    schema: Schema
    learners: tuple[SparseLaplace, ...]
    _latest: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def predict(self, decision: Decision, index: int) -> Array:
        latest = self._latest
        if latest.get("decision") is not decision or latest["index"] != index:
            assert decision.candidates is not None
            rows = self.schema.encode(decision.candidates, decision.context)
            means, _ = self.learners[index % len(self.learners)].score(rows)
            chances = LOGISTIC.probability(means)
            latest.update(decision=decision, index=index, chances=chances)
        found: Array = latest["chances"]
        return found


@history_is_source
def fit(source: Any, folds: int = FOLDS, penalty: float = 1.0) -> OutcomeModel:
    """Fit the outcome model to a log; only the items that were tried are held in memory.

    ``source`` is a :class:`~longrank.logs.History`, or whatever it takes. Where the candidates
    are records, the model is the learner of the recommended policy, which chooses its own
    ``penalty``.
    """
    history = History.of(source)
    ended = np.array(
        [(len(one.order), one.ended.tried, one.ended.succeeded) for one in history.decisions()],
        np.int64,
    )
    fold_of = np.arange(len(ended)) % folds
    longest = int(ended[:, 0].max())
    stops = np.stack([_stops(ended[fold_of != f], longest) for f in range(folds)])
    y = np.zeros(int(ended[:, 1].sum()), np.bool_)
    y[(np.cumsum(ended[:, 1]) - 1)[ended[:, 2] > 0]] = True
    first = next(history.decisions())
    if first.items is None and first.candidates is not None:
        model = _fit_records(history, folds, stops, y)
    else:
        model = _fit_items(history, folds, penalty, stops, y)
    return replace(model, costs=fit_costs(history, folds))


def _fit_items(
    history: History, folds: int, penalty: float, stops: Array, y: NDArray[np.bool_]
) -> OutcomeModel:
    rows: list[Array] = []
    owners: list[int] = []
    for index, decision in enumerate(history.decisions()):
        if decision.items is None:
            rule = "have the items of every decision to fit an outcome model"
            raise InvalidInput("history", rule, f"none in row {decision.row}")
        rows.append(decision.items[decision.order[: decision.ended.tried]])
        owners += [index % folds] * decision.ended.tried
    owner = np.array(owners, np.int64)
    x = np.concatenate(rows)
    x = np.column_stack([x, np.ones(len(x))])
    weights = np.stack([_logistic(x[owner != f], y[owner != f], penalty) for f in range(folds)])
    predicted = LOGISTIC.probability(np.einsum("ij,ij->i", x, weights[owner]))
    return OutcomeModel(weights, stops, Predictions(predicted, y))


def _fit_records(history: History, folds: int, stops: Array, y: NDArray[np.bool_]) -> OutcomeModel:
    """Learn every decision with the learners of all folds but its own."""
    declared, learners = history.schema, tuple(SparseLaplace() for _ in range(folds))
    schema = Schema() if declared is None else Schema(declared.fields, ignore=declared.ignore)
    for index, decision in enumerate(history.decisions()):
        if not decision.ended.tried:
            continue
        assert decision.candidates is not None
        rows = schema.encode(decision.candidates, decision.context)
        tried = rows.take(decision.order[: decision.ended.tried])
        for fold, learner in enumerate(learners):
            if fold != index % folds:
                learner.observe(tried, decision.ended.succeeded)
        schema.observe(tried)
    model = RecordModel(np.empty((folds, 0)), stops, Predictions(np.empty(0), y), schema, learners)
    predicted = [
        model.predict(decision, index)[decision.order[: decision.ended.tried]]
        for index, decision in enumerate(history.decisions())
    ]
    return replace(model, predictions=Predictions(np.concatenate(predicted), y))


def _stops(ended: Counts, longest: int) -> Array:
    """Return the share of sequences abandoned after 0, 1, ... failures, of those not finished.

    ``ended`` has the length, the number of attempts and the success of each decision.
    """
    lengths, tried, succeeded = ended.T
    reached = np.minimum(tried - succeeded, lengths - 1)
    at_risk = (reached[:, np.newaxis] >= np.arange(longest + 1)).sum(axis=0)
    early = tried[(succeeded == 0) & (tried < lengths)]
    return np.asarray(np.bincount(early, minlength=longest + 1) / np.maximum(at_risk, 1))


def _logistic(x: Array, y: NDArray[np.bool_], penalty: float) -> Array:
    """Fit the weights; the constant is hardly penalised, just enough to stay finite."""
    penalties = np.full(x.shape[1], penalty)
    penalties[-1] = 1e-6
    w = np.zeros(x.shape[1])
    kernels.fit_likelihood(x, y, penalties, LOGISTIC.code, w, np.diag(1.0 / penalties))
    return w


def values_along(chances: Array, early: Array, payoffs: Payoffs) -> Array:
    """Return the expected reward from each point of a sequence on, given failures so far.

    ``payoffs`` are by position.
    """
    return kernels.values_ahead(chances, payoffs.rewards, payoffs.losses, early)


def expected(
    model: OutcomeModel, decision: Decision, index: int, order: NDArray[np.int64]
) -> float:
    """Return the reward that the model expects of a sequence instead of the one played."""
    payoffs, chances = model.payoffs(decision, index), model.predict(decision, index)[order]
    if payoffs.has_prices:
        payoffs = payoffs.along(order)
    return float(values_along(chances, model.early(index, len(order)), payoffs)[0])


def expected_of(
    model: OutcomeModel,
    decision: Decision,
    index: int,
    policy: Policy,
    certain: NDArray[np.int64] | None,
    draws: int = DRAWS,
) -> float:
    """Return the same for a policy; unless its sequence is ``certain``, by drawing a few."""
    if certain is not None:
        return expected(model, decision, index, certain)
    items, payoffs, given = decision.offer(policy)
    total = 0.0
    for _ in range(draws):
        order = policy.rank(items, payoffs, decision.budget, **given).order
        total += expected(model, decision, index, order)
    return total / draws if draws else float("nan")


def calibration(predictions: Predictions, bins: int = 10) -> list[tuple[float, float, int]]:
    """Return predicted and observed success rates with the number of attempts, by deciles."""
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
