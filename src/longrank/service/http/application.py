"""The path of a request: id, limits, route, key, parameters, body, handler, answer, metrics, log.

Every request takes it, and it is all in one place: there are no further layers around a handler.
"""

import hmac
import math
import os
import random
import re
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import IO, Any
from urllib.parse import parse_qsl

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from longrank.errors import LongrankError
from longrank.service.engine.keys import ADMIN, digest
from longrank.service.http import problems
from longrank.service.http.access import KeyLookup
from longrank.service.http.body import BodyReader, too_large
from longrank.service.http.limits import Limits
from longrank.service.http.logs import Access
from longrank.service.http.metrics import BUCKETS, Metrics
from longrank.service.http.problems import Refused
from longrank.service.http.routes import FIELD, PAGES, ROUTES, Route
from longrank.service.http.service import Load, Reply, Service
from longrank.service.http.workers import Turn
from longrank.service.validation_errors import explain

Headers = dict[bytes, bytes]
Content = bytes | IO[bytes] | None

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._:~/-]{0,300}")
CLOSED = 499  # logged if the client disconnected before the request was complete
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_PART = 1 << 20  # bytes of a file that are sent at once
_encode = msgspec.json.Encoder().encode


Handler = Callable[..., Awaitable[Any]]
Table = list[tuple[re.Pattern[str], dict[str, tuple[Route[..., Any], Handler]]]]


def endpoints(routes: Iterable[Route[..., Any]] = (*ROUTES, *PAGES)) -> Table:
    """Return the patterns of all paths, with routes and handlers by method; the last counts."""
    paths: dict[str, dict[str, tuple[Route[..., Any], Handler]]] = {}
    for route in routes:
        handler = route.handler
        if isinstance(handler, str):
            file, _, function = handler.partition(":")
            handler = getattr(import_module(f"{__package__}.{file}"), function)
        methods = paths.setdefault(route.path, {})
        methods[route.method] = route, handler
        if route.method == "GET":
            methods["HEAD"] = route, handler
    return [
        (re.compile(FIELD.sub(r"(?P<\1>[^/\\n]+)", path.replace(".", r"\."))), methods)
        for path, methods in paths.items()
    ]


def find(table: Table, method: str, path: str) -> tuple[Route[..., Any], Handler, dict[str, Any]]:
    """Return the route of a request, its handler, the values in its path; or 404 or 405."""
    for pattern, methods in table:
        if (match := pattern.fullmatch(path)) is not None:
            if method not in methods:
                allowed = {"Allow": ", ".join(methods)}
                raise Refused(405, f"{method} is not allowed on this path", allowed)
            return *methods[method], match.groupdict()
    raise Refused(404, "there is nothing at this path")


class Quota:
    """What each key uses now: requests in progress, and requests a second."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._in_flight: dict[bytes, int] = {}
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def enter(self, key: bytes) -> None:
        """Count a request of a key; refuse it with 429 if the key has too many."""
        limit, rate = self._limits.max_per_key, self._limits.max_rate
        in_flight = self._in_flight.get(key, 0)
        if in_flight >= limit:
            raise _too_many(f"this key has {limit} requests in progress, its limit", 1)
        if rate:
            self._take(key, rate)
        self._in_flight[key] = in_flight + 1

    def leave(self, key: bytes) -> None:
        """Count a request of a key as done."""
        left = self._in_flight[key] - 1
        if left:
            self._in_flight[key] = left
        else:
            del self._in_flight[key]

    def _take(self, key: bytes, rate: float) -> None:
        """Take a token out of the key's bucket, which holds those of one second."""
        now, size = self._clock(), max(1.0, rate)
        tokens, then = self._buckets.get(key, (size, now))
        tokens = min(size, tokens + (now - then) * rate)
        if tokens < 1.0:
            seconds = (1.0 - tokens) / rate
            raise _too_many(f"this key may make {rate:g} requests a second", seconds)
        self._buckets[key] = tokens - 1.0, now


def _too_many(detail: str, seconds: float) -> Refused:
    wait = str(max(1, math.ceil(seconds)))
    return Refused(429, f"{detail}; try again later", {"Retry-After": wait})


