"""From an event loop to the writer: what the loop appends while it is busy goes there as one."""

from __future__ import annotations

import asyncio
from typing import Any

from longrank.service.errors import ServiceError
from longrank.service.records import Draft, Entry
from longrank.service.writer import Writer

ENOUGH = 32  # to share a commit: more would wait longer, and hardly be cheaper


class Together:
    """Appends of one event loop.

    A commit costs about the same for one entry as for ten, and so does waking the threads. So the
    entries wait for as long as each turn of the loop brings another, which without load is one
    turn, some microseconds; what is read meanwhile would have had to wait for the next commit.
    """

    def __init__(self, writer: Writer, loop: asyncio.AbstractEventLoop) -> None:
        self._writer, self.loop = writer, loop
        self._drafts: list[Draft] = []
        self._futures: list[asyncio.Future[Entry]] = []

    def append(self, draft: Draft) -> asyncio.Future[Entry]:
        """Done when it is durable."""
        future: asyncio.Future[Entry] = self.loop.create_future()
        if not self._drafts:
            self.loop.call_soon(self._gather, 0)
        self._drafts.append(draft)
        self._futures.append(future)
        return future

    def _gather(self, before: int) -> None:
        """At the end of a turn: wait for another, or send."""
        if before < len(self._drafts) < ENOUGH:
            self.loop.call_soon(self._gather, len(self._drafts))
        else:
            self._send()

    def _send(self) -> None:
        drafts, futures = self._drafts, self._futures
        self._drafts, self._futures = [], []

        def done(results: list[Any]) -> None:  # in the writer's thread
            self.loop.call_soon_threadsafe(settle, futures, results)

        try:
            self._writer.append_all(drafts, done)
        except ServiceError as error:
            settle(futures, [error] * len(futures))


def settle(futures: list[asyncio.Future[Entry]], results: list[Any]) -> None:
    """Tell each that waits what became of its entry."""
    for future, result in zip(futures, results, strict=True):
        if future.done():
            continue  # its client has gone; the entry is in the log all the same
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
