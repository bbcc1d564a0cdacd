"""Models and their keys: made, read, listed, deleted."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from longrank.service import bodies, messages
from longrank.service.handlers.base import Service, id_of, name_of


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
