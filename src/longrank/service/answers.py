"""From what is known to an answer: the same entry of the log always gives the same one."""

from __future__ import annotations

import struct
from typing import Literal

from longrank.service import messages
from longrank.service.models import Model
from longrank.service.records import DecisionRecord, Entry, OutcomeRecord, Sequence, doubles
from longrank.service.stats import earned


def model(found: Model, pending: int) -> messages.Model:
    """What is told of a model."""
    request = found.spec.request
    return messages.Model(
        name=found.name,
        policy=request.policy,
        dim=request.dim,
        max_budget=request.max_budget,
        settings=request.settings,
        mode=request.mode,
        ttl=request.ttl,
        missing=request.missing,
        keep=request.keep,
        store_candidates=request.store_candidates,
        created=found.created,
        version=found.version,
        state_hash=found.state_hash(),
        stats=found.stats.shown(pending),
    )


def numbers(data: bytes) -> list[float | None]:
    """Numbers for JSON: what is unknown is None."""
    return [None if x != x else x for x in struct.unpack(f"<{len(data) // 8}d", data)]


def known(value: float) -> float | None:
    return None if value != value else value


def choices(sequence: Sequence) -> list[messages.Choice]:
    estimates, optimistic = numbers(sequence.estimates), numbers(sequence.optimistic)
    return [
        messages.Choice(name, i + 1, estimates[i], optimistic[i])
        for i, name in enumerate(sequence.ids)
    ]


def proposal(sequence: Sequence | None) -> messages.Proposal | None:
    if sequence is None:
        return None
    return messages.Proposal(choices(sequence), known(sequence.value), numbers(sequence.values))


def decision(entry: Entry, record: DecisionRecord, model: str) -> messages.Decision:
    """The answer to a decision."""
    values = numbers(record.played.values)
    return messages.Decision(
        id=entry.id,
        model=model,
        mode=record.mode,  # type: ignore[arg-type]
        sequence=choices(record.played),
        expected_value=values[len(record.played.ids)],
        values=values,
        version=record.version,
        created=entry.at,
        expires=entry.expires,
        proposal=proposal(record.proposal),
    )


def outcome(
    entry: Entry, record: OutcomeRecord, decided: DecisionRecord, repeated: bool = False
) -> messages.OutcomeAnswer:
    """The answer to an outcome."""
    return messages.OutcomeAnswer(
        id=entry.id,
        outcome=messages.Outcome(record.tried, record.succeeded),
        reward=earned(decided, record),
        recorded=entry.at,
        learned=record.learn,
        why=record.why,
        attributable=record.attributable,
        not_attributable=record.not_attributable,
        reason=record.reason,
        at=record.at,
        repeated=repeated,
    )


def status(
    entry: Entry, settled: Entry | None, now: float
) -> Literal["pending", "expired", "settled"]:
    if settled is not None:
        return "settled"
    return "expired" if now >= entry.expires else "pending"


def read(entry: Entry, settled: Entry | None, model: str, now: float) -> messages.DecisionRead:
    """A decision with all that is known of it."""
    record = entry.decision()
    short = decision(entry, record, model)
    answer = outcome(settled, settled.outcome(), record) if settled is not None else None
    return messages.DecisionRead(
        **{name: getattr(short, name) for name in short.__struct_fields__},
        rewards=doubles(record.rewards).tolist(),
        losses=doubles(record.losses).tolist(),
        status=status(entry, settled, now),
        explanation=explained(record),
        outcome=answer.outcome if answer else None,
        outcome_record=answer,
        history=history(entry, settled, answer, now),
    )


def explained(record: DecisionRecord) -> str:
    """Why it stops where it stops, in words."""
    if record.mode == "shadow":
        return "The caller's baseline is played; the proposal is what the model would have done."
    return record.ranking.explain()


def history(
    entry: Entry, settled: Entry | None, answer: messages.OutcomeAnswer | None, now: float
) -> list[messages.Event]:
    """What happened to a decision, in order."""
    events = [messages.Event(entry.seq, entry.at, "decided", "ranked and logged")]
    if now >= entry.expires and (settled is None or settled.at >= entry.expires):
        events.append(messages.Event(entry.seq, entry.expires, "expired", "no outcome until then"))
    if settled is not None and answer is not None:
        result = "succeeded" if answer.outcome.succeeded else "failed"
        learned = "learned" if answer.learned else f"not learned: {answer.why}"
        detail = f"{result} after {answer.outcome.tried} tries; {learned}"
        events.append(messages.Event(settled.seq, settled.at, "outcome", detail))
    return events


def summary(entry: Entry, settled: Entry | None, now: float) -> messages.DecisionSummary:
    """A decision in a list."""
    record = entry.decision()
    found = settled.outcome() if settled is not None else None
    return messages.DecisionSummary(
        id=entry.id,
        created=entry.at,
        expires=entry.expires,
        sequence=record.played.ids,
        expected_value=known(record.played.value),
        status=status(entry, settled, now),
        outcome=messages.Outcome(found.tried, found.succeeded) if found else None,
    )
