"""The application: a value built from a list of calls."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from longrank.errors import LongrankError
from longrank.service import page, problems
from longrank.service.allow import allow
from longrank.service.calls import CALLS, Call
from longrank.service.engine import Engine
from longrank.service.errors import ServiceError
from longrank.service.handlers.base import Service
from longrank.service.keys import Keys
from longrank.service.limits import Limits
from longrank.service.logs import Access
from longrank.service.metrics import Metrics
from longrank.service.openapi import document
from longrank.service.upkeep import Upkeep

log = logging.getLogger("longrank.service")


def build(
    engine: Engine,
    *,
    admin: str | None = None,
    auth: bool = True,
    access: Access | None = None,
    most_bytes: int = 8 << 20,
    most_inside: int = 512,
    show_key: Callable[[str], None] = lambda key: None,  # noqa: ARG005
    failed: Callable[[Exception], None] = lambda error: None,  # noqa: ARG005
) -> ASGIApp:
    """The ASGI application over an engine that is not started yet.

    It replays the log while it already answers ``/healthz``; ``show_key`` gets an
    administrator's key that was made, ``failed`` the reason why it cannot start.
    """
    service = Service(engine, Keys(engine.store, admin, engine.clock), Metrics(engine), auth)
    upkeep = Upkeep(engine)

    def begin() -> None:
        try:
            service.keys.load()
            made = service.keys.make_admin() if auth else None
            if made is not None:
                show_key(made)
            if engine.store.worth_verifying():
                engine.store.verify()
            engine.start()
            upkeep.start()
            log.info("ready")
        except Exception as error:
            if isinstance(error, LongrankError):
                log.error("cannot start: %s", error)
            else:  # only what we say ourselves is known to quote nobody
                log.exception("cannot start")
            service.failed = True
            failed(error)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        starting = threading.Thread(target=begin, name="longrank-start", daemon=True)
        starting.start()
        yield
        starting.join()
        upkeep.stop()
        try:
            engine.close()
        except ServiceError as error:  # all that was acknowledged is in the log
            log.error("stopped without a last snapshot: %s", error)

    constant = Route("/openapi.json", _constant(document()), methods=["GET"])
    app = Starlette(
        routes=[*_routes(service), constant, *page.routes()],
        lifespan=lifespan,
        exception_handlers={HTTPException: _http_error, Exception: _unexpected},
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return Limits(
        app,
        metrics=service.metrics,
        keys=service.keys,
        access=access,
        most_bytes=most_bytes,
        most_inside=most_inside,
    )


class _Path:
    """All calls of one path, straight on ASGI: this is where the time of a request goes."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.calls: dict[str, Call] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        method = "GET" if request.method == "HEAD" else request.method
        call = self.calls[method]
        scope["call"] = call.name
        try:
            if call.who != "all":
                self.service.engine.check()
                allow(self.service, call, request)
            response = await call.handler(self.service, request)
        except (LongrankError, problems.Refused) as error:
            response = problems.answer(scope["request_id"], error)
        await response(scope, receive, send)


def _routes(service: Service) -> list[Route]:
    """One route for each path, so that another method gets a 405 that lists the right ones."""
    paths: dict[str, _Path] = {}
    for call in CALLS:
        paths.setdefault(call.path, _Path(service)).calls[call.method] = call
    return [Route(path, endpoint, methods=list(endpoint.calls)) for path, endpoint in paths.items()]


def _constant(data: bytes) -> Callable[[Request], object]:
    async def endpoint(request: Request) -> Response:  # noqa: ARG001
        return Response(data, media_type="application/json")

    return endpoint


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    request_id = request.scope.get("request_id")
    return problems.response(
        error.status_code, error.detail, request_id=request_id, headers=headers
    )


async def _unexpected(request: Request, error: Exception) -> Response:  # noqa: ARG001
    request_id = request.scope.get("request_id")
    detail = "an error of the service; see its log"
    close = {"Connection": "close"}  # as the server will, since the error goes on to its log
    return problems.response(500, detail, request_id=request_id, headers=close)
