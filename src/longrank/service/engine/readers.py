"""Threads that read the store for event loops."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from longrank.service.errors import NotReady
from longrank.service.store.writer import Call, Gathering, acknowledge

T = TypeVar("T")
MAX_READERS = 4  # threads of all event loops


class Readers:
    """Read the store in threads for event loops; the reads of one turn share a thread."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MAX_READERS, thread_name_prefix="longrank-reader")
        self._gathering = Gathering(self._submit)

    async def read(self, work: Callable[..., T], *args: Any) -> T:
        """Call a function that reads the store; the running event loop goes on meanwhile."""
        result: T = await self._gathering.add(Call, partial(work, *args))
        return result

    def close(self) -> None:
        """Refuse further reads."""
        self._pool.shutdown(wait=False)

    def _submit(self, calls: list[Any]) -> None:
        try:
            self._pool.submit(_make, calls)
        except RuntimeError:
            raise NotReady("the service stops") from None


def _make(calls: list[Call]) -> None:
    for call in calls:
        try:
            call.result = call.work()
        except BaseException as error:  # raised for the caller, in the event loop
            call.result = error
    acknowledge(calls)
