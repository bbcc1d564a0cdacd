"""Decisions as they are read later: explained, listed, dropped."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from longrank.service.messages.decisions import Decision
from longrank.service.messages.outcomes import Outcome, OutcomeAnswer


class Event(Struct, frozen=True):
    """Something that happened to a decision."""

    seq: int
    at: float
    event: Literal["decided", "outcome", "expired"]
    detail: str


class DecisionRead(Decision, frozen=True, kw_only=True):
    """A decision with its explanation, its outcome and its history."""

    rewards: list[float]
    losses: list[float]
    status: Literal["pending", "expired", "settled"]
    explanation: str
    outcome: Outcome | None
    outcome_record: OutcomeAnswer | None
    history: list[Event]


class DecisionSummary(Struct, frozen=True):
    """A decision in a list."""

    id: str
    created: float
    expires: float
    sequence: list[str]
    expected_value: float | None
    status: Literal["pending", "expired", "settled"]
    outcome: Outcome | None


class DecisionList(Struct, frozen=True):
    """Decisions, newest first; ``next`` is the cursor of the following page."""

    decisions: list[DecisionSummary]
    next: str | None


class Dropped(Struct, frozen=True):
    """How many decisions were dropped."""

    dropped: int
