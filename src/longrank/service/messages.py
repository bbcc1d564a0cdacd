"""Wire types: every request and every answer of the HTTP API.

The API's OpenAPI schemas are generated from these types, and so are the checks of a request's
fields. Nothing here knows about HTTP, the engine or the store.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from longrank.payoffs import MAX_PRICE
from longrank.schema import Number, Schema

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
ID = r"^[A-Za-z0-9][A-Za-z0-9._:~-]{0,127}$"
MAX_DIMENSIONS = 2048
MAX_ID = 256
MAX_FIELD_NAME = 128
MAX_TRIES = 10_000
MAX_SECONDS = 400 * 86_400

Name = Annotated[str, Meta(pattern=NAME)]
Id = Annotated[str, Meta(pattern=ID, description="Letters, digits, '.', '_', ':', '~', '-'.")]
CandidateId = Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
FieldName = Annotated[str, Meta(max_length=MAX_FIELD_NAME)]
Record = Annotated[
    dict[str, Any],
    Meta(description="Text, numbers, booleans, lists of numbers or of text, null, by field."),
]
Mode = Literal["online", "shadow", "frozen"]
Status = Literal["pending", "expired", "settled"]
ExportFormat = Literal["parquet", "jsonl"]
Result = Literal["pending", "expired", "succeeded", "declined", "gave_up"]
Seconds = Annotated[float, Meta(gt=0, le=MAX_SECONDS)]
Position = Annotated[int, Meta(ge=1, le=MAX_TRIES)]
Time = Annotated[float, Meta(ge=0, le=1e11, description="Seconds since 1970.")]
Count = Annotated[int, Meta(ge=0, le=MAX_TRIES)]
Cost = Annotated[float, Meta(ge=0, le=MAX_PRICE)]
Value = Annotated[float, Meta(ge=-MAX_PRICE, le=MAX_PRICE)]
Patience = Annotated[float, Meta(gt=0, le=1)]

# models


class FieldKind(Struct, frozen=True, forbid_unknown_fields=True):
    """The kind of a field, with its settings."""

    kind: str
    log: Annotated[bool, Meta(description="Use the logarithm of a number.")] = False


class SchemaRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """How records become rows, as far as it is declared; the rest is inferred."""

    fields: Annotated[
        dict[FieldName, str | FieldKind],
        Meta(max_length=256, description="Kinds by field: category, number, text, ..."),
    ] = {}
    cross: Annotated[
        list[tuple[FieldName, FieldName]] | None,
        Meta(description="Pairs of fields to cross; default: the context with the candidates'."),
    ] = None
    ignore: Annotated[list[FieldName], Meta(description="Fields that are not used.")] = []


class ModelRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a model: its policy, its candidates, and how it treats decisions."""

    dim: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_DIMENSIONS)] | None,
        Meta(description="Number of features of a candidate; null: candidates are records."),
    ] = None
    max_budget: Annotated[
        int, Meta(ge=1, le=MAX_TRIES, description="Maximum length of a sequence.")
    ] = 10
    policy: Annotated[str, Meta(min_length=1, max_length=64)] = "recommended"
    settings: Annotated[dict[str, Any], Meta(description="Settings of the policy.")] = {}
    mode: Mode = "online"
    ttl: Annotated[Seconds, Meta(description="Seconds until a decision expires.")] = 86_400.0
    missing: Annotated[
        Literal["unobserved", "failed"],
        Meta(description="How to treat a decision that expires without an outcome."),
    ] = "unobserved"
    keep: Annotated[
        Seconds | None, Meta(description="Drop expired decisions older than this many seconds.")
    ] = None
    store_candidates: Annotated[
        bool, Meta(description="Store all candidates, not only those in the sequence.")
    ] = False
    schema: Annotated[
        SchemaRequest | None, Meta(description="How records become rows; null: inferred.")
    ] = None
    currency: Annotated[
        Annotated[str, Meta(min_length=1, max_length=12)] | None,
        Meta(description="What money is counted in, such as EUR: a label, which is only shown."),
    ] = None
    patience: Annotated[
        Patience | None,
        Meta(description="Probability that a cascade goes on after a failure; null: learned."),
    ] = None


