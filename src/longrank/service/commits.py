"""Two ways to wait for a commit: in a thread, or in an event loop that goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from longrank.service.records import Draft, Entry
from longrank.service.together import Together
from longrank.service.writer import Writer

T = TypeVar("T")
Commit = Callable[[Draft], Awaitable[Entry]]


class Commits:
    """Commits through one writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._together: Together | None = None

    async def blocking(self, draft: Draft) -> Entry:
        """Wait in this thread; see :func:`at_once`."""
        return self._writer.append(draft).result()

    def shared(self, draft: Draft) -> Awaitable[Entry]:
        """Wait in the running event loop, together with what else it appends meanwhile."""
        loop = asyncio.get_running_loop()
        if self._together is None or self._together.loop is not loop:
            self._together = Together(self._writer, loop)
        return self._together.append(draft)


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits for an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("it waits for an event loop")
