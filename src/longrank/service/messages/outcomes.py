"""Outcomes: what became of decisions, told one by one or many at once."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from longrank.service.messages.fields import CandidateId, Count, Id, Position, Time


class OutcomeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What became of a decision: ``tried`` and ``succeeded``, or ``succeeded_id``."""

    tried: Count | None = None
    succeeded: bool | None = None
    succeeded_id: CandidateId | None = None
    attributable: Annotated[
        bool, Meta(description="False: the failures say nothing about the candidates.")
    ] = True
    not_attributable: Annotated[
        list[Position], Meta(description="Only the failures at these positions.", max_length=100)
    ] = []
    reason: Annotated[str, Meta(max_length=1000)] | None = None
    at: Time | None = None


class BatchItem(OutcomeRequest, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An outcome with the id of its decision."""

    id: Id


class BatchRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Outcomes of several decisions."""

    outcomes: Annotated[list[BatchItem], Meta(max_length=10_000)]


class Outcome(Struct, frozen=True):
    """All that a cascade reveals."""

    tried: int
    succeeded: bool


class OutcomeAnswer(Struct, frozen=True):
    """What was recorded; ``why`` says why it is not learned from, where it is not."""

    id: str
    outcome: Outcome
    reward: float
    recorded: float
    learned: bool
    why: str | None
    attributable: bool
    not_attributable: list[int]
    reason: str | None
    at: float | None
    repeated: bool = False


class BatchResult(Struct, frozen=True):
    """The result of one item: the status that its own call would have had."""

    id: str
    status: int
    outcome: OutcomeAnswer | None = None
    detail: str | None = None


class BatchAnswer(Struct, frozen=True):
    """One result for each item, in order."""

    results: list[BatchResult]