class Curve(Struct, frozen=True):
    """Outcomes in log order in bins of ``size`` (the last may hold fewer), oldest first."""

    size: int
    outcomes: list[int]
    reward: list[float]
    length: list[float]
    give_ups: list[float]


class PositionStats(Struct, frozen=True):
    """How often a position was tried and how often it succeeded."""

    position: int
    tried: int
    succeeded: int
    rate: float | None


class ModelStats(Struct, frozen=True):
    """Statistics of a model's decisions and outcomes."""

    decisions: int
    outcomes: int
    pending: int
    expired: int
    learned: int
    not_learned: int
    empty: int
    total_reward: Annotated[float, Meta(description="Earned by all outcomes, net of costs.")]
    mean_reward: float | None
    total_spent: Annotated[float, Meta(description="Spent on the tries of all outcomes.")]
    mean_spent: float | None
    mean_length: float | None
    success_rate: float | None
    give_ups: Annotated[
        int, Meta(description="All tries of a sequence shorter than the budget failed.")
    ]
    by_position: list[PositionStats]
    curve: Curve
    estimated: Annotated[
        int, Meta(description="Outcomes without reported costs, counted at the expected cost.")
    ] = 0
    declined: Annotated[
        int, Meta(description="The whole budget failed, or a failure ended the cascade.")
    ] = 0


class ModelAnswer(Struct, frozen=True):
    """A model: its settings and its statistics."""

    name: str
    policy: str
    dim: Annotated[int, Meta(description="0 where candidates are records.")]
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
    currency: str | None = None
    patience: float | None = None


class UnavailableModel(Struct, frozen=True):
    """A model that cannot be described, and why."""

    name: str
    detail: str


class ModelSummary(Struct, frozen=True):
    """A model in a list: what it is, and how it is doing."""

    name: str
    policy: str
    mode: Mode
    currency: str | None
    decisions: int
    outcomes: int
    success_rate: float | None
    total_reward: float
    last: Annotated[float | None, Meta(description="When it last decided or learned.")]


class SummaryList(Struct, frozen=True, omit_defaults=True):
    """All models, sorted by name; apart from them why some cannot be used, by name."""

    models: list[ModelSummary]
    unavailable: list[UnavailableModel] = []


class ModelCreated(ModelAnswer, frozen=True, kw_only=True):
    """A new model and its key, which is shown only in this answer."""

    key: str


class ModelList(Struct, frozen=True, omit_defaults=True):
    """All models, sorted by name; apart from them those that cannot be described, if any."""

    models: list[ModelAnswer]
    unavailable: list[UnavailableModel] = []


class FieldInfo(Struct, frozen=True, omit_defaults=True):
    """A field of the candidates or of the context, as the schema knows it.

    Of a number, ``low``, ``median`` and ``high`` are the quantiles 0.1, 0.5 and 0.9.
    """

    side: Literal["candidate", "context"]
    name: str
    kind: str
    text: Annotated[str, Meta(description="The same in words.")]
    low: float | None = None
    median: float | None = None
    high: float | None = None


class ColumnUsage(Struct, frozen=True):
    """Columns of the learner: how many it keeps and may keep, how often one was replaced."""

    used: int
    limit: int
    replaced: int


