"""Connections to a database: what each of them can do, and a pool of those that read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol


class Session(Protocol):
    """A connection to a database."""

    def execute(self, sql: str, args: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with ``?`` for arguments; its rows."""

    def change(self, sql: str, args: Sequence[Any]) -> int:
        """Run one statement that changes rows; how many it changed."""

    def begin(self) -> None:
        """Begin to write."""

    def commit(self) -> None:
        """Make it durable."""

    def rollback(self) -> None:
        """Forget it."""

    def close(self) -> None:
        """Close the connection."""


class Pool:
    """Connections that are lent to one reader at a time, and opened when there are too few."""

    def __init__(self, connect: Callable[[], Session]) -> None:
        self._connect = connect
        self._free: list[Session] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[Session]:
        """A connection of one's own for a while; after a failure it is not used again."""
        with self._lock:
            session = self._free.pop() if self._free else None
        if session is None:
            session = self._connect()
        try:
            yield session
        except BaseException:
            session.close()
            raise
        with self._lock:
            if not self._closed:
                self._free.append(session)
                return
        session.close()

    def close(self) -> None:
        """Close those that are free; the others are closed when they come back."""
        with self._lock:
            self._closed = True
            while self._free:
                self._free.pop().close()
