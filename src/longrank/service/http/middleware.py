"""The path of a request: id, limits, route, key, parameters, body, handler, answer, metrics, log.

Every request takes it, and it is all in one place: there are no further layers around a handler.
"""

from __future__ import annotations

import hmac
import logging
import os
import random
import re
import sys
import time
import traceback
from functools import partial
from typing import IO, Any, NamedTuple, TextIO
from urllib.parse import parse_qsl

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from longrank.errors import InvalidInput, LongrankError
from longrank.service.engine.keys import ADMIN, digest
from longrank.service.http import body, problems
from longrank.service.http.callers import Callers
from longrank.service.http.limits import Quota
from longrank.service.http.problems import Refused
from longrank.service.http.router import Endpoint, Reply, Router, Service
from longrank.service.http.routes import PAGES, PATH, ROUTES, Route, Schema
from longrank.service.http.workers import Lane

Headers = dict[bytes, bytes]
Body = bytes | IO[bytes] | None

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._:~/-]{0,300}")
CLOSED = 499  # status in logs and metrics of a request whose client went away while it sent it
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_PART = 1 << 20  # bytes of a file that are sent at once
_encode = msgspec.json.Encoder().encode


class Request(NamedTuple):
    """A request whose endpoint is found; ``values`` are those in its path."""

    endpoint: Endpoint
    values: dict[str, str]
    scope: Scope
    headers: Headers
    receive: Receive


class Application:
    """The ASGI application: the path of a request around a router.

    When more requests than ``max_in_flight`` are in flight, those to the API are refused with 503;
    ``access`` logs every request.
    """

    def __init__(self, service: Service, lifespan: ASGIApp, *, access: Access | None) -> None:
        self._service, self._lifespan, self._router = service, lifespan, Router()
        self._access, limits = access, service.limits
        self._max_bytes, self._max_in_flight = limits.max_bytes, limits.max_in_flight
        self._in_flight, self._quota = 0, Quota(limits)
        self._bodies = body.Reader(limits.max_bytes, limits.max_buffered)
        open_ones = {"metrics"} if service.auth else {route.name for route in (*ROUTES, *PAGES)}
        self._keyless = open_ones - {"health", "ready"}  # what a page could use or read
        self._callers = Callers(service.keys, service.engine.store.exclusive)
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
        call, status = "other", 500
        self._in_flight += 1
        try:
            try:
                self._check_limits(scope["path"], headers)
                endpoint, values = self._router.find(scope["method"], scope["path"])
                call = endpoint.route.name
                answer = await self._handle(Request(endpoint, values, scope, headers, receive))
                status, extra, content = _reply(endpoint, answer)
            except (LongrankError, Refused) as error:
                status, extra, content = problems.report(error, request_id.decode())
                if status == 429:
                    self._service.metrics.limited.inc()
            except ClientDisconnect:  # there is nobody to answer
                status = CLOSED
                return
            except Exception:
                close = {"Connection": "close"}  # as the server will, for the error goes on
                failed = Refused(500, "the service failed on this request; see its log", close)
                await _send(send, request_id, *problems.report(failed, request_id.decode()))
                raise  # to the server's log
            await _send(send, request_id, status, extra, content)
        finally:
            self._in_flight -= 1
            seconds = time.perf_counter() - started
            self._service.metrics.observe(call, status, seconds)
            if self._access is not None:
                path = self._shown(scope["path"], status)
                self._access(scope["method"], path, status, seconds, request_id.decode())

    def _check_limits(self, path: str, headers: Headers) -> None:
        """Refuse a body that is too long (413), and a request when there are too many (503)."""
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > self._max_bytes:
            raise body.too_large(self._max_bytes)
        # those that send a body slowly keep nobody else out; they count for their key
        in_flight = self._in_flight - self._bodies.receiving
        if in_flight > self._max_in_flight and path.startswith("/v1/"):
            self._service.metrics.shed.inc()
            raise Refused(503, "too many requests are in flight; try again later")

    async def _handle(self, request: Request) -> Any:
        """Check the key and what it may use, then call the handler."""
        route, service, headers = request.endpoint.route, self._service, request.headers
        if route.name in self._keyless:
            service.origins.check(request.scope["method"], headers)
        if route.name == "metrics" and service.metrics_key is not None:
            await self._check_metrics_key(headers)
        if route.scope != "open":
            if not service.engine.ready:
                service.engine.check()  # refuses; the engine's verbs check for anything else
            if service.auth:
                key = await self._check_key(route, request.values, headers)
                connection = request.scope.get("longrank.connection")
                if connection is not None:
                    connection.claim(key)
                self._quota.enter(key)
                try:
                    return await self._call(request, key)
                finally:
                    self._quota.leave(key)
        return await self._call(request, b"")

    async def _call(self, request: Request, key: bytes) -> Any:
        """Read the parameters and the body, and call the handler."""
        endpoint, service = request.endpoint, self._service
        route = endpoint.route
        arguments = _parameters(route, request)
        if route.looks_up and not service.engine.knows(arguments["name"]):
            # refuses if there is none
            await run_in_threadpool(service.engine.model, arguments["name"])
        if endpoint.takes_lane:
            arguments["lane"] = Lane(key, request.values.get("name", ""))
        if route.takes is None:
            return await endpoint.handler(service, **arguments)
        found = await self._bodies.read(request.headers, request.receive)
        if endpoint.takes_size:
            arguments["size"] = found.size
        # what is decoded has no name here, so that a handler that waits can free it
        if found.size <= body.LARGE:
            return await endpoint.handler(
                service, **arguments, body=body.decode(route.takes, found)
            )
        lane = Lane(key, request.values.get("name", ""))
        decoding = partial(body.decode, route.takes, found)
        return await endpoint.handler(
            service, **arguments, body=await service.workers.run(lane, decoding)
        )

    async def _check_key(
        self, route: Route[..., Any], values: dict[str, str], headers: Headers
    ) -> bytes:
        """Refuse a request without a valid key (401) or with a key for something else (403).

        Return the digest of the key.
        """
        key = _bearer(headers)
        if key is None:
            raise _no_key()
        owner = self._service.keys.known(key)
        if owner is None:
            owner = await self._callers.owner(key)
        if owner is None:
            raise _no_key()
        if owner != ADMIN:
            if route.scope == "admin":
                raise Refused(403, "this endpoint needs the administrator's key")
            name = _checked("name", values["name"], PATH["name"])
            find = self._service.engine.number
            known = self._service.engine.knows(name)
            if (find(name) if known else await run_in_threadpool(find, name)) != owner:
                raise Refused(403, "this key is for another model")
        return key

    async def _check_metrics_key(self, headers: Headers) -> None:
        """Refuse to show the metrics without their key or the administrator's."""
        key, expected = _bearer(headers), digest(self._service.metrics_key or "")
        if key is None or (
            not hmac.compare_digest(key, expected) and await self._callers.owner(key) != ADMIN
        ):
            raise _no_key()

    def _shown(self, path: str, status: int) -> str:
        """Return a path for the log, without what is or may be a key."""
        if not _PLAIN_PATH.fullmatch(path):
            return "(path with unusual characters)"
        return path if status < 400 else self._service.keys.hide(path)  # what was served is no key


