"""Views: models and decisions as the API shows them. Nothing here changes anything."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

from longrank.errors import InvalidInput
from longrank.service import messages
from longrank.service.engine import decide, settle
from longrank.service.engine.model import Model
from longrank.service.errors import Unknown
from longrank.service.store.receipts import doubles
from longrank.service.store.records import DecisionRecord, Entry
from longrank.service.store.store import Store

_QUICK = 0.02  # seconds: a count that takes no longer is made each time
_REST = 20  # a slower one is repeated after this many times its duration

Status = Literal["pending", "expired", "settled"]


class Views:
    """Read models and decisions from a store."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._counted: dict[int, tuple[float, float, int]] = {}

    def describe(self, model: Model) -> messages.ModelAnswer:
        """Describe a model: what it was created with, and how it is doing."""
        request, view = model.spec.request, model.view
        return messages.ModelAnswer(
            name=model.name,
            policy=request.policy,
            dim=request.dim or 0,
            max_budget=request.max_budget,
            settings=request.settings,
            mode=request.mode,
            ttl=request.ttl,
            missing=request.missing,
            keep=request.keep,
            store_candidates=request.store_candidates,
            created=model.created,
            version=view.version,
            state_hash=view.state_hash(),
            stats=view.stats.shown(self.pending(model)),
            currency=request.currency,
            patience=request.patience,
        )

    def schema(self, model: Model) -> messages.SchemaAnswer:
        """Describe how the records of a model become rows; Unknown if it has no schema."""
        policy, schema = model.view.policy, model.schema
        if schema is None:
            raise Unknown(f"the model {model.name!r} has no schema: it does not learn from records")
        learner: Any = policy.learner  # type: ignore[attr-defined]
        fields, crossed = schema.describe(), schema.crosses()
        useful = {other for one, other in crossed if one is not None}
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

    def pending(self, model: Model) -> int:
        """Count the decisions that wait for an outcome; a recent count where counting is slow."""
        now = time.perf_counter()
        counted, cost, number = self._counted.get(model.number, (0.0, 0.0, 0))
        if cost > _QUICK and now - counted < _REST * cost:
            return number
        number = self._store.pending(model.number, self._clock())
        done = time.perf_counter()
        self._counted[model.number] = (done, done - now, number)
        return number

    def read(self, model: Model, decision: str) -> messages.DecisionRead:
        """Return a decision with its explanation, outcome and history."""
        entry, settled = self._store.find(model.number, decision)
        if entry is None:
            raise Unknown(f"there is no decision {decision!r}")
        now, record = self._clock(), entry.decision()
        short = decide.answer(entry, record, model.name)
        outcome = None if settled is None else settle.answer(settled, settled.outcome(), record)
        return messages.DecisionRead(
            **{name: getattr(short, name) for name in short.__struct_fields__},
            rewards=doubles(record.rewards).tolist(),
            losses=doubles(record.losses).tolist(),
            status=_status(entry, settled, now),
            explanation=_explain(record, model.spec.request.currency),
            outcome=outcome.outcome if outcome else None,
            outcome_record=outcome,
            history=_history(entry, settled, outcome, now),
            context=record.context,
            patience=record.planned_patience,
        )

    def latest(self, model: Model, cursor: str | None, limit: int) -> messages.DecisionList:
        """List decisions, newest first."""
        before = None
        if cursor is not None:
            if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
                raise InvalidInput("cursor", "be the cursor of an earlier answer", repr(cursor))
            before = int(cursor)
        found = self._store.latest(model.number, before, limit + 1)
        now = self._clock()
        shown = [_summary(entry, settled, now) for entry, settled in found[:limit]]
        more = len(found) > limit
        return messages.DecisionList(shown, str(found[limit - 1][0].seq) if more else None)


def _status(entry: Entry, settled: Entry | None, now: float) -> Status:
    if settled is not None:
        return "settled"
    return "expired" if now >= entry.expires else "pending"


def _explain(record: DecisionRecord, currency: str | None) -> str:
    """Say in words why a sequence stops where it stops."""
    if record.mode == "shadow":
        return "The caller's baseline is played; the proposal is what the model would have done."
    ranking = record.ranking.planned(record.planned_patience)
    lines, bound = [ranking.explain()], ranking.loss_bound
    if bound > 0.0:
        lines.append(f"No other plan is worth more than {bound:.4g} above this one.")
    if currency is not None:
        lines.append(f"Sums are in {currency}.")
    return "\n".join(lines)


def _history(
    entry: Entry, settled: Entry | None, outcome: messages.OutcomeAnswer | None, now: float
) -> list[messages.Event]:
    """List what happened to a decision, in order."""
    events = [messages.Event(entry.seq, entry.at, "decided", "ranked and logged")]
    if now >= entry.expires and (settled is None or settled.at >= entry.expires):
        events.append(messages.Event(entry.seq, entry.expires, "expired", "no outcome until then"))
    if settled is not None and outcome is not None:
        result = "succeeded" if outcome.outcome.succeeded else "failed"
        learned = "learned" if outcome.learned else f"not learned: {outcome.why}"
        tried = outcome.outcome.tried
        detail = f"{result} after {tried} {'try' if tried == 1 else 'tries'}; {learned}"
        events.append(messages.Event(settled.seq, settled.at, "outcome", detail))
    return events


def _summary(entry: Entry, settled: Entry | None, now: float) -> messages.DecisionSummary:
    """Return a decision for a list."""
    record = entry.decision()
    value = record.played.value
    found = settled.outcome() if settled is not None else None
    return messages.DecisionSummary(
        id=entry.id,
        created=entry.at,
        expires=entry.expires,
        sequence=record.played.ids,
        expected_value=None if value != value else value,
        status=_status(entry, settled, now),
        outcome=settle.observed(found) if found else None,
    )
