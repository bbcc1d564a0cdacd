"""Group commit: one thread writes; all that is queued goes into one transaction with one fsync."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from longrank.service.errors import Busy, Duplicate, ServiceError, StoreFailed, sentence
from longrank.service.store import sql
from longrank.service.store.records import Draft, Entry

T = TypeVar("T")
AnyFuture = Future[Any] | asyncio.Future[Any]
log = logging.getLogger("longrank.service")
MAX_BYTES = 16 << 20  # of the entries in a transaction, unless there is only one

# A decision needs its model, an outcome its decision: neither may have been dropped meanwhile.
_PARENT = (
    "(v.column3 = 0 AND EXISTS(SELECT 1 FROM models m WHERE m.model = v.column2)) OR "
    "(v.column3 = 1 AND EXISTS(SELECT 1 FROM log d WHERE d.model = v.column2 "
    "AND d.id = v.column4 AND d.kind = 0))"
)
_MAX_ROWS = 128
_INSERTS = {
    count: f"INSERT INTO log({sql.COLUMNS}) SELECT * FROM (VALUES "
    + ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * count)
    + f") AS v WHERE {_PARENT} ON CONFLICT DO NOTHING RETURNING seq"
    for count in (2**power for power in range(_MAX_ROWS.bit_length()))
}


@dataclass(slots=True, eq=False)
class Append:
    """A draft to append, and the caller's future."""

    draft: Draft
    future: AnyFuture
    result: Any = None  # the Entry when it is committed, or an exception such as Duplicate


@dataclass(slots=True, eq=False)
class Call:
    """Other work, in a transaction if a writer does it, and the caller's future."""

    work: Callable[..., Any]
    future: AnyFuture
    result: Any = None


Item = Append | Call
Committed = Callable[[list[Append]], Sequence[Append]]