def _bearer(headers: Headers) -> bytes | None:
    """Return the digest of a request's key, None without one."""
    scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    key = key.strip()
    return digest(key) if key and scheme.lower() == "bearer" else None


def _no_key() -> Refused:
    detail = "a valid key is needed, in the header Authorization: Bearer KEY"
    return Refused(401, detail, {"WWW-Authenticate": "Bearer"})


def _parameters(route: Route[..., Any], request: Request) -> dict[str, Any]:
    """Read the parameters of a request from its path, its query and its headers, and check them."""
    found: dict[str, Any] = {
        name: _checked(name, text, PATH[name]) for name, text in request.values.items()
    }
    if route.query:
        query = request.scope["query_string"].decode("latin-1")
        given = dict(parse_qsl(query, keep_blank_values=True))
        for name, schema in route.query.items():
            if name in given or route.required(name):
                found[name] = _checked(name, given.get(name), schema)
            else:
                found[name] = route.default(name)
    for name, schema in route.headers.items():
        value = request.headers.get(name.lower().encode())
        if value is not None:
            found[name.lower().replace("-", "_")] = _checked(name, value.decode("latin-1"), schema)
    return found


def _checked(parameter: str, text: str | None, schema: Schema) -> Any:
    """Return the value of a parameter, or refuse it with the rule that it breaks."""
    if schema["type"] == "integer":
        if text is None or not (text.isascii() and text.isdigit() and len(text) < 10):
            raise InvalidInput(parameter, "be a whole number", repr(text))
        minimum, maximum = schema["minimum"], schema["maximum"]
        if not minimum <= int(text) <= maximum:
            raise InvalidInput(parameter, f"be between {minimum} and {maximum}", int(text))
        return int(text)
    if text is None or not re.fullmatch(schema["pattern"], text):
        raise InvalidInput(parameter, f"match {schema['pattern']}", repr((text or "")[:80]))
    return text


def _reply(endpoint: Endpoint, answer: Any) -> tuple[int, dict[str, str], Body]:
    """Return the status, the headers and the body of what a handler answered."""
    if answer is None:
        return endpoint.statuses[type(None)], {}, None
    headers = {"Content-Type": endpoint.route.media}
    if isinstance(answer, Reply):
        return 200, headers | answer.headers, answer.body
    status = endpoint.statuses[type(answer)]
    return status, headers, answer if isinstance(answer, bytes) else _encode(answer)


async def _send(
    send: Send, request_id: bytes, status: int, headers: dict[str, str], body: Body
) -> None:
    head = [(name.lower().encode(), text.encode("latin-1")) for name, text in headers.items()]
    if body is not None:
        size = len(body) if isinstance(body, bytes) else os.fstat(body.fileno()).st_size
        head.append((b"content-length", b"%d" % size))
    head += (*_SAFE, (b"x-request-id", request_id))
    await send({"type": "http.response.start", "status": status, "headers": head})
    if body is not None and not isinstance(body, bytes):
        with body:
            while part := await run_in_threadpool(body.read, _PART):
                await send({"type": "http.response.body", "body": part, "more_body": True})
        body = None
    await send({"type": "http.response.body", "body": body or b""})


class Access:
    """Logs each request as a line of JSON: method, path, status, milliseconds, request id."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    def __call__(
        self, method: str, path: str, status: int, seconds: float, request_id: str
    ) -> None:
        line = {
            "time": round(time.time(), 3),
            "level": "info",
            "message": "request",
            "method": method,
            "path": path,
            "status": status,
            "ms": round(seconds * 1000, 2),
            "request_id": request_id,
        }
        self._stream.write(_encode(line).decode() + "\n")


class JsonLines(logging.Formatter):
    """Formats a log record as a line of JSON that holds no key and no feature."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().encode(errors="backslashreplace").decode(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            # the place, not the message: another library's message may quote a request
            line["error"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])
            line["where"] = [f"{frame.name}:{frame.lineno}" for frame in frames[-6:]]
        return _encode(line).decode()


def configure_logging(level: str = "info", stream: TextIO | None = None) -> None:
    """Send all logs to a stream (default: standard error), as lines of JSON."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.captureWarnings(True)  # such as a schema's, of fields that change nothing
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    logging.getLogger("uvicorn.access").disabled = True  # Access has the request id
