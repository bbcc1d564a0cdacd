"""One write for an answer: uvicorn writes the head and the body each by itself.

A write is a system call, a packet, and something for the client to wake up for: of what a small
answer costs it is a good part.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class OneWrite(HttpToolsProtocol):
    """uvicorn's HTTP; what it writes goes out when the answer is whole."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._gathering = Gathering(transport, self.loop)
        super().connection_made(cast(asyncio.Transport, self._gathering))

    def on_response_complete(self) -> None:
        self._gathering.flush()
        super().on_response_complete()


class Gathering:
    """A transport that keeps what is written, until the turn of the event loop ends at most."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._kept: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Write it soon."""
        if not self._kept:
            self._loop.call_soon(self.flush)
        self._kept.append(data)

    def flush(self) -> None:
        """Write what was kept."""
        kept, self._kept = self._kept, []
        if kept and not self._transport.is_closing():
            self._transport.write(b"".join(kept))

    def close(self) -> None:
        """Write what was kept, then close."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)  # all else is the transport's
