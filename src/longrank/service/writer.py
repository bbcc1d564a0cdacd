"""Group commit: one thread writes; all that wait are written in one transaction with one fsync."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from longrank.service.errors import Busy, ServiceError, StoreFailed, sentence
from longrank.service.records import Draft, Entry
from longrank.service.sessions import Session
from longrank.service.tables.append import append_all, last_number
from longrank.service.tables.log import behind

T = TypeVar("T")
Committed = Callable[[list[tuple[Entry, Any]]], None]
log = logging.getLogger("longrank.service")


class _Job(NamedTuple):
    """Drafts to append, or a call to make; ``done`` gets a result or an exception for each."""

    drafts: list[Draft]
    call: Callable[[Session], Any] | None
    done: Callable[[list[Any]], None]


class Writer:
    """Runs what is submitted, in order, in its own thread and with its own connection.

    ``failures`` are the exceptions that a session raises where the database failed. After one
    nothing of the batch is acknowledged, and the connection is opened anew before the next; then
    the log is read from where it was, since a commit that failed may have reached it all the same.

    ``committed`` is told what was appended, and what the draft said is known of it, after the
    commit and before anybody who waits.
    """

    def __init__(
        self,
        connect: Callable[[], Session],
        failures: tuple[type[Exception], ...],
        most_waiting: int,
    ) -> None:
        self._connect, self._failures = connect, failures
        self.most_waiting = most_waiting
        self.committed: Committed = lambda entries: None  # noqa: ARG005
        self.batches = 0
        self._queue: list[_Job] = []
        self._wake = threading.Condition()
        self._closing = False
        self._waiting = 0
        self._session: Session | None = connect()
        self._last = last_number(self._session)
        self._thread = threading.Thread(target=self._run, name="longrank-writer", daemon=True)
        self._thread.start()

    def append(self, draft: Draft) -> Future[Entry]:
        """Append to the log; done when it is durable, or with Duplicate if it is there."""
        future: Future[Entry] = Future()
        self._submit(_Job([draft], None, lambda results: _settle(future, results[0])))
        return future

    def append_all(self, drafts: list[Draft], done: Callable[[list[Any]], None]) -> None:
        """Append several; ``done`` gets an entry or an exception for each, in this thread."""
        self._submit(_Job(drafts, None, done))

    def call(self, work: Callable[[Session], T]) -> T:
        """Run something else in a transaction, and wait for it."""
        future: Future[T] = Future()
        self._submit(_Job([], work, lambda results: _settle(future, results[0])))
        return future.result()

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

    def _submit(self, job: _Job) -> None:
        with self._wake:
            if self._closing:
                raise StoreFailed("the store is closed")
            if self._waiting >= self.most_waiting:
                raise Busy(f"{self._waiting} writes are waiting; try again later")
            self._waiting += len(job.drafts) or 1
            self._queue.append(job)
            self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closing:
                    self._wake.wait()
                if not self._queue:
                    return
                jobs, self._queue = self._queue, []
                self._waiting = 0
            try:
                results = self._write(jobs)
            except ServiceError as error:
                results = _refused(jobs, error)
            except Exception:  # the thread must live, and nobody may wait for ever
                log.exception("a batch failed")
                results = _refused(jobs, StoreFailed("a batch failed; the service's log says why"))
            for job, result in zip(jobs, results, strict=True):
                try:
                    job.done(result)
                except Exception:  # its event loop is gone; the others still wait
                    log.exception("somebody could not be told")

    def _write(self, jobs: list[_Job]) -> list[list[Any]]:
        """What became of each job, after it is durable and applied."""
        try:
            session = self._reopened() if self._session is None else self._session
            results = self._transaction(session, jobs)
        except Exception as error:
            self._abandon()  # nothing of it may be left half done
            if not isinstance(error, self._failures):
                raise
            reason = f"the store could not write: {sentence(error)}"
            log.error(reason)
            raise StoreFailed(reason) from error
        self.batches += 1
        fresh = [
            (entry, draft.known)
            for job, result in zip(jobs, results, strict=True)
            for draft, entry in zip(job.drafts, result, strict=False)  # calls have no drafts
            if isinstance(entry, Entry)
        ]
        if fresh:
            self._last = fresh[-1][0].seq
            self.committed(fresh)
        return results

    @staticmethod
    def _transaction(session: Session, jobs: list[_Job]) -> list[list[Any]]:
        session.begin()
        drafts = [draft for job in jobs for draft in job.drafts]
        appended = iter(append_all(session, drafts) if drafts else [])
        results: list[list[Any]] = []
        for job in jobs:
            if job.call is None:
                results.append([next(appended) for _ in job.drafts])
                continue
            try:
                results.append([job.call(session)])
            except ServiceError as error:
                results.append([error])
        session.commit()
        return results

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
            missed = behind(session, self._last)
        except BaseException:
            session.close()
            raise
        self._session = session
        if missed:
            self._last = missed[-1].seq
            self.committed([(entry, None) for entry in missed])
        return session


def _refused(jobs: list[_Job], error: Exception) -> list[list[Any]]:
    return [[error] * (len(job.drafts) or 1) for job in jobs]


def _settle(future: Future[T], result: T | Exception) -> None:
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
