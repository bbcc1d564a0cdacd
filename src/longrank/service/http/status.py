"""The service's own status: health, readiness, metrics, and the page."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from importlib.resources import files

from prometheus_client import generate_latest
from starlette.concurrency import run_in_threadpool

from longrank.service import messages
from longrank.service.engine.engine import Engine
from longrank.service.errors import NotReady, ServiceError
from longrank.service.http.openapi import document
from longrank.service.http.problems import Refused
from longrank.service.http.service import Reply, Service
from longrank.service.upkeep import Upkeep

PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
MEDIA = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
FRESH = 1.0  # seconds for which a successful write counts
PATIENCE = 2.0  # seconds within which a write must succeed
STALLED = 10.0  # seconds within which upkeep must have run


class Readiness:
    """Ready: the log is replayed, kernels are warm, the store takes writes, and upkeep goes on.

    ``warm`` is set when everything is loaded, ``failed`` if the service could not start.
    """

    def __init__(
        self, engine: Engine, upkeep: Upkeep, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._engine, self._upkeep, self._clock = engine, upkeep, clock
        self.warm, self.failed = False, False
        self._written = -FRESH  # time of the last successful write
        self._writing: asyncio.Future[None] | None = None

    async def check(self) -> None:
        """Refuse with NotReady, and the reason."""
        engine = self._engine
        trouble = engine.trouble
        if trouble is not None:
            raise NotReady(trouble)
        if self.failed:
            raise NotReady("the service could not start; see its log")
        if not engine.ready:
            raise NotReady("the log is being replayed")
        if not self.warm:
            raise NotReady("the kernels are being loaded or compiled")
        since = self._clock() - self._upkeep.finished
        if since > STALLED:
            raise NotReady(f"upkeep has not been round for {since:.0f} seconds; see the log")
        if self._clock() - self._written > FRESH:
            await self._write()

    async def _write(self) -> None:
        """Write to the store, once for all concurrent callers, and wait briefly."""
        if self._writing is None:
            loop = asyncio.get_running_loop()
            self._writing = loop.create_future()
            self._writing.add_done_callback(self._done)
            arguments = (loop, self._writing)
            threading.Thread(target=self._probe, args=arguments, daemon=True).start()
        try:
            await asyncio.wait_for(asyncio.shield(self._writing), PATIENCE)
        except TimeoutError:
            raise NotReady(f"the store has not taken a write for {PATIENCE:g} seconds") from None
        except ServiceError as error:
            raise NotReady(str(error)) from None

    def _done(self, writing: asyncio.Future[None]) -> None:
        self._writing = None
        if writing.exception() is None:  # retrieved even if no caller is left
            self._written = self._clock()

    def _probe(self, loop: asyncio.AbstractEventLoop, writing: asyncio.Future[None]) -> None:
        try:
            self._engine.store.probe()
            deliver = partial(writing.set_result, None)
        except Exception as error:
            deliver = partial(writing.set_exception, error)
        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(deliver)


async def health(service: Service) -> messages.Health:  # noqa: ARG001
    return messages.Health("alive")


async def ready(service: Service) -> messages.Health:
    await service.readiness.check()
    return messages.Health("ready", service.engine.suspended)


async def metrics(service: Service) -> bytes:
    return await run_in_threadpool(generate_latest, service.metrics.registry)


async def page(service: Service) -> Reply:  # noqa: ARG001
    return static_file("index.html")


async def static(service: Service, file: str) -> Reply:  # noqa: ARG001
    return static_file(file)


@cache
def static_file(name: str, package: str = __package__) -> Reply:
    """Return a file of a page of a package; refuse with 404 if there is none."""
    folder = files(package) / "static"
    media = MEDIA.get(name.rpartition(".")[2])
    if media is None or name not in {file.name for file in folder.iterdir()}:
        raise Refused(404, "there is nothing at this path")
    return Reply((folder / name).read_bytes(), PAGE_HEADERS | {"Content-Type": media})


async def openapi(service: Service) -> Reply:  # noqa: ARG001
    return Reply(document(), PAGE_HEADERS)
