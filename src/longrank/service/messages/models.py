"""Models: how one is asked for, and how it is doing."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from longrank.service.messages.fields import MOST_DIMENSIONS, MOST_TRIES, Mode, Seconds


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
