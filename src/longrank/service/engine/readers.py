"""Threads that read the store for event loops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from longrank.service.errors import NotReady

T = TypeVar("T")
Read = tuple[asyncio.Future[Any], Callable[..., Any], tuple[Any, ...]]
Result = tuple[asyncio.Future[Any], Any]
log = logging.getLogger("longrank.service")
MAX_READERS = 4  # threads of all event loops


class Readers:
    """Read the store in threads for event loops, batching the reads of one turn.

    Switching threads costs several times as much as finding a decision.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MAX_READERS, thread_name_prefix="longrank-reader")
        self._waiting: dict[asyncio.AbstractEventLoop, list[Read]] = {}

    async def read(self, work: Callable[..., T], *args: Any) -> T:
        """Call a function that reads the store; the running event loop goes on meanwhile."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        waiting = self._waiting.setdefault(loop, [])
        waiting.append((future, work, args))
        if len(waiting) == 1:
            loop.call_soon(self._start, loop)
        return await future

    def close(self) -> None:
        """Refuse further reads."""
        self._pool.shutdown(wait=False)

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        reads = self._waiting.pop(loop)
        try:
            self._pool.submit(_make, loop, reads)
        except RuntimeError:
            _deliver([(future, NotReady("the service stops")) for future, _, _ in reads])


def _make(loop: asyncio.AbstractEventLoop, reads: list[Read]) -> None:
    results: list[Result] = []
    for future, work, args in reads:
        try:
            results.append((future, work(*args)))
        except BaseException as error:  # raised for the caller, in the event loop
            results.append((future, error))
    try:
        loop.call_soon_threadsafe(_deliver, results)
    except RuntimeError:
        log.debug("could not deliver a read: event loop closed")


def _deliver(results: list[Result]) -> None:
    for future, result in results:
        if future.done():
            continue  # the client disconnected
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)
