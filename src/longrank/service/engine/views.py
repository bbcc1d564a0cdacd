"""Views: models and decisions as the API shows them. Nothing here changes anything."""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from longrank.decision import PROBE
from longrank.service import messages
from longrank.service.engine import decide, settle, stats
from longrank.service.engine.catalog import Catalog
from longrank.service.engine.model import Model
from longrank.service.engine.stats import Span
from longrank.service.errors import Unknown
from longrank.service.store.records import DecisionRecord, copied, joined, state_hash
from longrank.service.store.store import Store

OTHERS = "(others)"
_QUICK = 0.02  # seconds: faster counts are not cached
_REST = 20  # a slower one is repeated after this many times its duration


class Wanted(NamedTuple):
    """Which decisions to list; None where any will do."""

    candidate: str | None = None
    result: messages.Result | None = None
    search: str | None = None

    def fits(self, decision: messages.DecisionSummary) -> bool:
        """Return whether a decision is wanted."""
        return (
            (self.candidate is None or self.candidate in decision.sequence)
            and (self.result is None or self.result == decision.result)
            and (self.search is None or self.search in decision.id)
        )


ANY = Wanted()
PAGE = 500  # decisions that are read at once to filter them
MAX_LOOKED = 4_000  # decisions that one request looks at


class Views(Catalog):
    """The part of the engine that reads models and decisions from its store."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        super().__init__(store, clock)
        self._counted: dict[int, tuple[float, float, int]] = {}

    def summaries(self) -> messages.SummaryList:
        """Summarise all models without reading the store."""
        unavailable = [messages.UnavailableModel(*each) for each in self.suspended.items()]
        return messages.SummaryList([summary(model) for model in self.models()], unavailable)

    def describe(self, model: Model) -> messages.ModelAnswer:
        """Describe a model: its settings and its statistics."""
        request, (view, counted) = model.spec.request, model.published()
        settings = msgspec.structs.asdict(request) | {"dim": request.dim or 0}
        del settings["schema"]  # shown separately
        return messages.ModelAnswer(
            name=model.name,
            **settings,
            created=model.created,
            version=view.learned,
            state_hash=state_hash(view.policy.to_bytes()),
            stats=counted.shown(self.pending(model)),
        )

    def schema(self, model: Model) -> messages.SchemaAnswer:
        """Describe how the records of a model become rows; Unknown if it has no schema."""
        policy, schema = model.view.policy, model.schema
        if schema is None:
            raise Unknown(f"the model {model.name!r} has no schema: it does not learn from records")
        learner: Any = policy.learner  # type: ignore[attr-defined]
        fields, crossed = schema.describe(), schema.crosses()
        useful = {shared for own, shared in crossed if own is not None}
        shared = [each["name"] for each in fields if each["side"] == "context"]
        return messages.SchemaAnswer(
            fields=[messages.FieldInfo(**each) for each in fields],
            declared=messages.declared_kinds(schema),
            crossed=crossed,
            not_crossed=schema.left_out(),
            idle=[name for name in shared if name not in useful],
            ignored=sorted(schema.ignore),
            columns=messages.ColumnUsage(learner.used, learner.columns, learner.replaced),
            left_out=schema.left_out_fields(),
        )

    def series(self, model: Model, seconds: float | None = None) -> messages.SeriesAnswer:
        """Return a model's numbers over time, of the last seconds or of all time."""
        now = self.clock()
        series = model.stats.series
        span = series.within(seconds, now)
        since = span.starts[0] if span.starts else math.inf
        candidates = []
        for i, name in enumerate([*span.names, OTHERS]):
            numbers = [span.candidate(i, which) for which in range(stats.WIDTH)]
            if numbers[stats.FIRST].any() or numbers[stats.TRIED].any():
                whole = [each.astype(int) for each in numbers[: stats.COST]]
                columns = [each.tolist() for each in (*whole, *numbers[stats.COST :])]
                candidates.append(messages.CandidateSeries(name, *columns))
        bins = span.calibration()
        return messages.SeriesAnswer(
            model=model.name,
            currency=model.spec.request.currency,
            now=now,
            width=span.width,
            starts=span.starts,
            totals=_totals(span),
            candidates=candidates,
            calibration=[
                messages.CalibrationBin(
                    i / len(bins), (i + 1) / len(bins), int(n), estimated / n, succeeded / n
                )
                for i, (n, estimated, succeeded) in enumerate(bins)
                if n
            ],
            marks=[
                messages.DriftMark(*msgspec.structs.astuple(mark))
                for mark in series.marks
                if mark.at >= since
            ],
            mode=model.spec.request.mode,
        )

    def pending(self, model: Model) -> int:
        """Count the decisions that wait for an outcome; a slow count is cached for a while."""
        now = time.perf_counter()
        counted, cost, number = self._counted.get(model.number, (0.0, 0.0, 0))
        if cost > _QUICK and now - counted < _REST * cost:
            return number
        number = self.store.pending(model.number, self.clock())
        done = time.perf_counter()
        self._counted[model.number] = (done, done - now, number)
        return number

    def read(self, name: str, decision: str) -> messages.DecisionRead:
        """Return a decision with its explanation, outcome and history."""
        model = self.model(name)
        entry, settled = self.store.find(model.number, decision)
        if entry is None:
            raise Unknown(f"there is no decision {decision!r}")
        now, record = self.clock(), joined(entry, settled)
        result = _result(record, now)
        short = decide.answer(record, model.name)
        outcome = None if record.outcome is None else settle.answer(record.outcome)
        return copied(
            record,
            messages.DecisionRead,
            **msgspec.structs.asdict(short),
            status=_status(result),
            explanation=_explain(record, model.spec.request.currency),
            outcome=outcome and outcome.outcome,
            outcome_record=outcome,
            history=_history(record, now),
            context=record.context and msgspec.json.decode(record.context),
            patience=record.planned_patience,
            result=result,
            stopped=_stopped(record),
        )

    def latest(
        self, name: str, cursor: str | None = None, limit: int = 50, wanted: Wanted = ANY
    ) -> messages.DecisionList:
        """List decisions, newest first, that match a filter among the next few thousand."""
        model, before = self.model(name), None if cursor is None else int(cursor)
        now, looked = self.clock(), 0
        shown: list[messages.DecisionSummary] = []
        while True:
            count = limit + 1 if wanted == ANY else PAGE
            page = self.store.latest(model.number, before, count)
            for pair in page:
                if len(shown) == limit or looked == MAX_LOOKED:
                    return messages.DecisionList(shown, str(before))
                looked, before = looked + 1, pair[0].seq
                summary = _summary(joined(*pair), now)
                if wanted.fits(summary):
                    shown.append(summary)
            if len(page) < count:
                return messages.DecisionList(shown, None)