class Writer:
    """Run what is submitted, in order, in a thread and with a connection of its own.

    ``failures`` are the exceptions that a session raises when the database fails. After one,
    nothing of the batch is acknowledged, and the connection is reopened before the next batch. Who
    is ``alone`` then reads the log on from the last known entry, since a commit that failed may
    have reached it all the same; others follow the log anyway. ``failing`` is the last failure, if
    nothing was written since.

    ``committed`` is called with the appends of a batch after its commit, duplicates included; it
    returns those to acknowledge at once, and must acknowledge the others: see :func:`acknowledge`.
    """

    def __init__(
        self,
        connect: Callable[[], sql.Session],
        failures: tuple[type[Exception], ...],
        *,
        alone: bool = True,
    ) -> None:
        self._connect, self._failures, self._alone = connect, failures, alone
        self.max_queued = 4096  # writes that wait; further ones are refused
        self.committed: Committed = lambda appends: appends
        self.batches = 0
        self.failing: str | None = None
        self._since: float | None = None  # when the oldest write that waits was queued
        self._queue: list[Item] = []
        self._wake = threading.Condition()
        self._closing = False
        self._gathering = Gathering(self.submit)
        self._session: sql.Session | None = connect()
        self._last = sql.last_seq(self._session)
        self._thread = threading.Thread(target=self._run, name="longrank-writer", daemon=True)
        self._thread.start()

    def append(self, draft: Draft) -> Future[Entry]:
        """Append to the log, for a thread that waits.

        The future is done when the entry is durable; it raises Duplicate if there is one.
        """
        future: Future[Entry] = Future()
        self.submit([Append(draft, future)])
        return future

    def append_soon(self, draft: Draft) -> asyncio.Future[Entry]:
        """Append to the log, for the running event loop: as :meth:`append`, to be awaited."""
        return self._gathering.add(Append, draft)

    def call(self, work: Callable[[sql.Session], T]) -> T:
        """Run other work in a transaction, and wait for its result."""
        future: Future[T] = Future()
        self.submit([Call(work, future)])
        return future.result()

    def submit(self, items: Sequence[Item]) -> None:
        """Queue items for the next transaction; Busy if too many are queued."""
        with self._wake:
            if self._closing:
                raise StoreFailed("the store is closed")
            if len(self._queue) >= self.max_queued:
                raise Busy(f"{len(self._queue)} writes are waiting; try again later")
            self._queue.extend(items)
            if self._since is None:
                self._since = time.monotonic()
            self._wake.notify()

    @property
    def waited(self) -> float:
        """Approximate seconds that the oldest write has waited; 0 if there is none."""
        since = self._since
        return 0.0 if since is None else time.monotonic() - since

    @property
    def queued(self) -> int:
        """How many writes are queued."""
        return len(self._queue)

    def close(self) -> None:
        """Write what is queued, then stop."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        if self._session is not None:
            self._session.close()
            self._session = None

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closing:
                    self._wake.wait()
                if not self._queue:
                    return
                batch = self._next()
            try:
                acknowledge(self._write(batch))
            except ServiceError as error:
                refuse(batch, error)
            except Exception:  # the thread must survive, and every caller get an answer
                log.exception("a batch of writes failed")
                refuse(batch, StoreFailed("a batch failed; the service's log says why"))
            with self._wake:
                self._since = time.monotonic() if self._queue else None

    def _next(self) -> list[Item]:
        """Take what is queued, but not more bytes than go into a transaction."""
        size = 0
        for i, item in enumerate(self._queue):
            if isinstance(item, Append):
                size += len(item.draft.body)
                if i and size > MAX_BYTES:
                    batch, self._queue = self._queue[:i], self._queue[i:]
                    return batch
        batch, self._queue = self._queue, []
        return batch

    def _write(self, batch: list[Item]) -> Sequence[Item]:
        """Write a batch; return what may be acknowledged now, with its results."""
        appends = [item for item in batch if isinstance(item, Append)]
        calls = [item for item in batch if isinstance(item, Call)]
        try:
            session = self._reopen() if self._session is None else self._session
            _transact(session, appends, calls)
        except Exception as error:
            self._abandon()  # undo the transaction
            if not isinstance(error, self._failures):
                raise
            self.failing = f"the store could not write: {sentence(error)}"
            log.error(self.failing)
            raise StoreFailed(self.failing) from error
        self.batches += 1
        self.failing = None
        seqs = [append.result.seq for append in appends if isinstance(append.result, Entry)]
        self._last = max(seqs, default=self._last)
        return [*calls, *self.committed(appends)] if appends else calls

    def _abandon(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with suppress(*self._failures):
                session.close()

    def _reopen(self) -> sql.Session:
        session = self._connect()
        try:
            missed = sql.between(session, self._last) if self._alone else []
        except BaseException:
            session.close()
            raise
        self._session = session
        if missed:
            self._last = missed[-1].seq
            self.committed([Append(Draft(*entry[1:]), Future(), entry) for entry in missed])
        return session


def _transact(session: sql.Session, appends: list[Append], calls: list[Call]) -> None:
    """Append all drafts and make all calls in one transaction; set the result of each."""
    session.execute(sql.BEGIN)
    if appends:
        results = insert(session, [append.draft for append in appends])
        for append, result in zip(appends, results, strict=True):
            append.result = result
    for call in calls:
        try:
            call.result = call.work(session)
        except ServiceError as error:
            call.result = error
    session.execute("COMMIT")


def insert(session: sql.Session, drafts: list[Draft]) -> list[Entry | Duplicate]:
    """Append drafts to the log; return the entry of each, Duplicate where it cannot be appended.

    Many rows go into one statement, as each statement costs a change of threads.
    """
    # the row's lock makes the order of numbers that of commits
    counting = "UPDATE counter SET seq = seq + ? RETURNING seq"
    ((last,),) = session.execute(counting, (len(drafts),))
    entries = [Entry(seq, *draft[:6]) for seq, draft in enumerate(drafts, last - len(drafts) + 1)]
    inserted: set[int] = set()
    first = 0
    while first < len(entries):
        count = min(_MAX_ROWS, 1 << ((len(entries) - first).bit_length() - 1))
        chunk = entries[first : first + count]
        first += count
        args = [value for entry in chunk for value in (*entry, entry.checksum())]
        inserted.update(seq for (seq,) in session.execute(_INSERTS[count], args))
    return [
        entry if entry.seq in inserted else Duplicate(f"{entry.id} cannot be appended")
        for entry in entries
    ]


class Gathering:
    """Gather what an event loop submits in one turn: switching threads costs more than the work.

    ``submit`` gets all of it at once; what it raises is raised for every caller.
    """

    def __init__(self, submit: Callable[[list[Item]], None]) -> None:
        self._submit = submit
        self._gathered: dict[asyncio.AbstractEventLoop, list[Item]] = {}

    def add(self, kind: Callable[[Any, AnyFuture], Item], what: Any) -> asyncio.Future[Any]:
        """Submit an item of a kind for the running event loop; return the future of its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        gathered = self._gathered.setdefault(loop, [])
        gathered.append(kind(what, future))
        if len(gathered) == 1:
            loop.call_soon(self._hand_on, loop)
        return future

    def _hand_on(self, loop: asyncio.AbstractEventLoop) -> None:
        items = self._gathered.pop(loop)
        try:
            self._submit(items)
        except ServiceError as error:
            refuse(items, error)


def refuse(items: Sequence[Item], error: Exception) -> None:
    """Deliver an error to the callers of these items."""
    for item in items:
        item.result = error
    acknowledge(items)


def acknowledge(items: Sequence[Item]) -> None:
    """Deliver results: to threads directly, to each event loop with one wake-up."""
    loops: dict[asyncio.AbstractEventLoop, list[Item]] = {}
    for item in items:
        if isinstance(item.future, asyncio.Future):
            loops.setdefault(item.future.get_loop(), []).append(item)
        else:
            _set_results([item])
    for loop, waiting in loops.items():
        try:
            loop.call_soon_threadsafe(_set_results, waiting)
        except RuntimeError:
            log.error("could not deliver results: event loop closed")


def _set_results(items: Sequence[Item]) -> None:
    for item in items:
        if item.future.done():
            continue  # the client disconnected; the entry is in the log anyway
        if isinstance(item.result, BaseException):
            item.future.set_exception(item.result)
        else:
            item.future.set_result(item.result)
