"""Every call of the API: what it takes, what it answers, who may make it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from longrank.errors import InvalidInput
from longrank.service import bodies, messages, metrics, problems
from longrank.service.engine import Engine
from longrank.service.export import parquet
from longrank.service.keys import ADMIN, Keys

_NAME, _ID = re.compile(messages.NAME), re.compile(messages.ID)
Handler = Callable[["Service", Request], Awaitable[Response]]


@dataclass
class Service:
    """What the calls work on."""

    engine: Engine
    keys: Keys
    metrics: metrics.Metrics
    auth: bool = True
    failure: Exception | None = None


@dataclass(frozen=True)
class Call:
    """One call: its route, its messages and who may make it (``admin``, ``model``, ``all``)."""

    name: str
    method: str
    path: str
    handler: Handler
    who: str
    summary: str
    answers: dict[int, type | None]
    takes: type | None = None
    query: dict[str, dict[str, Any]] = field(default_factory=dict)
    headers: dict[str, dict[str, Any]] = field(default_factory=dict)
    media: str = "application/json"


def name_of(request: Request) -> str:
    """The model's name in the path."""
    name: str = request.path_params["name"]
    if not _NAME.fullmatch(name):
        raise InvalidInput("name", f"match {messages.NAME}", repr(name[:80]))
    return name


def id_of(request: Request) -> str:
    """The decision's id in the path."""
    found: str = request.path_params["id"]
    if not _ID.fullmatch(found):
        raise InvalidInput("id", f"match {messages.ID}", repr(found[:80]))
    return found


async def decide(service: Service, request: Request) -> Response:
    asked = await bodies.read(request, messages.DecisionRequest)
    key = request.headers.get("idempotency-key")
    if key is not None:
        if not _ID.fullmatch(key):
            raise InvalidInput("Idempotency-Key", f"match {messages.ID}", repr(key[:80]))
        if asked.id is not None and asked.id != key:
            raise InvalidInput("Idempotency-Key", "be the id, where both are given", repr(key))
        asked = _with_id(asked, key)
    return bodies.answer(await service.engine.decided(name_of(request), asked), 201)


def _with_id(asked: messages.DecisionRequest, key: str) -> messages.DecisionRequest:
    values = {name: getattr(asked, name) for name in asked.__struct_fields__}
    return messages.DecisionRequest(**{**values, "id": key})


async def settle(service: Service, request: Request) -> Response:
    told = await bodies.read(request, messages.OutcomeRequest)
    answer = await service.engine.settled(name_of(request), id_of(request), told)
    return bodies.answer(answer)


async def settle_many(service: Service, request: Request) -> Response:
    told = await bodies.read(request, messages.BatchRequest)
    found = await service.engine.settled_many(name_of(request), told.outcomes)
    results = [
        messages.BatchResult(item.id, problems.status_of(result), detail=str(result))
        if isinstance(result, Exception)
        else messages.BatchResult(item.id, 200, result)
        for item, result in zip(told.outcomes, found, strict=True)
    ]
    return bodies.answer(messages.BatchAnswer(results))


async def read(service: Service, request: Request) -> Response:
    name, decision = name_of(request), id_of(request)
    return bodies.answer(await run_in_threadpool(service.engine.read, name, decision))


async def latest(service: Service, request: Request) -> Response:
    limit = _whole(request, "limit", 50, 500)
    cursor = request.query_params.get("cursor")
    name = name_of(request)
    return bodies.answer(await run_in_threadpool(service.engine.latest, name, cursor, limit))


async def drop(service: Service, request: Request) -> Response:
    older = _whole(request, "older_than", None, messages.MOST_SECONDS)
    dropped = await run_in_threadpool(service.engine.drop, name_of(request), float(older))
    return bodies.answer(messages.Dropped(dropped))


async def export(service: Service, request: Request) -> Response:
    name = name_of(request)
    data = await run_in_threadpool(parquet, service.engine, name)
    disposition = {"Content-Disposition": f'attachment; filename="{name}.parquet"'}
    return Response(data, 200, disposition, media_type="application/vnd.apache.parquet")


async def create_model(service: Service, request: Request) -> Response:
    name = name_of(request)
    asked = await bodies.read(request, messages.ModelRequest)

    def work() -> tuple[messages.Model, bool]:
        model, new = service.engine.create(name, asked)
        described = service.engine.describe(model)
        if not new:
            return described, False
        _, key = service.keys.make(model.number)
        values = {part: getattr(described, part) for part in described.__struct_fields__}
        return messages.ModelCreated(**values, key=key), True

    described, new = await run_in_threadpool(work)
    return bodies.answer(described, 201 if new else 200)


async def read_model(service: Service, request: Request) -> Response:
    model = service.engine.model(name_of(request))
    return bodies.answer(await run_in_threadpool(service.engine.describe, model))


async def delete_model(service: Service, request: Request) -> Response:
    await run_in_threadpool(service.engine.delete, name_of(request))
    await run_in_threadpool(service.keys.load)
    return Response(status_code=204)


async def list_models(service: Service, request: Request) -> Response:  # noqa: ARG001
    def work() -> list[messages.Model]:
        return [service.engine.describe(model) for model in service.engine.models()]

    return bodies.answer(messages.ModelList(await run_in_threadpool(work)))