class Application:
    """The ASGI application.

    When more requests than ``max_queued`` are in flight, those to the API are refused with 503;
    ``access`` logs every request. ``more`` routes are served beside those of the API.
    """

    def __init__(
        self,
        service: Service,
        lifespan: ASGIApp,
        *,
        access: Access | None,
        more: Iterable[Route[..., Any]] = (),
    ) -> None:
        self._service, self._lifespan, self._access = service, lifespan, access
        routes = (*ROUTES, *PAGES, *more)
        self._table = endpoints(routes)
        self._limits, self._quota = service.limits, Quota(service.limits)
        self._in_flight = 0
        limits = service.limits
        self._bodies = BodyReader(limits.max_bytes, limits.max_buffered, service.workers)
        open_ones = {"metrics"} if service.auth else {route.name for route in routes}
        self._keyless = open_ones - {"health", "ready"}  # what a page could use or read
        self._others = not service.engine.store.exclusive  # processes write to the store as well
        self._lookup = KeyLookup(service.keys, not self._others)
        service.metrics.in_flight.set_function(lambda: self._in_flight)
        service.metrics.large.set_function(lambda: service.workers.waiting)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._lifespan(scope, receive, send)
            return
        started = time.perf_counter()
        headers: Headers = dict(reversed(scope["headers"]))  # the first of a name counts
        request_id = headers.get(b"x-request-id", b"")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = b"%016x" % random.getrandbits(64)
        call, status, metrics = "other", 500, self._service.metrics
        self._in_flight += 1
        try:
            try:
                self._check_limits(scope["path"], headers)
                route, handler, values = find(self._table, scope["method"], scope["path"])
                call = route.name
                answer = await self._handle(route, handler, values, scope, headers, receive)
                status, extra, content = _reply(route, answer)
            except (LongrankError, Refused) as error:
                status, extra, content = problems.report(error, request_id.decode())
                if status == 429:
                    metrics.limited.inc()
            except ClientDisconnect:  # the client is gone
                status = CLOSED
                return
            except Exception:
                close = {"Connection": "close"}  # as the server does when the error is raised again
                failed = Refused(500, "the service failed on this request; see its log", close)
                await _send(send, request_id, *problems.report(failed, request_id.decode()))
                raise  # to the server's log
            await _send(send, request_id, status, extra, content)
        finally:
            self._in_flight -= 1
            seconds = time.perf_counter() - started
            count(metrics, call, status, seconds)
            if self._access is not None:
                path = self._shown(scope["path"], status)
                self._access(scope["method"], path, status, seconds, request_id.decode())

    def _check_limits(self, path: str, headers: Headers) -> None:
        """Refuse a body that is too long (413), and a request when there are too many (503)."""
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > self._limits.max_bytes:
            raise too_large(self._limits.max_bytes)
        # slow bodies do not count against everyone, only against their key
        in_flight = self._in_flight - self._bodies.receiving
        if in_flight > self._limits.max_queued and path.startswith("/v1/"):
            self._service.metrics.shed.inc()
            raise Refused(503, "too many requests are in flight; try again later")

    async def _handle(
        self,
        route: Route[..., Any],
        handler: Handler,
        values: dict[str, Any],
        scope: Scope,
        headers: Headers,
        receive: Receive,
    ) -> Any:
        """Check the key and what it may use, read parameters and body, and call the handler."""
        service, key = self._service, b""
        if route.name in self._keyless:
            service.origins.check(scope["method"], headers)
        if route.name == "metrics" and service.metrics_key is not None:
            await self._check_metrics_key(headers)
        if route.scope != "open":
            if not service.engine.ready:
                service.engine.check()  # raises why; the engine's verbs check again
            if service.auth:
                key = await self._check_key(route, values.get("name", ""), headers)
                if (connection := scope.get("longrank.connection")) is not None:
                    connection.claim(key)
                self._quota.enter(key)
        try:
            arguments = _parameters(route, values, scope, headers)
            if self._others and route.looks_up and not service.engine.knows(arguments["name"]):
                # another process may have created it; raises if there is none
                await run_in_threadpool(service.engine.model, arguments["name"])
            load = Load(Turn(key, arguments.get("name", "")))
            if route.large:
                arguments["load"] = load
            if route.takes is None:
                return await handler(service, **arguments)
            # the body has no name here, so that a waiting handler can free it
            return await handler(
                service,
                **arguments,
                body=await self._bodies.read(route.takes, headers, receive, load),
            )
        finally:
            if key:
                self._quota.leave(key)

    async def _check_key(self, route: Route[..., Any], name: str, headers: Headers) -> bytes:
        """Refuse a request without a valid key (401) or with a key for something else (403).

        Return the digest of the key.
        """
        key, owner = self._service.keys.opened_by(_bearer(headers))
        if owner is None:
            owner = await self._lookup.owner(key)
        if owner is None:
            raise _no_key()
        if owner != ADMIN:
            if route.scope == "admin":
                raise Refused(403, "this endpoint needs the administrator's key")
            number, known = self._service.engine.number, self._service.engine.knows(name)
            if (number(name) if known else await run_in_threadpool(number, name)) != owner:
                raise Refused(403, "this key is for another model")
        return key

    async def _check_metrics_key(self, headers: Headers) -> None:
        """Refuse to show the metrics without their key or the administrator's."""
        key, expected = digest(_bearer(headers)), digest(self._service.metrics_key or "")
        if not hmac.compare_digest(key, expected) and await self._lookup.owner(key) != ADMIN:
            raise _no_key()

    def _shown(self, path: str, status: int) -> str:
        """Return a path for the log, without what is or may be a key."""
        if not _PLAIN_PATH.fullmatch(path):
            return "(path with unusual characters)"
        return path if status < 400 else self._service.keys.hide(path)  # what was served is no key


