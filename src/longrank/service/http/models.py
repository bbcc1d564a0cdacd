"""Handlers of models and their keys."""

import logging

import msgspec
from starlette.concurrency import run_in_threadpool

from longrank.errors import LongrankError
from longrank.service import messages
from longrank.service.errors import StoreFailed
from longrank.service.http.service import Service

log = logging.getLogger("longrank.service")


async def create_model(
    service: Service, name: str, body: messages.ModelRequest
) -> messages.ModelAnswer:
    def create() -> messages.ModelAnswer:
        model, new = service.engine.create(name, body)
        described = service.engine.describe(model)
        if not new:
            return described
        _, key = service.keys.make(model.number, name=name, who=_who(service))
        return messages.ModelCreated(**msgspec.structs.asdict(described), key=key)

    return await run_in_threadpool(create)


async def read_model(service: Service, name: str) -> messages.ModelAnswer:
    model = service.engine.model(name)
    return await run_in_threadpool(service.engine.describe, model)


async def read_schema(service: Service, name: str) -> messages.SchemaAnswer:
    model = service.engine.model(name)
    return await run_in_threadpool(service.engine.schema, model)


async def read_series(service: Service, name: str, seconds: int | None) -> messages.SeriesAnswer:
    model = service.engine.model(name)
    return await run_in_threadpool(service.engine.series, model, seconds)


async def list_summaries(service: Service) -> messages.SummaryList:
    return service.engine.summaries()


async def delete_model(service: Service, name: str) -> None:
    await run_in_threadpool(service.engine.delete, name)
    await run_in_threadpool(service.keys.load)


async def list_models(service: Service) -> messages.ModelList:
    def describe() -> messages.ModelList:
        described, unavailable = [], []
        for model in service.engine.models():
            try:
                described.append(service.engine.describe(model))
            except StoreFailed:
                raise  # the store would not answer for the others either
            except Exception as error:
                log.exception("model %s cannot be described", model.name)
                reason = str(error) if isinstance(error, LongrankError) else "see the service's log"
                unavailable.append(messages.UnavailableModel(model.name, reason))
        return messages.ModelList(described, unavailable)

    return await run_in_threadpool(describe)


async def create_key(
    service: Service, name: str, ttl: int | None, replaces: str | None, grace: int
) -> messages.KeyCreated:
    model, who = service.engine.model(name), _who(service)

    def create() -> messages.KeyCreated:
        if replaces is not None:
            service.keys.retire(model.number, replaces, grace, name=name, who=who)
        row, key = service.keys.make(model.number, name=name, ttl=ttl, who=who)
        return messages.KeyCreated(row.id, row.created, row.expires, key=key)

    return await run_in_threadpool(create)


async def list_keys(service: Service, name: str) -> messages.KeyList:
    model = service.engine.model(name)
    rows = service.keys.of(model.number)
    return messages.KeyList([messages.KeyInfo(row.id, row.created, row.expires) for row in rows])


async def delete_key(service: Service, name: str, id: str) -> None:
    model, who = service.engine.model(name), _who(service)
    await run_in_threadpool(service.keys.remove, model.number, id, name=name, who=who)


async def list_events(service: Service, limit: int) -> messages.EventList:
    events = await run_in_threadpool(service.engine.store.events, limit)
    return messages.EventList([messages.EventInfo(*event) for event in events])


def _who(service: Service) -> str:
    return "administrator" if service.auth else "anybody (--no-auth)"