async def create_key(service: Service, request: Request) -> Response:
    model = service.engine.model(name_of(request))
    row, key = await run_in_threadpool(service.keys.make, model.number)
    return bodies.answer(messages.KeyCreated(row.id, row.created, key), 201)


async def list_keys(service: Service, request: Request) -> Response:
    model = service.engine.model(name_of(request))
    found = [messages.KeyInfo(row.id, row.created) for row in service.keys.of(model.number)]
    return bodies.answer(messages.KeyList(found))


async def delete_key(service: Service, request: Request) -> Response:
    model = service.engine.model(name_of(request))
    await run_in_threadpool(service.keys.remove, model.number, id_of(request))
    return Response(status_code=204)


async def health(service: Service, request: Request) -> Response:  # noqa: ARG001
    return bodies.answer(messages.Health("alive"))


async def ready(service: Service, request: Request) -> Response:
    engine = service.engine
    if engine.ready and engine.broken is None:
        return bodies.answer(messages.Health("ready"))
    detail = engine.broken or "the log is being replayed"
    return problems.response(503, detail, request_id=request.scope.get("request_id"))


async def show_metrics(service: Service, request: Request) -> Response:  # noqa: ARG001
    text = await run_in_threadpool(service.metrics.text)
    return Response(text, headers={"Content-Type": metrics.CONTENT_TYPE})


def _whole(request: Request, parameter: str, default: int | None, most: int) -> int:
    text = request.query_params.get(parameter)
    if text is None and default is not None:
        return default
    if text is None or not (text.isascii() and text.isdigit() and 0 < len(text) < 10):
        raise InvalidInput(parameter, "be a whole number", repr(text))
    if not 1 <= int(text) <= most:
        raise InvalidInput(parameter, f"be between 1 and {most}", int(text))
    return int(text)


_M, _D = "/v1/models/{name}", "/v1/models/{name}/decisions"
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 500, "default": 50}
_CURSOR = {"type": "string", "pattern": "^[0-9]{1,18}$"}
_OLDER = {"type": "integer", "minimum": 1, "maximum": messages.MOST_SECONDS}
_KEY = {"type": "string", "pattern": messages.ID}

CALLS = [
    Call("decide", "POST", _D, decide, "model", "Rank candidates and log the decision.",
         {201: messages.Decision}, messages.DecisionRequest, headers={"Idempotency-Key": _KEY}),
    Call("settle", "PUT", _D + "/{id}/outcome", settle, "model", "Tell what became of a decision.",
         {200: messages.OutcomeAnswer}, messages.OutcomeRequest),
    Call("settleMany", "POST", _M + "/outcomes", settle_many, "model",
         "Tell what became of many decisions.", {200: messages.BatchAnswer}, messages.BatchRequest),
    Call("read", "GET", _D + "/{id}", read, "model", "A decision, explained, with its history.",
         {200: messages.DecisionRead}),
    Call("list", "GET", _D, latest, "model", "Decisions, newest first.",
         {200: messages.DecisionList}, query={"cursor": _CURSOR, "limit": _LIMIT}),
    Call("drop", "DELETE", _D, drop, "admin", "Drop expired decisions older than some seconds.",
         {200: messages.Dropped}, query={"older_than": _OLDER}),
    Call("export", "GET", _M + "/export", export, "model", "All decisions as Parquet.",
         {200: None}, media="application/vnd.apache.parquet"),
    Call("createModel", "PUT", _M, create_model, "admin", "Make a model, or change its mode.",
         {201: messages.ModelCreated, 200: messages.Model}, messages.ModelRequest),
    Call("readModel", "GET", _M, read_model, "model", "A model and how it is doing.",
         {200: messages.Model}),
    Call("deleteModel", "DELETE", _M, delete_model, "admin", "Delete a model and its log.",
         {204: None}),
    Call("listModels", "GET", "/v1/models", list_models, "admin", "All models.",
         {200: messages.ModelList}),
    Call("createKey", "POST", _M + "/keys", create_key, "admin", "Make a further key.",
         {201: messages.KeyCreated}),
    Call("listKeys", "GET", _M + "/keys", list_keys, "admin", "The keys' ids.",
         {200: messages.KeyList}),
    Call("deleteKey", "DELETE", _M + "/keys/{id}", delete_key, "admin", "Delete a key.",
         {204: None}),
    Call("health", "GET", "/healthz", health, "all", "Whether it is alive.",
         {200: messages.Health}),
    Call("ready", "GET", "/readyz", ready, "all", "Whether it is ready.", {200: messages.Health}),
    Call("metrics", "GET", "/metrics", show_metrics, "all", "Prometheus metrics.", {200: None},
         media="text/plain"),
]  # fmt: skip


def allow(service: Service, call: Call, request: Request) -> None:
    """Refuse who may not: 401 without a good key, 403 with another's."""
    if call.who == "all" or not service.auth:
        return
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    owner = service.keys.owner(key.strip()) if scheme.lower() == "bearer" and key else None
    if owner is None:
        detail = "a key is needed: Authorization: Bearer KEY"
        raise problems.Refused(401, detail, {"WWW-Authenticate": "Bearer"})
    if owner == ADMIN:
        return
    if call.who == "admin" or service.engine.number(name_of(request)) != owner:
        raise problems.Refused(403, "this key does not open this")
