"""Handlers of models and their keys."""

from __future__ import annotations

import logging

from starlette.concurrency import run_in_threadpool

from longrank.errors import LongrankError
from longrank.service import messages
from longrank.service.errors import StoreFailed
from longrank.service.http.router import Service

log = logging.getLogger("longrank.service")


async def create_model(
    service: Service, name: str, body: messages.ModelRequest
) -> messages.ModelAnswer:
    def create() -> messages.ModelAnswer:
        model, new = service.engine.create(name, body)
        described = service.engine.describe(model)
        if not new:
            return described
        _, key = service.keys.make(model.number)
        values = {part: getattr(described, part) for part in described.__struct_fields__}
        return messages.ModelCreated(**values, key=key)

    return await run_in_threadpool(create)


async def read_model(service: Service, name: str) -> messages.ModelAnswer:
    model = service.engine.model(name)
    return await run_in_threadpool(service.engine.describe, model)


async def read_schema(service: Service, name: str) -> messages.SchemaAnswer:
    model = service.engine.model(name)
    return await run_in_threadpool(service.engine.schema, model)


async def delete_model(service: Service, name: str) -> None:
    await run_in_threadpool(service.engine.delete, name)
    await run_in_threadpool(service.keys.load)


async def list_models(service: Service) -> messages.ModelList:
    def describe() -> messages.ModelList:
        found, unavailable = [], []
        for model in service.engine.models():
            try:
                found.append(service.engine.describe(model))
            except StoreFailed:
                raise  # the store does not answer for the others either
            except Exception as error:
                log.exception("model %s cannot be described", model.name)
                reason = str(error) if isinstance(error, LongrankError) else "see the service's log"
                unavailable.append(messages.UnavailableModel(model.name, reason))
        return messages.ModelList(found, unavailable)

    return await run_in_threadpool(describe)


async def create_key(service: Service, name: str) -> messages.KeyCreated:
    model = service.engine.model(name)
    row, key = await run_in_threadpool(service.keys.make, model.number)
    return messages.KeyCreated(row.id, row.created, key)


async def list_keys(service: Service, name: str) -> messages.KeyList:
    model = service.engine.model(name)
    found = [messages.KeyInfo(row.id, row.created) for row in service.keys.of(model.number)]
    return messages.KeyList(found)


async def delete_key(service: Service, name: str, id: str) -> None:
    model = service.engine.model(name)
    await run_in_threadpool(service.keys.remove, model.number, id)