class SchemaAnswer(Struct, frozen=True):
    """How a model's records become rows: what was declared, and what was inferred since."""

    fields: Annotated[list[FieldInfo], Meta(description="Fields that were learned from.")]
    declared: dict[str, FieldKind]
    crossed: Annotated[
        list[tuple[str | None, str]], Meta(description="Pairs of fields; null is the constant.")
    ]
    not_crossed: Annotated[int, Meta(description="Pairs left out, as a row would be too long.")]
    idle: Annotated[
        list[str],
        Meta(description="Fields of the context that are crossed with none of the candidates'."),
    ]
    ignored: list[str]
    columns: ColumnUsage
    left_out: Annotated[
        list[tuple[str, str]],
        Meta(description="Side and name of fields not used, as there are too many; the latest."),
    ] = []


# numbers over time


class Totals(Struct, frozen=True):
    """Numbers of a model in each bucket of time.

    ``gave_up`` counts outcomes after which tries of the budget were left unused, ``declined`` those
    after which none were left, or the cascade had ended. ``reward`` is net of ``spent``.
    """

    decisions: list[int]
    empty: Annotated[list[int], Meta(description="Decisions to try nothing.")]
    short: Annotated[list[int], Meta(description="Sequences that left tries unused.")]
    outcomes: list[int]
    successes: list[int]
    gave_up: list[int]
    declined: list[int]
    reward: list[float]
    spent: list[float]


class CandidateSeries(Struct, frozen=True):
    """Numbers of a candidate in each bucket of time; ``expected`` sums the estimates of its tries.

    ``first`` counts the decisions that try it first: its share of the traffic.
    """

    name: str
    first: list[int]
    tried: list[int]
    succeeded: list[int]
    cost: list[float]
    expected: list[float]


class CalibrationBin(Struct, frozen=True):
    """Tries whose estimate was between ``low`` and ``high``: its mean, and how many succeeded."""

    low: float
    high: float
    tried: int
    estimated: float
    succeeded: float


class DriftMark(Struct, frozen=True):
    """When the success rate of a candidate changed, from what to what."""

    candidate: str
    at: float
    before: float
    since: float


class SeriesAnswer(Struct, frozen=True):
    """A model's numbers over time, in buckets of ``width`` seconds that begin at ``starts``.

    Buckets in which nothing happened are left out. Candidates beyond the first 64 are summed up as
    the one named ``(others)``.
    """

    model: str
    currency: str | None
    now: float
    width: float
    starts: list[float]
    totals: Totals
    candidates: list[CandidateSeries]
    calibration: list[CalibrationBin]
    marks: list[DriftMark]
    mode: Annotated[
        Mode, Meta(description="The model's mode now; in `shadow`, all this is of the baseline.")
    ] = "online"


# keys


class KeyInfo(Struct, frozen=True):
    """A key of a model, without the key itself."""

    id: str
    created: float
    expires: float | None = None


class KeyCreated(KeyInfo, frozen=True, kw_only=True):
    """A new key, which is shown only in this answer."""

    key: str


class KeyList(Struct, frozen=True):
    """The keys of a model."""

    keys: list[KeyInfo]


class EventInfo(Struct, frozen=True):
    """Who did what: a key that was created, replaced or revoked."""

    at: float
    who: str
    what: str
    model: str
    detail: str


class EventList(Struct, frozen=True):
    """Events, newest first."""

    events: list[EventInfo]


# decisions


