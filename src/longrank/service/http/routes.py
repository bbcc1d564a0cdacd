"""The table of endpoints.

One entry of :class:`Endpoints` is one endpoint: its method and path, its handler, who may call it,
the types of its request and its answer, and what it is for. The router, the OpenAPI document and
the clients' methods are all derived from it. (The page and the document itself are ``PAGES``: they
are served, but are no part of the API.) An entry is written as the client's method: the
signature is what a caller passes, the first arguments fill the path, and the result is the body of
the request (None: there is none).
"""
# ruff: noqa: ARG002 - the arguments that fill a path are used by the table, not by the function

from __future__ import annotations

import re
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, wraps
from inspect import Parameter, Signature, signature
from types import NoneType
from typing import (
    Annotated,
    Any,
    Concatenate,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeVar,
    get_type_hints,
    overload,
)
from urllib.parse import quote, urlencode

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike

from longrank import checks
from longrank.errors import InvalidInput
from longrank.policies.base import Candidates
from longrank.schema import Schema as RecordSchema
from longrank.schema import as_records, infer
from longrank.service import messages
from longrank.service.validation_errors import explain

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Scope = Literal["admin", "model", "open"]

FIELD = re.compile(r"{(\w+)}")
JSON = "application/json"
HTML = "text/html; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
EXPORTS = {"jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet"}
Cursor = Annotated[str, Meta(pattern="^[0-9]{1,18}$")]
Limit = Annotated[int, Meta(ge=1, le=500)]
Text = Annotated[str, Meta(min_length=1, max_length=messages.MAX_ID)]
Period = Annotated[int, Meta(ge=1, le=messages.MAX_SECONDS)]
Grace = Annotated[int, Meta(ge=0, le=messages.MAX_SECONDS)]
FileName = Annotated[str, Meta(pattern=r"^[a-z]+\.(js|css)$")]


class Call(NamedTuple, Generic[T_co]):
    """A call of an endpoint by a client: the request, and the route that knows the answer."""

    route: Route[..., T_co]
    target: str
    body: bytes | None


class Sender(Protocol):
    """A client that waits for the answer."""

    def _send(self, call: Call[T]) -> T: ...


class AsyncSender(Protocol):
    """A client of an event loop."""

    def _send(self, call: Call[T]) -> Coroutine[Any, Any, T]: ...


@dataclass(frozen=True, eq=False)
class Route(Generic[P, T]):
    """One endpoint.

    ``name`` is its id in the OpenAPI document and in the metrics, ``handler`` is a function or
    ``file:function`` in this folder, ``answers`` are the types by status (None: no body), ``query``
    names the parameters of the client's method that go there, ``headers`` are types of further
    parameters, and the handler of one that may be ``large`` takes the request's load.
    """

    name: str
    method: str
    path: str
    handler: str | Callable[..., Awaitable[Any]]
    scope: Scope
    answers: dict[int, Any]
    request: Callable[Concatenate[Any, P], object]
    query: tuple[str, ...] = ()
    headers: dict[str, Any] = field(default_factory=dict)
    media: tuple[str, ...] = (JSON,)
    large: bool = False

    @cached_property
    def statuses(self) -> dict[type, int]:
        """The status of each type of answer."""
        return {kind or NoneType: status for status, kind in self.answers.items()}

    @cached_property
    def signature(self) -> Signature:
        """What the client's method takes."""
        return signature(self.request)

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The types of what the client's method takes, and of the body that it makes."""
        return get_type_hints(self.request, include_extras=True)

    @cached_property
    def takes(self) -> Any:
        """The type of the body, None if there is none."""
        kind = self.hints["return"]
        return None if kind is NoneType else kind

    @cached_property
    def parameters(self) -> type[msgspec.Struct]:
        """What a request has beside its body: values in its path, its query and its headers."""
        given = list(self.signature.parameters.values())[1:]
        fields: list[Any] = [
            (name, self.hints[parameter.name])
            for name, parameter in zip(FIELD.findall(self.path), given, strict=False)
        ]
        for parameter in given:
            if parameter.name in self.query:
                default = () if parameter.default is Parameter.empty else (parameter.default,)
                fields.append((parameter.name, self.hints[parameter.name], *default))
        fields += [
            (name.lower().replace("-", "_"), kind | None, msgspec.field(default=None, name=name))
            for name, kind in self.headers.items()
        ]
        return msgspec.defstruct(f"{self.name.title()}Parameters", fields)

    @cached_property
    def looks_up(self) -> bool:
        """Whether it is about a model that exists."""
        return "{name}" in self.path and self.name not in ("createModel", "deleteModel")

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return (self.request.__doc__ or "").partition("\n")[0]

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[T]:
        """Turn a client's arguments into a request."""
        bound = self.signature.bind(None, *args, **kwargs)
        bound.apply_defaults()
        values = iter(list(bound.arguments.values())[1:])
        target = FIELD.sub(lambda _: quote(next(values), safe=""), self.path)
        given = {name: bound.arguments[name] for name in self.query}
        query = urlencode({name: value for name, value in given.items() if value is not None})
        body = self.request(None, *args, **kwargs)
        try:
            packed = None if body is None else _ENCODER.encode(body)
        except OverflowError:
            rule = "hold whole numbers of at most 64 bits (or floats)"
            raise InvalidInput("candidates, context", rule, "a larger one") from None
        return Call(self, f"{target}?{query}" if query else target, packed)


