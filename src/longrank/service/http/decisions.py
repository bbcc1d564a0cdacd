"""Handlers of decisions and their outcomes."""

from __future__ import annotations

from functools import partial

import msgspec
from starlette.concurrency import run_in_threadpool

from longrank.errors import InvalidInput
from longrank.service import messages
from longrank.service.engine.views import Wanted
from longrank.service.export import spooled
from longrank.service.http.problems import status_of
from longrank.service.http.router import Reply, Service
from longrank.service.http.workers import Lane


async def decide(
    service: Service,
    name: str,
    lane: Lane,
    size: int,
    body: messages.DecisionRequest,
    idempotency_key: str | None = None,
) -> messages.DecisionAnswer:
    if idempotency_key is not None:
        if body.id is not None and body.id != idempotency_key:
            rule = "equal the id in the body if both are given"
            raise InvalidInput("Idempotency-Key", rule, repr(idempotency_key))
        body = msgspec.structs.replace(body, id=idempotency_key)
    model, pace = service.engine.model(name), service.pace
    shape = pace.shape(model, body, size)
    if pace.is_quick(model, shape):
        deciding = pace.quickly(shape, service.engine.aio.decide, name, body)
        del body  # a decision that waits for the disk does not need it any more
        return await deciding
    ranking = partial(pace.timed, shape, service.engine.aio.decide, name, body)
    del body
    pace.enter(model)
    try:
        deciding = await service.workers.run(lane, ranking)
    finally:
        pace.leave(model)
    del ranking
    return await deciding


async def settle(
    service: Service, name: str, id: str, body: messages.OutcomeRequest
) -> messages.OutcomeAnswer:
    return await service.engine.aio.settle(name, id, body)


async def settle_many(
    service: Service, name: str, body: messages.BatchRequest
) -> messages.BatchAnswer:
    found = await service.engine.aio.settle_many(name, body.outcomes)
    results = [
        messages.BatchResult(item.id, status_of(result), detail=str(result))
        if isinstance(result, Exception)
        else messages.BatchResult(item.id, 200, result)
        for item, result in zip(body.outcomes, found, strict=True)
    ]
    return messages.BatchAnswer(results)


async def read(service: Service, name: str, id: str) -> messages.DecisionRead:
    return await run_in_threadpool(service.engine.read, name, id)


async def latest(
    service: Service,
    name: str,
    cursor: str | None,
    limit: int,
    candidate: str | None,
    result: messages.Result | None,
    search: str | None,
) -> messages.DecisionList:
    wanted = Wanted(candidate, result, search)
    return await run_in_threadpool(service.engine.latest, name, cursor, limit, wanted)


async def drop(service: Service, name: str, older_than: int) -> messages.Dropped:
    return messages.Dropped(await run_in_threadpool(service.engine.drop, name, float(older_than)))


async def export(service: Service, name: str, lane: Lane) -> Reply:
    file = await service.workers.run(lane, partial(spooled, service.engine, name))
    return Reply(file, {"Content-Disposition": f'attachment; filename="{name}.parquet"'})
