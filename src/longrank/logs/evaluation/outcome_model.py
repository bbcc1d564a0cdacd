"""The outcome model: success probabilities fitted to a log in time order, and their calibration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from longrank import kernels
from longrank.arrays import Array, Flags, Indices
from longrank.errors import InvalidInput
from longrank.features import Records
from longrank.learners import Blocks
from longrank.links import LOGISTIC
from longrank.logs.batch import Batch, Prints, fingerprints, grown
from longrank.logs.decision import Decision
from longrank.logs.evaluation.logged_costs import CostFitting, LoggedCosts
from longrank.logs.history import History
from longrank.schema import Schema

_CONSTANT = 10.0  # prior variance of the constant
_MAX_STEPS = 100  # of Newton's method
_FINE, _COARSE = 64, 1  # a block is at most this part of what was before it


class Predictions(NamedTuple):
    """The predicted probability of every attempt in the log, and whether it succeeded."""

    predicted: Array
    succeeded: Flags


@dataclass(frozen=True)
class Seen:
    """The decisions that a model was fitted to, by the fingerprints of their ids, and their blocks.

    ``begins`` are the places of the first decisions of its blocks.
    """

    prints: Prints
    places: Indices
    begins: Indices

    def blocks(self, ids: Any) -> Indices:
        """Return the block of each decision; unseen ones are in the block after the last."""
        prints, known = fingerprints(ids), len(self.prints)
        at = np.minimum(np.searchsorted(self.prints, prints), max(known - 1, 0))
        seen = self.prints[at] == prints if known else np.zeros(len(prints), np.bool_)
        places = self.places[at] if known else np.zeros(len(prints), np.int64)
        return np.where(seen, np.searchsorted(self.begins, places, "right") - 1, len(self.begins))


@dataclass(frozen=True)
class OutcomeModel:
    """Logistic regression of success on the item, and the frequency of early stops.

    Fitted in time order: a decision is predicted from what was learned before its block, because
    the log may come from a policy that learns, whose later decisions depend on earlier outcomes.
    Blocks are single decisions at first and grow with the log. Decisions that the model has not
    seen are predicted from everything it learned. It remembers the ids of those it has seen, so no
    decision is predicted by a model that has seen it, whichever part of the log it is used on.

    ``weights`` has shape (blocks + 1, d + 1), the constant last; the last row is fitted to the
    whole log. ``stops``, shape (blocks + 1, b + 1), is the share of sequences abandoned after 0, 1,
    ... failures. ``costs`` are those reported by outcomes, if any.
    """

    weights: Array
    stops: Array
    predictions: Predictions
    seen: Seen
    costs: LoggedCosts | None = field(default=None, kw_only=True)

    def predict(self, decision: Decision) -> Array:
        """Return the success probability of every candidate of a decision, shape (k,).

        A decision that the model has seen, recognised by its id, is predicted from what was learned
        before it.
        """
        return self.expect(Batch.of([decision]), self.seen.blocks([decision.id]))[0]

    def expect(self, batch: Batch, blocks: Indices) -> tuple[Array, Array]:
        """Return the success probabilities of all candidates of a batch, one after another.

        First from what was learned before each decision, then from the whole log.
        """
        items, own = batch.lists["items"].values, self.weights[blocks]
        own = np.repeat(own, batch.sizes, axis=0)
        before = np.einsum("ij,ij->i", items, own[:, :-1]) + own[:, -1]
        last = self.weights[-1]
        after = np.einsum("ij,j->i", items, last[:-1]) + last[-1]
        return LOGISTIC.probability(before), LOGISTIC.probability(after)

    @property
    def bare(self) -> OutcomeModel:
        """The model without what it remembers of each decision, to send to other processes."""
        nothing = np.empty(0, np.uint64), np.empty(0, np.int64), self.seen.begins
        empty = Predictions(np.empty(0), np.empty(0, np.bool_))
        return replace(self, predictions=empty, seen=Seen(*nothing))


@dataclass(frozen=True)
class RecordModel(OutcomeModel):
    """The outcome model for records: a learner per block instead of weights.

    Each comes with the features of that time, which know only what was tried.
    """

    learners: tuple[tuple[Records, Blocks], ...]

    @property
    def schema(self) -> Schema:
        """The schema learned from the whole log."""
        return self.learners[-1][0].schema

    def expect(self, batch: Batch, blocks: Indices) -> tuple[Array, Array]:
        before, after = [np.empty(0)], [np.empty(0)]
        last = len(self.learners) - 1
        for decision, block in zip(batch, blocks.tolist(), strict=True):
            after.append(_score(*self.learners[last], decision))
            before.append(
                after[-1] if block == last else _score(*self.learners[int(block)], decision)
            )
        return tuple(LOGISTIC.probability(np.concatenate(part)) for part in (before, after))  # type: ignore[return-value]


def _score(features: Records, learner: Blocks, decision: Decision) -> Array:
    assert decision.candidates is not None
    return learner.score(
        features.rows(features.encode(decision.candidates, context=decision.context))
    )[0]


def fit(source: Any, penalty: float = 1.0) -> OutcomeModel:
    """Fit the outcome model to a log in one pass, in the order of its decisions.

    ``source`` is a :class:`~longrank.logs.History` or anything it accepts. If the candidates are
    records, the model is the learner of the recommended policy, which chooses its own ``penalty``.
    """
    history = History.of(source)
    first = next(history.decisions())
    fitted: _Items | _OfRecords
    if first.items is None and first.candidates is not None:
        fitted = _OfRecords(history.schema)
    else:
        fitted = _Items(penalty)
    for batch in history.batches():
        fitted.add(batch)
    return fitted.model()


class _Fitting(ABC):
    """Fits a model batch by batch: what both kinds share.

    A block is at most 1/``divisor`` of the decisions before it.
    """

    def __init__(self, divisor: int) -> None:
        self._divisor = divisor
        self._next = 0  # place of the first decision of the next block
        self._begins: list[int] = []
        self._prints: list[Prints] = []
        self._count = 0
        self._risk, self._early = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._stops: list[Array] = []
        self._predicted: list[Array] = []
        self._succeeded: list[Flags] = []
        self._costs = CostFitting()

    def add(self, batch: Batch) -> None:
        """Learn the decisions of a batch that have an outcome, block by block."""
        if not batch.observed.all():
            observed = [each for each in batch if each.outcome is not None]
            if not observed:
                return
            batch = Batch.of(observed)
        self._prints.append(fingerprints(batch.ids))
        starts = []
        while self._next < self._count + len(batch):
            starts.append(self._next - self._count)
            self._begins.append(self._next)
            self._next += max(1, self._next // self._divisor)
        self._learn(batch, starts)
        edges = [*([] if starts and starts[0] == 0 else [0]), *starts, len(batch)]
        for a, b in pairwise(edges):
            if a in starts:
                self._stops.append(self._early / np.maximum(self._risk, 1))
                self._costs.begin_block()
            part = batch.take(a, b)
            self._count_stops(part)
            self._costs.add(part)
        ends = np.cumsum(batch.tried)
        wins = np.zeros(int(ends[-1]), np.bool_)
        wins[(ends - 1)[batch.succeeded]] = True
        self._succeeded.append(wins)
        self._count += len(batch)

    @abstractmethod
    def _learn(self, batch: Batch, starts: list[int]) -> None:
        """Learn from the attempts of a batch, in which blocks start at these decisions."""

    def _count_stops(self, batch: Batch) -> None:
        lengths, tried, won = batch.lengths, batch.tried, batch.succeeded
        width = max(len(self._risk), int(lengths.max(initial=0)) + 1)
        self._risk, self._early = grown(self._risk, width), grown(self._early, width)
        reached = np.minimum(tried - won, lengths - 1)
        self._risk += (reached[:, np.newaxis] >= np.arange(width)).sum(axis=0)
        self._early += np.bincount(tried[~won & (tried < lengths)], minlength=width)

    def _common(self) -> dict[str, Any]:
        """Return the fields that both kinds of model share."""
        stops = np.zeros((len(self._stops) + 1, len(self._risk)))
        for row, shares in zip(stops, self._stops, strict=False):
            row[: len(shares)] = shares
        stops[-1] = self._early / np.maximum(self._risk, 1)
        prints = np.concatenate([np.empty(0, np.uint64), *self._prints])
        places = np.argsort(prints, kind="stable")
        predicted = np.concatenate([np.empty(0), *self._predicted])
        succeeded = np.concatenate([np.empty(0, np.bool_), *self._succeeded])
        return {
            "stops": stops,
            "predictions": Predictions(predicted, succeeded),
            "seen": Seen(prints[places], places, np.array(self._begins, np.int64)),
            "costs": self._costs.fitted(),
        }


class _Items(_Fitting):
    """Fits a logistic regression by one Newton step per attempt."""

    def __init__(self, penalty: float) -> None:
        super().__init__(_FINE)
        self._penalty = penalty
        self._weights: Array | None = None
        self._saved: list[Array] = []

    def _learn(self, batch: Batch, starts: list[int]) -> None:
        if not batch.has("items").all():
            row = next(each.row for each in batch if each.items is None)
            rule = "have the items of every decision to fit an outcome model"
            raise InvalidInput("history", rule, f"none in row {row}")
        rows = batch.lists["items"].values[tried_rows(batch)]
        rows = np.column_stack([rows, np.ones(len(rows))])
        if self._weights is None:
            self._weights = np.zeros(rows.shape[1])
            prior = np.full(rows.shape[1], 1.0 / self._penalty)
            prior[-1] = _CONSTANT
            self._inverse = np.diag(prior)
        edges = np.append(0, np.cumsum(batch.tried, dtype=np.int64)).tolist()
        predicted, at = np.empty(len(rows)), set(starts)
        for i, (first, end) in enumerate(pairwise(edges)):
            if i in at:
                self._saved.append(self._weights.copy())
            if end > first:
                tried = rows[first:end]
                predicted[first:end] = LOGISTIC.probability(tried @ self._saved[-1])
                won = bool(batch.succeeded[i])
                kernels.laplace_cascade(self._weights, self._inverse, tried, won, 1.0, 0.0)
        self._predicted.append(predicted)

    def model(self) -> OutcomeModel:
        """Return the model."""
        assert self._weights is not None
        return OutcomeModel(weights=np.stack([*self._saved, self._weights]), **self._common())


class _OfRecords(_Fitting):
    """Fits the learner of the recommended policy, with a copy for each block."""

    def __init__(self, declared: Schema | None) -> None:
        super().__init__(_COARSE)
        schema = Schema() if declared is None else Schema(declared.fields, ignore=declared.ignore)
        self._features, self._learner = Records(schema), Blocks()
        self._saved: list[tuple[Records, Blocks]] = []

    def _learn(self, batch: Batch, starts: list[int]) -> None:
        predicted = [np.empty(0)]
        for i, decision in enumerate(batch):
            if i in starts:
                self._saved.append((self._features.view(), self._learner.view()))
            if not decision.ended.tried:
                continue
            assert decision.candidates is not None
            features = self._features
            prepared = features.encode(decision.candidates, context=decision.context)
            order = decision.order[: decision.ended.tried]
            tried = features.along(prepared, order)
            predicted.append(LOGISTIC.probability(_score(*self._saved[-1], decision)[order]))
            self._learner.observe(tried, decision.ended.succeeded)
            features.observe(tried, prepared.sample)
        self._predicted.append(np.concatenate(predicted))

    def model(self) -> RecordModel:
        """Return the model."""
        return RecordModel(
            weights=np.empty((len(self._saved) + 1, 0)),
            learners=(*self._saved, (self._features, self._learner)),
            **self._common(),
        )


def logistic(x: Array, y: Flags, penalty: float) -> Array:
    """Fit the weights by Newton's method, with smaller steps where these would overshoot.

    The constant is hardly penalised, just enough to stay finite.
    """
    penalties = np.full(x.shape[1], penalty)
    penalties[-1] = 1e-6
    signs = np.where(y, -1.0, 1.0)

    def loss(w: Array) -> float:
        return float(np.logaddexp(0.0, signs * (x @ w)).sum() + 0.5 * penalties @ w**2)

    w = np.zeros(x.shape[1])
    for _ in range(_MAX_STEPS):
        p = LOGISTIC.probability(x @ w)
        gradient = x.T @ (y - p) - penalties * w
        curvature = (x.T * (p * (1.0 - p))) @ x + np.diag(penalties)
        step, before = np.linalg.solve(curvature, gradient), loss(w)
        while loss(w + step) > before + 1e-12 * abs(before):
            step = 0.5 * step
        w = w + step
        if np.abs(step).max() <= 1e-12 * (1.0 + np.abs(w).max()):
            break
    return w


def tried_rows(batch: Batch) -> Indices:
    """Return which rows of the items of a batch were tried, in the order of the attempts."""
    tried = batch.tried.astype(np.int64)
    owner = np.repeat(np.arange(len(batch)), tried)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(tried) - tried, tried)
    order = batch.lists["order"]
    return np.asarray(
        batch.lists["items"].firsts[owner] + order.values[order.firsts[owner] + within]
    )


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