def count(metrics: Metrics, call: str, status: int, seconds: float) -> None:
    """Count a request; the methods of prometheus_client would take 3 % of a decision."""
    metrics.requests[call, status] += 1
    times = metrics.seconds[call]
    times[bisect_left(BUCKETS, seconds)] += 1
    times[-1] += seconds


def _bearer(headers: Headers) -> str:
    """Return the key of a request; refuse with 401 without one."""
    scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise _no_key()
    return key.strip()


def _no_key() -> Refused:
    detail = "a valid key is needed, in the header Authorization: Bearer KEY"
    return Refused(401, detail, {"WWW-Authenticate": "Bearer"})


def _parameters(
    route: Route[..., Any], values: dict[str, Any], scope: Scope, headers: Headers
) -> dict[str, Any]:
    """Return the parameters of a request, checked: from its path, its query and its headers."""
    if route.query:
        query = scope["query_string"].decode("latin-1")
        given = dict(parse_qsl(query, keep_blank_values=True))
        values |= {name: given[name] for name in route.query if name in given}
    for name in route.headers:
        if (value := headers.get(name.lower().encode())) is not None:
            values[name] = value.decode("latin-1")
    try:
        checked = msgspec.convert(values, route.parameters, strict=False)
    except msgspec.ValidationError as error:
        raise explain(error, values, route.parameters) from None
    return msgspec.structs.asdict(checked)


def _reply(route: Route[..., Any], answer: Any) -> tuple[int, dict[str, str], Content]:
    """Return the status, the headers and the body of what a handler answered."""
    if answer is None:
        return route.statuses[type(None)], {}, None
    headers = {"Content-Type": route.media[0]}
    if isinstance(answer, Reply):
        return 200, headers | answer.headers, answer.body
    return (
        route.statuses[type(answer)],
        headers,
        answer if isinstance(answer, bytes) else _encode(answer),
    )


async def _send(
    send: Send, request_id: bytes, status: int, headers: dict[str, str], content: Content
) -> None:
    head = [(name.lower().encode(), text.encode("latin-1")) for name, text in headers.items()]
    if content is not None:
        size = len(content) if isinstance(content, bytes) else os.fstat(content.fileno()).st_size
        head.append((b"content-length", b"%d" % size))
    head += (*_SAFE, (b"x-request-id", request_id))
    await send({"type": "http.response.start", "status": status, "headers": head})
    if content is not None and not isinstance(content, bytes):
        with content:
            while part := await run_in_threadpool(content.read, _PART):
                await send({"type": "http.response.body", "body": part, "more_body": True})
        content = None
    await send({"type": "http.response.body", "body": content or b""})
