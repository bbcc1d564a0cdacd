"""What travels over HTTP: every request and every answer; OpenAPI is made from these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
ID = r"^[A-Za-z0-9][A-Za-z0-9._:~-]{0,127}$"
MOST_DIMENSIONS = 2048
MOST_TRIES = 10_000
MOST_SECONDS = 400 * 86_400

Name = Annotated[str, Meta(pattern=NAME, description="Letters, digits, '.', '_', '-'.")]
Id = Annotated[str, Meta(pattern=ID, description="Letters, digits, '.', '_', ':', '~', '-'.")]
CandidateId = Annotated[str, Meta(min_length=1, max_length=256)]
Mode = Literal["online", "shadow", "frozen"]
Seconds = Annotated[float, Meta(gt=0, le=MOST_SECONDS)]
Position = Annotated[int, Meta(ge=1, le=MOST_TRIES)]
Time = Annotated[float, Meta(ge=0, le=1e11, description="Seconds since 1970.")]
Count = Annotated[int, Meta(ge=0, le=MOST_TRIES)]


class ModelRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A model to make: which policy, of how many features, with which settings."""

    dim: Annotated[int, Meta(ge=1, le=MOST_DIMENSIONS, description="Features of a candidate.")]
    max_budget: Annotated[int, Meta(ge=1, le=MOST_TRIES, description="The most tries ever.")] = 10
    policy: Annotated[str, Meta(min_length=1, max_length=64)] = "recommended"
    settings: Annotated[dict[str, Any], Meta(description="The policy's settings.")] = {}
    mode: Mode = "online"
    ttl: Annotated[Seconds, Meta(description="Seconds until a decision expires.")] = 86_400.0
    missing: Annotated[
        Literal["unobserved", "failed"],
        Meta(description="What no outcome until expiry means."),
    ] = "unobserved"
    keep: Annotated[
        Seconds | None, Meta(description="Drop decisions older than this many seconds.")
    ] = None
    store_candidates: Annotated[
        bool, Meta(description="Store all candidates, not only the chosen ones.")
    ] = False


class Curve(Struct, frozen=True):
    """Outcomes in log order, in bins of ``size`` (the last may hold fewer), oldest first."""

    size: int
    outcomes: list[int]
    reward: list[float]
    length: list[float]
    give_ups: list[float]


class PositionStats(Struct, frozen=True):
    """How often this position was tried and how often it succeeded."""

    position: int
    tried: int
    succeeded: int
    rate: float | None


class ModelStats(Struct, frozen=True):
    """What became of a model's decisions so far."""

    decisions: int
    outcomes: int
    pending: int
    expired: int
    learned: int
    not_learned: int
    empty: int
    total_reward: float
    mean_reward: float | None
    mean_length: float | None
    success_rate: float | None
    give_ups: int
    by_position: list[PositionStats]
    curve: Curve


class Model(Struct, frozen=True):
    """A model: what it was made with, and how it is doing."""

    name: str
    policy: str
    dim: int
    max_budget: int
    settings: dict[str, Any]
    mode: Mode
    ttl: float
    missing: str
    keep: float | None
    store_candidates: bool
    created: float
    version: int
    state_hash: str
    stats: ModelStats


class ModelCreated(Model, frozen=True):
    """A new model, with its key: the only time that it is shown."""

    key: str


class ModelList(Struct, frozen=True):
    """All models."""

    models: list[Model]


class KeyInfo(Struct, frozen=True):
    """A key of a model, without the key."""

    id: str
    created: float


class KeyCreated(KeyInfo, frozen=True):
    """A new key: the only time that it is shown."""

    key: str


class KeyList(Struct, frozen=True):
    """The keys of a model."""

    keys: list[KeyInfo]


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


class Health(Struct, frozen=True):
    """Whether it is alive, or ready."""

    status: str
