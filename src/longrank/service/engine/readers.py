"""Threads that read the store for event loops."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from longrank.service.errors import NotReady

T = TypeVar("T")
log = logging.getLogger("longrank.service")
MAX_READERS = 4  # threads of all event loops
MAX_GATHERED = 32  # reads that a thread makes before it hands over the results
PATIENCE = 0.001  # seconds that reads wait for a thread that reads already, before another one does


class _Read(NamedTuple):
    work: Callable[..., Any]
    args: tuple[Any, ...]
    future: asyncio.Future[Any]


class Readers:
    """Make the reads of event loops in threads, those that wait at the same time together.

    A change of threads costs several times what finding a decision does.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MAX_READERS, thread_name_prefix="longrank-reader")
        self._gathering: _Gathering | None = None

    async def read(self, work: Callable[..., T], *args: Any) -> T:
        """Call a function that reads the store; the running event loop goes on meanwhile."""
        loop = asyncio.get_running_loop()
        if self._gathering is None or self._gathering.loop is not loop:
            self._gathering = _Gathering(self._pool, loop)
        result: T = await self._gathering.add(work, args)
        return result

    def close(self) -> None:
        """Refuse further reads."""
        self._pool.shutdown(wait=False)


class _Gathering:
    """Reads of one event loop that a thread makes together.

    They are those of a turn and of the next ones, as long as each brings another; and while a
    thread reads, those that come until it is done, or for some time.
    """

    def __init__(self, pool: ThreadPoolExecutor, loop: asyncio.AbstractEventLoop) -> None:
        self._pool, self.loop = pool, loop
        self._waiting: deque[_Read] = deque()
        self._running, self._scheduled = 0, False

    def add(self, work: Callable[..., Any], args: tuple[Any, ...]) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self.loop.create_future()
        self._waiting.append(_Read(work, args, future))
        if not self._scheduled and self._running < MAX_READERS:
            self._scheduled = True
            if self._running:
                self.loop.call_later(PATIENCE, self._start)
            else:
                self.loop.call_soon(self._gather, 0)
        return future

    def _gather(self, before: int) -> None:
        """At the end of a turn, wait for another or start."""
        if before < len(self._waiting) < MAX_GATHERED:
            self.loop.call_soon(self._gather, len(self._waiting))
        else:
            self._start()

    def _start(self) -> None:
        """Give what waits to free threads."""
        self._scheduled = False
        while self._waiting and self._running < MAX_READERS:
            count = min(MAX_GATHERED, len(self._waiting))
            reads = [self._waiting.popleft() for _ in range(count)]
            try:
                self._pool.submit(self._make, reads)
            except RuntimeError:
                self._deliver([(each.future, NotReady("the service stops")) for each in reads])
            else:
                self._running += 1

    def _make(self, reads: list[_Read]) -> None:
        results: list[tuple[asyncio.Future[Any], Any]] = []
        for work, args, future in reads:
            try:
                results.append((future, work(*args)))
            except BaseException as error:  # it is the caller's, in the event loop
                results.append((future, error))
        try:
            self.loop.call_soon_threadsafe(self._finish, results)
        except RuntimeError:
            log.debug("could not deliver a read: event loop closed")

    def _finish(self, results: list[tuple[asyncio.Future[Any], Any]]) -> None:
        self._running -= 1
        self._deliver(results)
        self._start()

    @staticmethod
    def _deliver(results: list[tuple[asyncio.Future[Any], Any]]) -> None:
        for future, result in results:
            if future.done():
                continue  # its client has gone
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)
