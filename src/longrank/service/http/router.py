"""The router: from the path and the method of a request to its endpoint and handler."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from longrank.service.engine.engine import Engine
from longrank.service.engine.keys import Keys
from longrank.service.http.limits import Limits
from longrank.service.http.origins import Origins
from longrank.service.http.pace import Pace
from longrank.service.http.problems import Refused
from longrank.service.http.readiness import Readiness
from longrank.service.http.routes import FIELD, PAGES, ROUTES, Route
from longrank.service.http.workers import Workers

if TYPE_CHECKING:
    from longrank.service.http.status import Metrics

Handler = Callable[..., Awaitable[Any]]


@dataclass
class Service:
    """What handlers work on."""

    engine: Engine
    keys: Keys
    metrics: Metrics
    workers: Workers
    pace: Pace
    limits: Limits
    origins: Origins
    readiness: Readiness
    auth: bool = True
    metrics_key: str | None = None


class Reply(NamedTuple):
    """An answer that is not a message: bytes, or a file to close, with headers of their own."""

    body: bytes | IO[bytes]
    headers: dict[str, str]


class Endpoint(NamedTuple):
    """A route with the function that handles it, and the status of each type of answer.

    ``takes_lane`` and ``takes_size`` say what else the handler wants to know of the request.
    """

    route: Route[..., Any]
    handler: Handler
    statuses: dict[type, int]
    takes_lane: bool = False
    takes_size: bool = False


class Router:
    """Finds the endpoint of a request: a table of patterns and nothing else."""

    def __init__(self, routes: Iterable[Route[..., Any]] = (*ROUTES, *PAGES)) -> None:
        paths: dict[str, dict[str, Endpoint]] = {}
        for route in routes:
            pattern = "".join(
                f"(?P<{part}>[^/]+)" if i % 2 else re.escape(part)
                for i, part in enumerate(FIELD.split(route.path))
            )
            methods = paths.setdefault(pattern, {})
            methods[route.method] = endpoint(route)
            if route.method == "GET":
                methods["HEAD"] = methods["GET"]
        self._paths = [(re.compile(path), methods) for path, methods in paths.items()]

    def find(self, method: str, path: str) -> tuple[Endpoint, dict[str, str]]:
        """Return the endpoint and the values in the path; refuse with 404 or 405."""
        for pattern, methods in self._paths:
            found = pattern.fullmatch(path)
            if found is not None:
                if method not in methods:
                    allowed = {"Allow": ", ".join(methods)}
                    raise Refused(405, f"{method} is not allowed on this path", allowed)
                return methods[method], found.groupdict()
        raise Refused(404, "there is nothing at this path")


def endpoint(route: Route[..., Any]) -> Endpoint:
    """Import the handler that a route names."""
    file, _, function = route.handler.partition(":")
    handler: Handler = getattr(import_module(f"{__package__}.{file}"), function)
    statuses = {kind or type(None): status for status, kind in route.answers.items()}
    wanted = signature(handler).parameters
    return Endpoint(route, handler, statuses, "lane" in wanted, "size" in wanted)


class OneWrite(HttpToolsProtocol):
    """uvicorn's HTTP protocol, with one write per answer.

    uvicorn writes the head and the body separately. A write is a system call, a packet and a
    wake-up of the client: a good part of what a small answer costs.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._gathering = Gathering(transport, self.loop)
        super().connection_made(cast(asyncio.Transport, self._gathering))

    def on_response_complete(self) -> None:
        self._gathering.flush()
        super().on_response_complete()


class Gathering:
    """A transport that buffers writes, at most until the current turn of the event loop ends."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._kept: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Buffer data, to be written soon."""
        if not self._kept:
            self._loop.call_soon(self.flush)
        self._kept.append(data)

    def flush(self) -> None:
        """Write what is buffered."""
        kept, self._kept = self._kept, []
        if kept and not self._transport.is_closing():
            self._transport.write(b"".join(kept))

    def close(self) -> None:
        """Write what is buffered, then close."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)  # everything else is the transport's
