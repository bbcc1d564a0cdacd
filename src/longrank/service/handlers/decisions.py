"""Decisions and their outcomes: made, told, read, dropped, exported."""

from __future__ import annotations

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from longrank.errors import InvalidInput
from longrank.service import bodies, messages, problems
from longrank.service.export import parquet
from longrank.service.handlers.base import Service, checked_id, header, id_of, name_of, whole


async def decide(service: Service, request: Request) -> Response:
    asked = await bodies.read(request, messages.DecisionRequest)
    key = header(request, b"idempotency-key", None)
    if key is not None:
        checked_id("Idempotency-Key", key)
        if asked.id is not None and asked.id != key:
            raise InvalidInput("Idempotency-Key", "be the id, where both are given", repr(key))
        asked = msgspec.structs.replace(asked, id=key)
    deciding = service.engine.aio.decide(name_of(request), asked)
    del asked  # a decision that waits for the disk needs it no more
    return bodies.answer(await deciding, 201)


async def settle(service: Service, request: Request) -> Response:
    told = await bodies.read(request, messages.OutcomeRequest)
    answer = await service.engine.aio.settle(name_of(request), id_of(request), told)
    return bodies.answer(answer)


async def settle_many(service: Service, request: Request) -> Response:
    told = await bodies.read(request, messages.BatchRequest)
    found = await service.engine.aio.settle_many(name_of(request), told.outcomes)
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
    limit = whole(request, "limit", 50, 500)
    cursor = request.query_params.get("cursor")
    name = name_of(request)
    return bodies.answer(await run_in_threadpool(service.engine.latest, name, cursor, limit))


async def drop(service: Service, request: Request) -> Response:
    older = whole(request, "older_than", None, messages.MOST_SECONDS)
    dropped = await run_in_threadpool(service.engine.drop, name_of(request), float(older))
    return bodies.answer(messages.Dropped(dropped))


async def export(service: Service, request: Request) -> Response:
    name = name_of(request)
    data = await run_in_threadpool(parquet, service.engine, name)
    disposition = {"Content-Disposition": f'attachment; filename="{name}.parquet"'}
    return Response(data, 200, disposition, media_type="application/vnd.apache.parquet")
