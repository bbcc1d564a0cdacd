"""Decisions: a round that is asked, and what to try."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from longrank.service.messages.fields import MOST_DIMENSIONS, CandidateId, Count, Id, Mode, Seconds


class Candidate(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One candidate and its features."""

    id: CandidateId
    features: Annotated[list[float], Meta(max_length=MOST_DIMENSIONS)]


class Packed(Struct, frozen=True, forbid_unknown_fields=True):
    """A matrix, row by row, little-endian: base64 in JSON, binary in MessagePack."""

    data: bytes
    dtype: Literal["float32", "float64"] = "float64"


class DecisionRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A round: either ``candidates``, or ``ids`` with ``features``."""

    id: Annotated[Id | None, Meta(description="Or the header Idempotency-Key; else made.")] = None
    candidates: list[Candidate] | None = None
    ids: list[CandidateId] | None = None
    features: list[list[float]] | Packed | None = None
    budget: Annotated[Count | None, Meta(description="The most tries; len(rewards) if none.")] = (
        None
    )
    rewards: Annotated[
        list[float] | None, Meta(description="For success at try 1, 2, ...; 1 each if none.")
    ] = None
    losses: Annotated[
        list[float] | None, Meta(description="For giving up after 0, 1, ... tries; 0 if none.")
    ] = None
    ttl: Annotated[Seconds | None, Meta(description="Seconds until it expires.")] = None
    baseline: Annotated[
        list[CandidateId] | None, Meta(description="The caller's own sequence; played in shadow.")
    ] = None


class Choice(Struct, frozen=True, gc=False):
    """One position of a sequence: probabilities of success with and without the bonus."""

    id: str
    position: int
    estimate: float | None
    optimistic: float | None


class Proposal(Struct, frozen=True):
    """What the model would have played in shadow mode."""

    sequence: list[Choice]
    expected_value: float | None
    values: list[float | None]


class Decision(Struct, frozen=True):
    """What to try, in which order, and why it stops there."""

    id: str
    model: str
    mode: Mode
    sequence: Annotated[list[Choice], Meta(description="Try these, in this order.")]
    expected_value: float | None
    values: Annotated[
        list[float | None], Meta(description="Expected value of each length 0, 1, ...")
    ]
    version: Annotated[int, Meta(description="How many outcomes the model had learned from.")]
    created: float
    expires: float
    proposal: Proposal | None = None