def summary(model: Model) -> messages.ModelSummary:
    """Summarise a model without reading the store."""
    request, counted = model.spec.request, model.stats
    return copied(
        counted,
        messages.ModelSummary,
        name=model.name,
        policy=request.policy,
        mode=request.mode,
        currency=request.currency,
        success_rate=counted.successes / counted.outcomes if counted.outcomes else None,
        total_reward=counted.reward,
        last=counted.series.last,
    )


def _totals(span: Span) -> messages.Totals:
    totals = {name: span.total(i) for i, name in enumerate(stats.TOTALS)}
    totals["declined"] = totals["outcomes"] - totals["successes"] - totals["gave_up"]
    shown: dict[str, Any] = {
        name: (numbers if name in ("reward", "spent") else numbers.astype(int)).tolist()
        for name, numbers in totals.items()
    }
    return messages.Totals(**shown)


def _stopped(record: DecisionRecord) -> str:
    """Say why a sequence ends where it does."""
    if record.mode == "shadow":
        return "The caller's own sequence was played."
    if _is_probe(record):
        return PROBE
    values = record.played.values
    end, budget = len(record.played.ids), len(values) - 1
    if end == budget:
        return f"It uses the whole budget of {budget} {'try' if budget == 1 else 'tries'}."
    if any(value > values[end] for value in values[end + 1 :]):
        reason = "as drawn at random: a longer sequence has a higher expected value"
        return f"It stops after {end} of {budget} tries, {reason}."
    if end == 0:
        return f"It tries nothing of {budget} tries: none is worth what it costs."
    return (
        f"It stops after {end} of {budget} tries: no longer sequence has a higher expected value."
    )


def _is_probe(record: DecisionRecord) -> bool:
    """Whether the model played although giving up looked better; not by chance alone."""
    return record.propensities is None and record.played.value < record.played.values[0]


def _result(record: DecisionRecord, now: float) -> messages.Result:
    if record.outcome is None:
        return "expired" if now >= record.expires else "pending"
    if record.outcome.succeeded:
        return "succeeded"
    return "gave_up" if record.outcome.gave_up else "declined"


def _status(result: messages.Result) -> messages.Status:
    return result if result in ("pending", "expired") else "settled"


def _explain(record: DecisionRecord, currency: str | None) -> str:
    """Explain a decision: its sequence, and why it stops where it does."""
    if record.mode == "shadow":
        return "The caller's baseline is played; the proposal is what the model would have done."
    ranking = record.ranking.planned(record.planned_patience, PROBE if _is_probe(record) else "")
    lines, bound = [ranking.explain()], ranking.loss_bound
    if bound > 0.0:
        lines.append(f"No other plan is worth more than {bound:.4g} above this one.")
    if currency is not None:
        lines.append(f"Sums are in {currency}.")
    return "\n".join(lines)


def _history(record: DecisionRecord, now: float) -> list[messages.Event]:
    """List what happened to a decision, in order."""
    seq, expires, outcome = record.seq, record.expires, record.outcome
    events = [messages.Event(seq, record.created, "decided", "ranked and logged")]
    if now >= expires and (outcome is None or outcome.recorded >= expires):
        events.append(messages.Event(seq, expires, "expired", "no outcome until then"))
    if outcome is not None:
        result = "succeeded" if outcome.succeeded else "failed"
        learned = "learned" if outcome.learn else f"not learned: {outcome.why}"
        tries = "1 try" if outcome.tried == 1 else f"{outcome.tried} tries"
        detail = f"{result} after {tries}; {learned}"
        events.append(messages.Event(outcome.seq, outcome.recorded, "outcome", detail))
    return events


def _summary(record: DecisionRecord, now: float) -> messages.DecisionSummary:
    """Return a decision for a list."""
    value, outcome, result = record.played.value, record.outcome, _result(record, now)
    return copied(
        record,
        messages.DecisionSummary,
        sequence=record.played.ids,
        expected_value=None if value != value else value,
        status=_status(result),
        outcome=outcome and settle.observed(outcome),
        result=result,
        reward=outcome and outcome.reward,
        spent=outcome and outcome.spent,
        proposal=record.proposal and record.proposal.ids,
    )
