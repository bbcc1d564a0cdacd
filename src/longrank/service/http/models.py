"""Handlers of models and their keys."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool

from longrank.service import messages
from longrank.service.http.router import Service


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
    def describe() -> list[messages.ModelAnswer]:
        return [service.engine.describe(model) for model in service.engine.models()]

    return messages.ModelList(await run_in_threadpool(describe))


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
