"""The application: the HTTP API over an engine, with its start and its stop."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.routing import Router
from starlette.types import ASGIApp

from longrank.errors import LongrankError
from longrank.service.engine.engine import Engine
from longrank.service.engine.keys import Keys
from longrank.service.errors import ServiceError, Stopped
from longrank.service.http.middleware import Access, Application
from longrank.service.http.router import Service
from longrank.service.http.status import Metrics
from longrank.service.upkeep import Upkeep

log = logging.getLogger("longrank.service")


def build(
    engine: Engine,
    *,
    admin: str | None = None,
    auth: bool = True,
    access: Access | None = None,
    max_bytes: int = 8 << 20,
    max_in_flight: int = 512,
    show_key: Callable[[str], None] = lambda key: None,  # noqa: ARG005
    failed: Callable[[Exception], None] = lambda error: None,  # noqa: ARG005
) -> ASGIApp:
    """Build the ASGI application over an engine that is not started yet.

    It answers ``/healthz`` while it replays the log. ``show_key`` is called with the
    administrator's key if one is generated, ``failed`` with the error if it cannot start.
    """
    service = Service(engine, Keys(engine.store, admin, engine.clock), Metrics(engine), auth)
    upkeep = Upkeep(engine, service.keys)

    def begin() -> None:
        try:
            service.keys.load()
            made = service.keys.make_admin() if auth else None
            if made is not None:
                show_key(made)
            if engine.store.worth_verifying():
                engine.store.verify(engine.stopping.is_set)
            engine.start()
            upkeep.start()
            log.info("ready: the log is replayed")
        except Stopped as error:
            log.info("%s", error)
        except Exception as error:
            if isinstance(error, LongrankError):
                log.error("cannot start: %s", error)
            else:  # the message of another library's error may quote a request
                log.exception("cannot start: unexpected error")
            service.failed = True
            failed(error)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        starting = threading.Thread(target=begin, name="longrank-start", daemon=True)
        starting.start()
        yield
        engine.stopping.set()
        starting.join()
        upkeep.stop()
        try:
            engine.close()
        except ServiceError as error:  # everything that was acknowledged is in the log
            log.error(
                "stopped without a last snapshot: %s; nothing is lost, the next start replays more",
                error,
            )

    return Application(
        service,
        Router(lifespan=lifespan),
        access=access,
        max_bytes=max_bytes,
        max_in_flight=max_in_flight,
    )
