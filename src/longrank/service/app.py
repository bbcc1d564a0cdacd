"""The application: a value built from a list of calls."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.routing import Router
from starlette.types import ASGIApp

from longrank.errors import LongrankError
from longrank.service import page
from longrank.service.calls import CALLS
from longrank.service.engine.engine import Engine
from longrank.service.engine.keys import Keys
from longrank.service.errors import ServiceError
from longrank.service.handlers.base import Service
from longrank.service.limits import Limits
from longrank.service.logs import Access
from longrank.service.metrics import Metrics
from longrank.service.paths import Paths
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
    async def lifespan(_: object) -> AsyncIterator[None]:
        starting = threading.Thread(target=begin, name="longrank-start", daemon=True)
        starting.start()
        yield
        starting.join()
        upkeep.stop()
        try:
            engine.close()
        except ServiceError as error:  # all that was acknowledged is in the log
            log.error("stopped without a last snapshot: %s", error)

    return Limits(
        Paths(service, [*CALLS, *page.calls()]),
        Router(lifespan=lifespan),
        metrics=service.metrics,
        keys=service.keys,
        access=access,
        most_bytes=most_bytes,
        most_inside=most_inside,
    )
