"""Group commit: one thread writes; all that wait are written in one transaction with one fsync."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar

from longrank.service.errors import Busy, ServiceError, StoreFailed
from longrank.service.records import Draft, Entry

T = TypeVar("T")
log = logging.getLogger("longrank.service")


class Duplicate(ServiceError):
    """The log has such an entry already, or not what it belongs to; nothing was appended."""


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


class _Several(NamedTuple):
    drafts: list[Draft]
    done: Callable[[list[Any]], None]


Committed = Callable[[list[tuple[Entry, Any]]], None]
_COLUMNS = "seq, model, kind, id, at, expires, body, sum"
# A decision needs its model, an outcome its decision: neither may have been dropped meanwhile.
_PARENT = (
    "(v.column3 = 0 AND EXISTS(SELECT 1 FROM models m WHERE m.model = v.column2)) OR "
    "(v.column3 = 1 AND EXISTS(SELECT 1 FROM log d WHERE d.model = v.column2 "
    "AND d.id = v.column4 AND d.kind = 0))"
)
_MOST_ROWS = 128
_APPENDS = {
    count: f"INSERT INTO log({_COLUMNS}) SELECT * FROM (VALUES "
    + ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * count)
    + f") AS v WHERE {_PARENT} ON CONFLICT DO NOTHING"
    for count in (2**power for power in range(_MOST_ROWS.bit_length()))
}


def append_all(session: Session, entries: list[Entry]) -> set[int]:
    """Append what can be; the numbers of those that are in the log now.

    Many rows go into one statement, as each statement costs a change of threads.
    """
    there: set[int] = set()
    first = 0
    while first < len(entries):
        count = min(_MOST_ROWS, 1 << ((len(entries) - first).bit_length() - 1))
        chunk = entries[first : first + count]
        first += count
        args = [value for entry in chunk for value in (*entry, entry.sum())]
        if session.change(_APPENDS[count], args) == count:
            there.update(entry.seq for entry in chunk)
            continue
        sql = "SELECT seq FROM log WHERE seq >= ? AND seq <= ?"
        there.update(seq for (seq,) in session.execute(sql, (chunk[0].seq, chunk[-1].seq)))
    return there


class Writer:
    """Runs what is submitted, in order, in its own thread and with its own connection.

    ``failures`` are the exceptions that a session raises where the database failed. After one
    nothing of the batch is acknowledged, and the connection is opened anew before the next;
    ``behind`` reads what is in the log beyond an entry, since a commit that failed may have
    reached it all the same.
    """

    def __init__(
        self,
        connect: Callable[[], Session],
        failures: tuple[type[Exception], ...],
        behind: Callable[[Session, int], list[Entry]],
        most_waiting: int,
    ) -> None:
        self._connect, self._failures, self._behind = connect, failures, behind
        self.most_waiting = most_waiting
        self.committed: Committed = lambda entries: None  # noqa: ARG005
        self.batches = 0
        self._queue: deque[tuple[Any, Future[Any]]] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._waiting = 0
        self._last = 0
        self._session: Session | None = connect()
        self._last = self._session.execute("SELECT seq FROM counter")[0][0]
        self._thread = threading.Thread(target=self._run, name="longrank-writer", daemon=True)
        self._thread.start()

    def append(self, draft: Draft) -> Future[Entry]:
        """Append to the log; done when it is durable, :class:`Duplicate` if it is there."""
        return self._submit(draft)

    def append_all(self, drafts: list[Draft], done: Callable[[list[Any]], None]) -> None:
        """Append several; ``done`` gets an entry or an exception for each, in this thread."""
        self._submit(_Several(drafts, done))

    def call(self, work: Callable[[Session], T]) -> T:
        """Run something else in a transaction, and wait for it."""
        result: T = self._submit(work).result()
        return result

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._waiting

    def close(self) -> None:
        """Write what waits, then stop."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        if self._session is not None:
            self._session.close()
            self._session = None

    def _submit(self, work: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self._wake:
            if self._closing:
                raise StoreFailed("the store is closed")
            if self._waiting >= self.most_waiting:
                raise Busy(f"{self._waiting} writes are waiting; try again later")
            self._waiting += len(work.drafts) if isinstance(work, _Several) else 1
            self._queue.append((work, future))
            self._wake.notify()
        return future

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closing:
                    self._wake.wait()
                if not self._queue:
                    return
                batch = list(self._queue)
                self._queue.clear()
                self._waiting = 0
            try:
                self._write(batch)
            except Exception as error:  # the thread must live, and nobody may wait for ever
                log.exception("a batch failed")
                self._refuse(batch, StoreFailed(f"the batch failed: {error!r}"))

    def _write(self, batch: list[tuple[Any, Future[Any]]]) -> None:
        drafts: list[Draft] = []
        for work, _ in batch:
            if isinstance(work, Draft):
                drafts.append(work)
            elif isinstance(work, _Several):
                drafts += work.drafts
        calls = [work for work, _ in batch if not isinstance(work, Draft | _Several)]
        try:
            session = self._reopened() if self._session is None else self._session
            appended, called = self._transaction(session, drafts, calls)
        except self._failures as error:
            reason = f"the store could not write: {error}"
            log.error(reason)
            self._abandon()
            self._refuse(batch, StoreFailed(reason))
            return
        self.batches += 1
        fresh = [
            (entry, draft.known)
            for entry, draft in zip(appended, drafts, strict=True)
            if isinstance(entry, Entry)
        ]
        if fresh:
            self._last = fresh[-1][0].seq
            self.committed(fresh)
        self._tell(batch, iter(appended), iter(called))

    @staticmethod
    def _tell(
        batch: list[tuple[Any, Future[Any]]], appended: Iterator[Any], called: Iterator[Any]
    ) -> None:
        for work, future in batch:
            if isinstance(work, _Several):
                future.set_result(None)
                work.done([next(appended) for _ in work.drafts])
                continue
            result = next(appended) if isinstance(work, Draft) else next(called)
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    @staticmethod
    def _refuse(batch: list[tuple[Any, Future[Any]]], error: Exception) -> None:
        for work, future in batch:
            if not future.done():
                future.set_exception(error)
                if isinstance(work, _Several):
                    work.done([error] * len(work.drafts))

    def _transaction(
        self, session: Session, drafts: list[Draft], calls: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """An entry or an exception for each draft, and the result of each call."""
        session.begin()
        appended: list[Any] = []
        if drafts:  # the row's lock makes the order of numbers that of commits
            sql = "UPDATE counter SET seq = seq + ? RETURNING seq"
            seq = session.execute(sql, (len(drafts),))[0][0] - len(drafts) + 1
            entries = [Entry(seq + i, *draft[:6]) for i, draft in enumerate(drafts)]
            there = append_all(session, entries)
            appended = [
                entry if entry.seq in there else Duplicate(f"{entry.id} cannot be appended")
                for entry in entries
            ]
        called: list[Any] = []
        for call in calls:
            try:
                called.append(call(session))
            except ServiceError as error:
                called.append(error)
        session.commit()
        return appended, called

    def _abandon(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with suppress(*self._failures):
                session.rollback()
            with suppress(*self._failures):
                session.close()

    def _reopened(self) -> Session:
        session = self._connect()
        try:
            missed = self._behind(session, self._last)
        except BaseException:
            session.close()
            raise
        if missed:
            self._last = missed[-1].seq
            self.committed([(entry, None) for entry in missed])
        self._session = session
        return session
