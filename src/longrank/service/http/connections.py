"""Connections: how many there may be, and how long a client may take for a head and a body."""

from __future__ import annotations

import asyncio
from collections import Counter
from http import HTTPStatus
from typing import Any, cast

from longrank.service.http.limits import Limits
from longrank.service.http.problems import Refused, report
from longrank.service.http.router import OneWrite

SWEEP = 1.0  # seconds between two looks for connections that take too long
_IDLE, _HEAD, _BODY, _BUSY = range(4)  # between requests; receiving; receiving; answering


class Connections:
    """All connections of a server, with the limits that they share."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._open: set[Guarded] = set()
        self._keys: Counter[bytes] = Counter()
        self._sweeping: asyncio.TimerHandle | None = None

    def __call__(self, *args: Any, **settings: Any) -> Guarded:
        """Return the protocol of a new connection: what uvicorn takes for its class."""
        return Guarded(self, *args, **settings)

    def add(self, connection: Guarded) -> bool:
        """Add a connection; return whether there is room, if need be for one that did nothing."""
        if len(self._open) >= self.limits.max_connections:
            waiting = [one for one in self._open if one.waits]
            if not waiting:
                return False
            min(waiting, key=lambda one: one.since).abort()
        self._open.add(connection)
        if self._sweeping is None:
            self._sweeping = connection.loop.call_later(SWEEP, self._sweep, connection.loop)
        return True

    def remove(self, connection: Guarded) -> None:
        """Remove a connection that is closed."""
        self._open.discard(connection)
        if not self._open and self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None

    def claim(self, key: bytes, before: bytes) -> None:
        """Count a connection for a key; refuse it with 429 if the key has too many."""
        limit = self.limits.max_connections_per_key
        if self._keys[key] >= limit:
            detail = f"this key has {limit} connections, its limit; use fewer, and keep them open"
            raise Refused(429, detail, {"Retry-After": "1", "Connection": "close"})
        self.release(before)
        self._keys[key] += 1

    def release(self, key: bytes) -> None:
        """Count a connection of a key as closed."""
        if key:
            self._keys[key] -= 1
            if not self._keys[key]:
                del self._keys[key]

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in list(self._open):
            connection.check(now)
        self._sweeping = loop.call_later(SWEEP, self._sweep, loop) if self._open else None


class Guarded(OneWrite):
    """A connection with limits: of the head's size, and of the time for a head and a body."""

    def __init__(self, connections: Connections, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._connections, self._limits = connections, connections.limits
        self.since = 0.0  # when it began to be in its phase
        self._phase = _HEAD
        self._in_head, self._received = False, 0  # bytes since the last request
        self._refused, self._key = False, b""
        self._stuck: float | None = None  # since when it does not take what is sent

    @property
    def waits(self) -> bool:
        """Whether no complete head was received that is not answered yet."""
        return self._phase in (_IDLE, _HEAD)

    def claim(self, key: bytes) -> None:
        """Count the connection for a key; 429 if the key has too many."""
        if key != self._key:
            self._connections.claim(key, self._key)
            self._key = key

    def abort(self) -> None:
        """Close the connection at once."""
        self._connections.remove(self)
        self.transport.abort()

    def check(self, now: float) -> None:
        """Close the connection if its client takes too long."""
        limits, waited = self._limits, now - self.since
        if self.transport.is_closing() or self.flow.write_paused:
            self._stuck = now if self._stuck is None else self._stuck
            if now - self._stuck > limits.body_timeout:
                self.abort()
            return
        self._stuck = None
        if self._phase == _HEAD and waited > limits.header_timeout:
            self._refuse(408, f"the head took longer than {limits.header_timeout:g} seconds")
        elif self._phase == _BODY and waited > limits.body_timeout:
            self._refuse(408, f"the body took longer than {limits.body_timeout:g} seconds")

    # what the event loop and the parser call

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since = self.loop.time()
        if not self._connections.add(self):
            self._refuse(503, "there are too many connections; try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.remove(self)
        self._connections.release(self._key)
        self._key = b""
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self._phase == _IDLE:
            self._phase, self.since = _HEAD, self.loop.time()
        self._received += len(data)
        super().data_received(data)
        if self._in_head and self._received > self._limits.max_header_bytes:
            self._refuse_head()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)["longrank.connection"] = self

    def on_headers_complete(self) -> None:
        limit = self._limits.max_header_bytes
        if self._received > limit:  # with some of the body, maybe
            size = len(self.url) + sum(len(name) + len(text) for name, text in self.headers)
            if size > limit:
                self._refuse_head()
                return
        self._in_head, self._phase, self.since = False, _BODY, self.loop.time()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._refused:
            self._received = 0
            answered = self.cycle.response_complete
            self._phase, self.since = _IDLE if answered else _BUSY, self.loop.time()
            super().on_message_complete()

    def on_response_complete(self) -> None:
        if self._phase == _BUSY and not self.pipeline:
            self._phase, self.since = _IDLE, self.loop.time()
        super().on_response_complete()

    def _refuse_head(self) -> None:
        limit = self._limits.max_header_bytes
        self._refuse(431, f"the head is longer than the limit of {limit} bytes")

    def _refuse(self, status: int, detail: str) -> None:
        """Answer that the connection is closed, and close it."""
        self._refused = True
        if self.cycle is not None and self.cycle.response_started:
            self.abort()
            return
        _, headers, content = report(Refused(status, detail), "")
        headers |= {"Content-Length": str(len(content)), "Connection": "close"}
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + content)
        self.transport.close()
