"""What a client asks: one function for each call, the same for the sync and the async client."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from longrank import checks
from longrank.service import messages

T = TypeVar("T")


class Ask(NamedTuple, Generic[T]):
    """A call: where to, with what, and what comes back (None: bytes)."""

    method: str
    path: str
    answer: type[T] | None
    body: bytes | None = None


def create_model(name: str, settings: dict[str, Any]) -> Ask[messages.Model]:
    request = msgspec.convert(settings, messages.ModelRequest)
    return Ask("PUT", _model(name), messages.Model, _packed(request))


def decide(
    name: str,
    ids: Sequence[str],
    features: ArrayLike,
    *,
    id: str | None = None,
    budget: int | None = None,
    rewards: ArrayLike | None = None,
    losses: ArrayLike | None = None,
    ttl: float | None = None,
    baseline: Sequence[str] | None = None,
) -> Ask[messages.Decision]:
    """The id is made here where none is given, so that a retry cannot decide twice."""
    items = checks.floats("features", features, 2)
    kind = "float32" if items.dtype == np.float32 else "float64"
    data = items.astype(f"<f{items.dtype.itemsize}", copy=False).tobytes()
    request = messages.DecisionRequest(
        id=id or uuid.uuid4().hex,
        ids=list(ids),
        features=messages.Packed(data, kind),  # type: ignore[arg-type]
        budget=budget,
        rewards=_listed(rewards),
        losses=_listed(losses),
        ttl=ttl,
        baseline=None if baseline is None else list(baseline),
    )
    return Ask("POST", f"{_model(name)}/decisions", messages.Decision, _packed(request))


def settle(
    name: str, decision: str, outcome: messages.OutcomeRequest
) -> Ask[messages.OutcomeAnswer]:
    path = f"{_model(name)}/decisions/{quote(decision, safe='')}/outcome"
    return Ask("PUT", path, messages.OutcomeAnswer, _packed(outcome))


def settle_many(name: str, outcomes: Sequence[dict[str, Any]]) -> Ask[messages.BatchAnswer]:
    request = messages.BatchRequest([msgspec.convert(one, messages.BatchItem) for one in outcomes])
    return Ask("POST", f"{_model(name)}/outcomes", messages.BatchAnswer, _packed(request))


def read(name: str, decision: str) -> Ask[messages.DecisionRead]:
    path = f"{_model(name)}/decisions/{quote(decision, safe='')}"
    return Ask("GET", path, messages.DecisionRead)


def latest(name: str, cursor: str | None, limit: int) -> Ask[messages.DecisionList]:
    more = f"&cursor={quote(cursor, safe='')}" if cursor else ""
    return Ask("GET", f"{_model(name)}/decisions?limit={limit}{more}", messages.DecisionList)


def model(name: str) -> Ask[messages.Model]:
    return Ask("GET", _model(name), messages.Model)


def models() -> Ask[messages.ModelList]:
    return Ask("GET", "/v1/models", messages.ModelList)


def delete_model(name: str) -> Ask[bytes]:
    return Ask("DELETE", _model(name), None)


def export(name: str) -> Ask[bytes]:
    return Ask("GET", f"{_model(name)}/export", None)


def _model(name: str) -> str:
    return f"/v1/models/{quote(name, safe='')}"


def _packed(message: Any) -> bytes:
    return msgspec.msgpack.encode(message)


def _listed(values: ArrayLike | None) -> list[float] | None:
    return None if values is None else np.asarray(values, np.float64).tolist()
