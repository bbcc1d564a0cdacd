"""Connections: how many there may be, and how long a client may take for a head and a body.

uvicorn has no timeout for a head or a body, no limit of a head for httptools, and refuses requests
of busy clients when others keep idle connections open.
"""

from __future__ import annotations

import asyncio
import math
from http import HTTPStatus
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from longrank.service.http.limits import Limits
from longrank.service.http.problems import Refused, report

SWEEP = 1.0  # seconds between checks for slow connections


class Connections:
    """All connections of a server, with the limits that they share."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.open: dict[GuardedProtocol, None] = {}  # the oldest first: many share a `since`
        self._sweeping: asyncio.TimerHandle | None = None

    def __call__(self, *args: Any, **settings: Any) -> GuardedProtocol:
        """Return the protocol of a new connection: what uvicorn takes for its class."""
        return GuardedProtocol(self, *args, **settings)

    def add(self, connection: GuardedProtocol) -> bool:
        """Add a connection; return whether there is room, closing an idle one if need be."""
        if len(self.open) >= self.limits.max_connections:
            idle = [other for other in self.open if other.awaits_head]
            if not idle:
                return False
            min(idle, key=lambda other: other.since).abort()
        self.open[connection] = None
        if self._sweeping is None:
            self._sweep(connection.loop)
        return True

    def check(self, now: float) -> None:
        """Close the connections whose clients take too long."""
        for connection in list(self.open):
            connection.check(now)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self.check(loop.time())
        self._sweeping = loop.call_later(SWEEP, self._sweep, loop) if self.open else None


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, with limits of a head's size and of the time a client may take."""

    def __init__(self, connections: Connections, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._connections, self._limits = connections, connections.limits
        self._state: tuple[object, str] = (None, "")  # what it was waiting for at the last check
        self.since = 0.0  # since when
        self._chunk = self._head = 0  # bytes: of the latest chunk, and of chunks of an unended head
        self._refused, self._key = False, b""

    @property
    def awaits_head(self) -> bool:
        """Whether every request that was received is answered."""
        return self.cycle is None or self.cycle.response_complete

    def claim(self, key: bytes) -> None:
        """Count the connection for a key; 429 if the key has too many."""
        if key == self._key:
            return
        limit = self._limits.max_connections_per_key
        if sum(other._key == key for other in self._connections.open) >= limit:
            detail = f"this key has {limit} connections, its limit; use fewer, and keep them open"
            raise Refused(429, detail, {"Retry-After": "1", "Connection": "close"})
        self._key = key

    def abort(self) -> None:
        """Close the connection at once."""
        self._connections.open.pop(self, None)
        self.transport.abort()

    def check(self, now: float) -> None:
        """Close the connection if its client takes too long."""
        cycle, limits = self.cycle, self._limits
        if self.transport.is_closing() or self.flow.write_paused:
            awaited, limit = "answer", limits.body_timeout
        elif cycle is not None and cycle.more_body:
            awaited, limit = "body", limits.body_timeout
        elif self.awaits_head and self.timeout_keep_alive_task is None:
            awaited, limit = "head", limits.header_timeout
        else:  # answered, or idle, which uvicorn handles
            awaited, limit = "", math.inf
        if self._state != (cycle, awaited):
            self._state, self.since = (cycle, awaited), now
        elif now - self.since > limit:
            if awaited == "answer":
                self.abort()
            else:
                self._refuse(408, f"the {awaited} took longer than {limit:g} seconds")

    # what the event loop and the parser call

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, GatheringTransport(transport, self.loop)))
        self._state, self.since = (None, "head"), self.loop.time()
        if not self._connections.add(self):
            self._refuse(503, "there are too many connections; try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.open.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        unended, self._chunk = self.scope, len(data)
        super().data_received(data)
        if self.scope is unended is not None and self._in_head:
            self._head += len(data)
            if self._head > self._limits.max_header_bytes:
                self._refuse_head()

    @property
    def _in_head(self) -> bool:
        return self.cycle is None or self.cycle.scope is not self.scope

    def on_headers_complete(self) -> None:
        limit = self._limits.max_header_bytes
        if self._chunk + self._head > limit:  # possibly with some of the body
            size = len(self.url) + sum(len(name) + len(text) for name, text in self.headers)
            if size > limit:
                self._refuse_head()
                return
        self._head = 0
        cast("dict[str, Any]", self.scope)["longrank.connection"] = self
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._refused:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        cast(GatheringTransport, self.transport).flush()
        super().on_response_complete()

    def _refuse_head(self) -> None:
        limit = self._limits.max_header_bytes
        self._refuse(431, f"the head is longer than the limit of {limit} bytes")

    def _refuse(self, status: int, detail: str) -> None:
        """Answer with an error, and close the connection."""
        self._refused = True
        if self.cycle is not None and self.cycle.response_started and self.cycle.more_body:
            self.abort()
            return
        _, headers, content = report(Refused(status, detail), "")
        headers |= {"Content-Length": str(len(content)), "Connection": "close"}
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + content)
        self.transport.close()


class GatheringTransport:
    """A transport that buffers writes, at most until the current turn of the event loop ends.

    uvicorn writes head and body separately. A write is a system call, a packet and a wake-up of
    the client: a good part of what a small answer costs.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._buffer: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Buffer data, to be written soon."""
        if not self._buffer:
            self._loop.call_soon(self.flush)
        self._buffer.append(data)

    def flush(self) -> None:
        """Write what is buffered."""
        buffer, self._buffer = self._buffer, []
        if buffer and not self._transport.is_closing():
            self._transport.write(b"".join(buffer))

    def close(self) -> None:
        """Write what is buffered, then close."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)  # everything else is the transport's