class Candidate(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A candidate of a model with ``dim``: its id, its features and its prices."""

    id: CandidateId
    features: Annotated[list[float], Meta(max_length=MAX_DIMENSIONS)]
    cost: Annotated[Cost | None, Meta(description="Of a try, whether it succeeds or not.")] = None
    value: Annotated[
        Value | None, Meta(description="Of a success, beyond the reward of its position.")
    ] = None


class Packed(Struct, frozen=True, forbid_unknown_fields=True):
    """A matrix in row-major order, little-endian: base64 in JSON, binary in MessagePack."""

    data: bytes
    dtype: Literal["float32", "float64"] = "float64"


class DecisionRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A decision to make: ``candidates``, or ``ids`` with ``features``.

    Candidates are records or plain names; their fields ``cost`` and ``value`` are what a try costs
    and what a success is worth beyond the reward of its position. Those of a model with ``dim``
    have ``id`` and ``features``, and may have ``cost`` and ``value``.
    """

    id: Annotated[
        Id | None,
        Meta(description="Idempotency key; generated if neither this nor the header is given."),
    ] = None
    candidates: list[Record | CandidateId] | None = None
    ids: list[CandidateId] | None = None
    features: list[list[float]] | Packed | None = None
    budget: Annotated[
        Count | None, Meta(description="Maximum number of tries; default: the number of rewards.")
    ] = None
    rewards: Annotated[
        list[Value] | None,
        Meta(description="Reward of a success at try 1, 2, ...; default: 1 each."),
    ] = None
    losses: Annotated[
        list[Value] | None,
        Meta(description="Payoff of giving up after 0, 1, ... tries; default: 0 each."),
    ] = None
    patience: Annotated[
        Patience | None,
        Meta(
            description="Probability that a cascade goes on after a failure; default: the model's."
        ),
    ] = None
    costs: Annotated[list[Cost] | None, Meta(description="Cost of a try of each of `ids`.")] = None
    values: Annotated[
        list[Value] | None,
        Meta(description="What a success of each of `ids` is worth in addition."),
    ] = None
    ttl: Annotated[
        Seconds | None,
        Meta(description="Seconds until it expires; default: the model's."),
    ] = None
    baseline: Annotated[
        list[CandidateId] | None,
        Meta(description="The caller's own sequence, which shadow mode plays."),
    ] = None
    context: Annotated[
        Record | None, Meta(description="What all candidates of the round share.")
    ] = None


class Reason(Struct, frozen=True, gc=False):
    """What a field, or two together, adds to the log-odds of an estimate."""

    field: Annotated[str, Meta(description="Such as `brand=visa`.")]
    log_odds: float


class Choice(Struct, frozen=True, gc=False, omit_defaults=True):
    """One position of a sequence: the success probability without and with the bonus.

    Where candidates are records, ``reasons`` are what spoke for it (above 0) and against it, the
    strongest first. Where candidates have prices, ``cost`` is what the try is planned to cost,
    ``value`` what its success is worth beyond the reward of the position, and ``adds`` what the
    try adds to the expected value.
    """

    id: str
    position: int
    estimate: float | None
    optimistic: float | None
    reasons: list[Reason] = []
    cost: float | None = None
    value: float | None = None
    adds: float | None = None


OPTIMAL = 0.0  # a bound that answers leave out: msgspec omits the very object
LossBound = Annotated[
    float | None,
    Meta(description="Upper bound on how much more the best plan is worth; null: unknown."),
]


class Proposal(Struct, frozen=True, omit_defaults=True):
    """The sequence that the model would have played in shadow mode."""

    sequence: list[Choice]
    expected_value: float | None
    values: list[float | None]
    loss_bound: LossBound = OPTIMAL


class DecisionAnswer(Struct, frozen=True, omit_defaults=True):
    """The sequence to try, and the expected value of every length."""

    id: str
    model: str
    mode: Mode
    sequence: Annotated[list[Choice], Meta(description="Try these, in this order.")]
    expected_value: float | None
    values: Annotated[
        list[float | None], Meta(description="Expected value of each length 0, 1, ...")
    ]
    version: Annotated[int, Meta(description="Number of outcomes the model had learned from.")]
    created: float
    expires: float
    proposal: Proposal | None
    loss_bound: LossBound = OPTIMAL


# outcomes


class OutcomeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome of a decision: ``tried`` and ``succeeded``, or ``succeeded_id``."""

    tried: Annotated[
        Count | list[CandidateId] | None,
        Meta(description="How many candidates were tried, or their ids in order."),
    ] = None
    succeeded: bool | None = None
    succeeded_id: CandidateId | None = None
    attributable: Annotated[
        bool, Meta(description="False: no failure is the candidate's fault; none is learned.")
    ] = True
    not_attributable: Annotated[
        list[Position | CandidateId],
        Meta(
            description="Positions or ids whose failures are not the candidate's fault.",
            max_length=100,
        ),
    ] = []
    reason: Annotated[str, Meta(max_length=1000)] | None = None
    at: Time | None = None
    costs: Annotated[
        Annotated[list[Cost], Meta(max_length=MAX_TRIES)] | None,
        Meta(description="What each try really cost, as many as were tried; default: as planned."),
    ] = None


class BatchItem(OutcomeRequest, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An outcome with the id of its decision."""

    id: Id


class BatchRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Outcomes of several decisions."""

    outcomes: Annotated[list[BatchItem], Meta(max_length=10_000)]


class Observed(Struct, frozen=True, omit_defaults=True):
    """What a cascade reveals: how many were tried, and whether the last one succeeded.

    ``costs`` are what each try really cost, where that was reported.
    """

    tried: int
    succeeded: bool
    costs: list[float] | None = None


class OutcomeAnswer(Struct, frozen=True):
    """The outcome as recorded; ``why`` gives the reason if the model does not learn from it.

    ``reward`` is what was earned, net of ``spent``: what the tries cost. Where ``estimated``, a
    cost was neither reported nor given with its candidate, and both count what the model expected.
    """

    id: str
    outcome: Observed
    reward: float
    recorded: float
    learned: bool
    why: str | None
    attributable: bool
    not_attributable: list[int]
    reason: str | None
    at: float | None
    repeated: bool = False
    spent: float = 0.0
    estimated: bool = False


class BatchResult(Struct, frozen=True):
    """The result of one item: the status that a request of its own would have had."""

    id: str
    status: int
    outcome: OutcomeAnswer | None = None
    detail: str | None = None


class BatchAnswer(Struct, frozen=True):
    """One result per item, in the order of the request."""

    results: list[BatchResult]


# decisions, read later


class Event(Struct, frozen=True):
    """An event in the history of a decision."""

    seq: int
    at: float
    event: Literal["decided", "outcome", "expired"]
    detail: str


class DecisionRead(DecisionAnswer, frozen=True, kw_only=True):
    """A decision with its explanation, its outcome and its history."""

    rewards: list[float]
    losses: list[float]
    status: Status
    explanation: str
    outcome: Observed | None
    outcome_record: OutcomeAnswer | None
    history: list[Event]
    context: dict[str, Any] | None
    patience: float
    result: Result = "pending"
    stopped: Annotated[str, Meta(description="Why the sequence ends where it does.")] = ""


class DecisionSummary(Struct, frozen=True):
    """A decision in a list."""

    id: str
    created: float
    expires: float
    sequence: list[str]
    expected_value: float | None
    status: Status
    outcome: Observed | None
    result: Annotated[
        Result,
        Meta(description="`gave_up`: tries of the budget were left; `declined`: none were."),
    ] = "pending"
    reward: Annotated[float | None, Meta(description="What it earned, net of `spent`.")] = None
    spent: float | None = None
    proposal: Annotated[
        list[str] | None, Meta(description="What the model would have played in shadow mode.")
    ] = None


class DecisionList(Struct, frozen=True):
    """Decisions, newest first; ``next`` is the cursor of the next page.

    Where decisions are filtered a page may hold fewer than were asked for, and still have a next.
    """

    decisions: list[DecisionSummary]
    next: str | None


class Dropped(Struct, frozen=True):
    """Number of decisions that were dropped."""

    dropped: int


class Health(Struct, frozen=True, omit_defaults=True):
    """Whether the service is alive, or ready; and why models cannot be used, by name."""

    status: str
    suspended: dict[str, str] = {}


def declared_kinds(schema: Schema) -> dict[str, FieldKind]:
    """Return the kinds that a schema declares."""
    return {
        name: FieldKind(kind.name, kind == Number(log=True)) for name, kind in schema.fields.items()
    }