class Method(Generic[P, T]):
    """A client's method that calls an endpoint; as an attribute of the class it is the route."""

    def __init__(self, route: Route[P, T]) -> None:
        self.route = route

    @overload
    def __get__(self, client: None, owner: type) -> Route[P, T]: ...
    @overload
    def __get__(self, client: Sender, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self.route

        @wraps(self.route.request.__get__(client))
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client._send(self.route.call(*args, **kwargs))

        return method


_Request = Callable[Concatenate[Any, P], object]


def endpoint(
    name: str,
    method: str,
    path: str,
    handler: str,
    scope: Scope,
    answer: type[T],
    *,
    status: int = 200,
    more: dict[int, type] | None = None,
    **settings: Any,
) -> Callable[[_Request[P]], Method[P, T]]:
    """Declare an endpoint by the client's method; ``more`` are its answers with another status."""
    answers = {status: None if answer is type(None) else answer, **(more or {})}

    def make(request: _Request[P]) -> Method[P, T]:
        return Method(Route(name, method, path, handler, scope, answers, request, **settings))

    return make


class Endpoints:
    """Every endpoint, as the method of a client that calls it."""

    @endpoint("decide", "POST", "/v1/models/{name}/decisions", "decisions:decide", "model",
              messages.DecisionAnswer, status=201,
              headers={"Idempotency-Key": messages.Id}, large=True)  # fmt: skip
    def decide(
        self,
        model: messages.Name,
        ids: Sequence[str] | None = None,
        features: ArrayLike | None = None,
        *,
        candidates: Candidates = None,
        context: Mapping[str, Any] | None = None,
        id: str | None = None,
        budget: int | None = None,
        rewards: ArrayLike | None = None,
        losses: ArrayLike | None = None,
        patience: float | None = None,
        costs: ArrayLike | None = None,
        values: ArrayLike | None = None,
        ttl: float | None = None,
        baseline: Sequence[str] | None = None,
    ) -> messages.DecisionRequest:
        """Rank candidates and log the decision.

        ``candidates`` are records: dictionaries, plain names, or a frame with named columns; their
        fields ``cost`` and ``value`` are what a try costs and what a success is worth. For a
        model with ``dim`` pass ``ids`` and ``features`` instead, and ``costs`` and ``values`` if
        they have such. An id is generated if none is given, so that a retry cannot decide twice.
        """
        return messages.DecisionRequest(
            id=id or uuid.uuid4().hex,
            candidates=None if candidates is None else _records(candidates),
            context=None if context is None else _sendable(context, "context"),
            ids=None if ids is None else list(ids),
            features=None if features is None else _packed(features),
            budget=budget,
            rewards=_listed(rewards),
            losses=_listed(losses),
            patience=patience,
            costs=_listed(costs),
            values=_listed(values),
            ttl=ttl,
            baseline=None if baseline is None else list(baseline),
        )

    @endpoint("settle", "PUT", "/v1/models/{name}/decisions/{id}/outcome", "decisions:settle",
              "model", messages.OutcomeAnswer)  # fmt: skip
    def settle(
        self, /, model: messages.Name, decision: messages.Id, **outcome: Any
    ) -> messages.OutcomeRequest:
        """Record the outcome of a decision.

        Pass ``tried`` and ``succeeded``, or ``succeeded_id``, and ``costs`` where the tries cost
        something else than was planned; the further fields are those of
        :class:`~longrank.service.messages.OutcomeRequest`.
        """
        return messages.OutcomeRequest(**outcome)

    @endpoint("settleMany", "POST", "/v1/models/{name}/outcomes", "decisions:settle_many", "model",
              messages.BatchAnswer)  # fmt: skip
    def settle_many(
        self, model: messages.Name, outcomes: Sequence[dict[str, Any]]
    ) -> messages.BatchRequest:
        """Record the outcomes of several decisions.

        Each is a dictionary with the decision's ``id`` and what :meth:`settle` takes. They are
        learned in the order of their decisions.
        """
        return messages.BatchRequest(
            [msgspec.convert(each, messages.BatchItem) for each in outcomes]
        )

    @endpoint("read", "GET", "/v1/models/{name}/decisions/{id}", "decisions:read", "model",
              messages.DecisionRead)  # fmt: skip
    def read(self, model: messages.Name, decision: messages.Id) -> None:
        """Read a decision with its explanation, outcome and history."""

    @endpoint("list", "GET", "/v1/models/{name}/decisions", "decisions:latest", "model",
              messages.DecisionList,
              query=("cursor", "limit", "candidate", "result", "search"))  # fmt: skip
    def latest(
        self,
        model: messages.Name,
        cursor: Cursor | None = None,
        limit: Limit = 50,
        candidate: Text | None = None,
        result: messages.Result | None = None,
        search: Text | None = None,
    ) -> None:
        """List decisions, newest first.

        For the next page pass ``next`` of this one as the cursor. Only those that have the
        ``candidate`` in their sequence, this ``result``, or ``search`` in their id, if given.
        """

    @endpoint("drop", "DELETE", "/v1/models/{name}/decisions", "decisions:drop", "admin",
              messages.Dropped, query=("older_than",))  # fmt: skip
    def drop(self, model: messages.Name, older_than: Period) -> None:
        """Drop expired decisions older than this many seconds."""

    @endpoint("export", "GET", "/v1/models/{name}/export", "decisions:export", "model", bytes,
              query=("format",), media=tuple(EXPORTS.values()), large=True)  # fmt: skip
    def export(self, model: messages.Name, format: messages.ExportFormat = "jsonl") -> None:
        """Export all decisions and their outcomes as JSON Lines or Parquet."""

    @endpoint("createModel", "PUT", "/v1/models/{name}", "models:create_model", "admin",
              messages.ModelAnswer, more={201: messages.ModelCreated})  # fmt: skip
    def create_model(self, /, name: messages.Name, **settings: Any) -> messages.ModelRequest:
        """Create a model, or change the mode and terms of an existing one.

        Pass the fields of :class:`~longrank.service.messages.ModelRequest`: ``policy``, ``schema``,
        ``dim`` (for arrays), ... The answer is a ``ModelCreated`` with the model's ``key`` if the
        model is new. Of a :class:`~longrank.Schema` the declaration is sent.
        """
        if isinstance(settings.get("schema"), RecordSchema):
            settings["schema"] = _declaration(settings["schema"])
        try:
            return msgspec.convert(settings, messages.ModelRequest)
        except msgspec.ValidationError as error:
            raise explain(error, settings, messages.ModelRequest) from None

    @endpoint("readModel", "GET", "/v1/models/{name}", "models:read_model", "model",
              messages.ModelAnswer)  # fmt: skip
    def model(self, name: messages.Name) -> None:
        """Read a model's settings and statistics."""

    @endpoint("readSchema", "GET", "/v1/models/{name}/schema", "models:read_schema", "model",
              messages.SchemaAnswer)  # fmt: skip
    def schema(self, name: messages.Name) -> None:
        """Read how a model's records become rows: fields, kinds, crosses, columns."""

    @endpoint("readSeries", "GET", "/v1/models/{name}/series", "models:read_series", "model",
              messages.SeriesAnswer, query=("seconds",))  # fmt: skip
    def series(self, name: messages.Name, seconds: Period | None = None) -> None:
        """Read a model's numbers over time.

        Those of the last ``seconds``, or all: of the model, of each candidate, how well estimates
        agree with what happened, and when a candidate's success changed.
        """

    @endpoint("deleteModel", "DELETE", "/v1/models/{name}", "models:delete_model", "admin",
              NoneType, status=204)  # fmt: skip
    def delete_model(self, name: messages.Name) -> None:
        """Delete a model and its log."""

    @endpoint("listModels", "GET", "/v1/models", "models:list_models", "admin", messages.ModelList)
    def models(self) -> None:
        """List all models, and apart from them those that cannot be described."""

    @endpoint("listSummaries", "GET", "/v1/summaries", "models:list_summaries", "admin",
              messages.SummaryList)  # fmt: skip
    def summaries(self) -> None:
        """List all models in short: a quick overview of many."""

    @endpoint("createKey", "POST", "/v1/models/{name}/keys", "models:create_key", "admin",
              messages.KeyCreated, status=201,
              query=("ttl", "replaces", "grace"))  # fmt: skip
    def create_key(
        self,
        model: messages.Name,
        ttl: Period | None = None,
        replaces: messages.Id | None = None,
        grace: Grace = 3600,
    ) -> None:
        """Create another key of a model.

        It expires after ``ttl`` seconds, if that is given. The key with the id ``replaces`` expires
        ``grace`` seconds from now.
        """

    @endpoint("listKeys", "GET", "/v1/models/{name}/keys", "models:list_keys", "admin",
              messages.KeyList)  # fmt: skip
    def list_keys(self, model: messages.Name) -> None:
        """List the ids of a model's keys."""

    @endpoint("deleteKey", "DELETE", "/v1/models/{name}/keys/{id}", "models:delete_key", "admin",
              NoneType, status=204)  # fmt: skip
    def delete_key(self, model: messages.Name, key: messages.Id) -> None:
        """Delete a key by its id."""

    @endpoint("listEvents", "GET", "/v1/events", "models:list_events", "admin",
              messages.EventList, query=("limit",))  # fmt: skip
    def events(self, limit: Limit = 50) -> None:
        """List who created, replaced and revoked keys, newest first."""

    @endpoint("health", "GET", "/healthz", "status:health", "open", messages.Health)
    def health(self) -> None:
        """Tell whether the service is alive."""

    @endpoint("ready", "GET", "/readyz", "status:ready", "open", messages.Health)
    def ready(self) -> None:
        """Tell whether the service is ready."""

    @endpoint("metrics", "GET", "/metrics", "status:metrics", "open", bytes, media=(PROMETHEUS,))
    def metrics(self) -> None:
        """Read the metrics in the Prometheus format."""


def _packed(features: ArrayLike) -> messages.Packed:
    items = checks.floats("features", features, 2)
    kind: Any = "float32" if items.dtype == np.float32 else "float64"
    return messages.Packed(items.astype(f"<f{items.dtype.itemsize}", copy=False).tobytes(), kind)


def _records(candidates: Candidates) -> list[dict[str, Any] | str]:
    records = as_records(candidates)
    if records is None:
        rule = "be a list of dictionaries or names, or a frame with named columns"
        raise InvalidInput("candidates", rule, type(candidates).__name__)
    return [_sendable(record, f"candidate {i}") for i, record in enumerate(records)]


def _sendable(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a record, unless it has a value that a policy would refuse, such as a date.

    MessagePack has types for some of them, and the service would read them as text.
    """
    if not _PLAIN.issuperset(map(type, record.values())):
        for name, value in record.items():
            infer(value, f"{where}, field {name!r}")
    return dict(record)


def _declaration(schema: RecordSchema) -> dict[str, Any]:
    fields = {
        name: msgspec.to_builtins(kind) for name, kind in messages.declared_kinds(schema).items()
    }
    return {"fields": fields, "cross": schema.cross, "ignore": sorted(schema.ignore)}


def _plain(value: Any) -> Any:
    """Return a value of a record as MessagePack can have it, where that has no type for it."""
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' for missing
        return None
    raise InvalidInput("candidates, context", "hold text, numbers, booleans and lists", repr(value))


_PLAIN = frozenset({str, float, int, bool, NoneType})
_ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain, decimal_format="number")


def _listed(values: ArrayLike | None) -> list[float] | None:
    return None if values is None else np.asarray(values, np.float64).tolist()


def _page(self: object) -> None:
    """Read a page of the service."""


def _file(self: object, file: FileName) -> None:
    """Read a file of the page."""


ROUTES: tuple[Route[..., Any], ...] = tuple(
    method.route for method in vars(Endpoints).values() if isinstance(method, Method)
)
PAGES: tuple[Route[..., Any], ...] = tuple(
    Route(name, "GET", path, handler, "open", {200: bytes}, request, media=(media,))
    for name, path, handler, request, media in (
        ("page", "/", "status:page", _page, HTML),
        ("page", "/static/{file}", "status:static", _file, "text/javascript; charset=utf-8"),
        ("openapi", "/openapi.json", "status:openapi", _page, JSON),
        ("docs", "/docs", "docs:page", _page, HTML),
    )
)
