"""Handlers of the service's own status: health, readiness, metrics, and the page."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from prometheus_client import generate_latest
from starlette.concurrency import run_in_threadpool

from longrank.service import messages
from longrank.service.http.openapi import document
from longrank.service.http.problems import Refused
from longrank.service.http.service import Reply, Service

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
