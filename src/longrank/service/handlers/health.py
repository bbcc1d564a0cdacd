"""How the service itself is: alive, ready, measured."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from longrank.service import bodies, messages, metrics, problems
from longrank.service.handlers.base import Service


async def health(service: Service, request: Request) -> Response:  # noqa: ARG001
    return bodies.answer(messages.Health("alive"))


async def ready(service: Service, request: Request) -> Response:
    engine = service.engine
    if engine.ready and engine.broken is None:
        return bodies.answer(messages.Health("ready"))
    waiting = "it could not start; see its log" if service.failed else "the log is being replayed"
    detail = engine.broken or waiting
    return problems.response(503, detail, request_id=request.scope.get("request_id"))


async def show_metrics(service: Service, request: Request) -> Response:  # noqa: ARG001
    text = await run_in_threadpool(service.metrics.text)
    return Response(text, headers={"Content-Type": metrics.CONTENT_TYPE})
