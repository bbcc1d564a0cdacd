"""The application: the HTTP API over an engine, with its start and its stop."""

import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from starlette.routing import Router
from starlette.types import ASGIApp

from longrank.errors import LongrankError
from longrank.service.engine.engine import Engine
from longrank.service.engine.keys import Keys
from longrank.service.engine.warming import warm
from longrank.service.errors import ServiceError, Stopped
from longrank.service.http.access import LOOPBACK, Origins
from longrank.service.http.application import Application
from longrank.service.http.limits import Limits
from longrank.service.http.logs import Access
from longrank.service.http.metrics import Metrics
from longrank.service.http.routes import Route
from longrank.service.http.service import Service
from longrank.service.http.status import Readiness
from longrank.service.http.workers import Workers
from longrank.service.upkeep import Upkeep

log = logging.getLogger("longrank.service")


def build(
    engine: Engine,
    *,
    admin: str | None = None,
    auth: bool = True,
    hosts: Iterable[str] | None = None,
    metrics_key: str | None = None,
    access: Access | None = None,
    show_key: Callable[[str], None] = lambda key: None,  # noqa: ARG005
    failed: Callable[[Exception], None] = lambda error: None,  # noqa: ARG005
    more: Iterable[Route[..., Any]] = (),
    limit: Limits = Limits(),  # noqa: B008 - immutable
) -> ASGIApp:
    """Build the ASGI application over an engine that is not started yet.

    It answers ``/healthz`` while it replays the log. ``show_key`` is called with the
    administrator's key if one is generated, ``failed`` with the error if it cannot start. Where no
    key is needed, the header Host must name one of ``hosts`` (default: loopback without ``auth``,
    else any). With a ``metrics_key`` the metrics need it, or the administrator's. ``more`` routes
    are served beside those of the API.
    """
    keys = Keys(engine.store, admin, engine.clock)
    upkeep = Upkeep(engine, keys)
    service = Service(
        engine=engine,
        keys=keys,
        metrics=Metrics(engine, limit.max_metric_models),
        workers=Workers(limit.max_workers, limit.max_large),
        limits=limit,
        origins=Origins(LOOPBACK if hosts is None and not auth else hosts),
        readiness=Readiness(engine, upkeep),
        auth=auth,
        metrics_key=metrics_key,
    )

    def begin() -> None:
        try:
            service.keys.load()
            made = service.keys.make_admin() if auth else None
            if made is not None:
                show_key(made)
            if engine.store.worth_verifying():
                engine.store.verify(engine.stopping.is_set)
            log.info("starting: replaying the log since the last snapshots")
            engine.start()
            upkeep.start()
            warm(engine.models())
            service.readiness.warm = True
            log.info("ready: the log is replayed")
        except Stopped as error:
            log.info("%s", error)
        except Exception as error:
            if isinstance(error, LongrankError):
                log.error("cannot start: %s", error)
            else:  # another library's message may quote a request
                log.exception("cannot start: unexpected error")
            service.readiness.failed = True
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

    return Application(service, Router(lifespan=lifespan), access=access, more=more)
