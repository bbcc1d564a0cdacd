"""The store: models, keys, the log and snapshots, the same on every database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from longrank.service.errors import StoreDamaged, StoreFailed, sentence
from longrank.service.records import Draft, Entry
from longrank.service.sessions import Pool, Session
from longrank.service.snapshots import Snapshot
from longrank.service.tables import keys, log, models, schema, snapshots
from longrank.service.tables.keys import KeyRow
from longrank.service.tables.log import Settled
from longrank.service.tables.models import ModelRow
from longrank.service.writer import Writer

P = ParamSpec("P")
T = TypeVar("T")


class Store(ABC):
    """What every store can do. Subclasses say how to connect.

    ``exclusive`` says that no other process writes here.
    """

    exclusive = True
    failures: tuple[type[Exception], ...] = ()
    blob, key = "BLOB", "INTEGER PRIMARY KEY"

    def __init__(self, *, most_waiting: int = 4096) -> None:
        self._closed = False
        self._pool = Pool(lambda: self.connect(write=False))
        try:
            session = self.connect(write=True)
            try:
                self._prepare(session)
            finally:
                session.close()
            self.writer = Writer(lambda: self.connect(write=True), self.failures, most_waiting)
        except self.failures as error:
            raise self.failed(error) from error

    @abstractmethod
    def connect(self, *, write: bool) -> Session:
        """A new connection."""

    def failed(self, error: Exception) -> StoreFailed | StoreDamaged:
        """Our error for one of the database's."""
        return StoreFailed(f"the store failed: {sentence(error)}")

    def lead(self, model: int) -> bool:  # noqa: ARG002
        """Whether this process applies a model's outcomes, as one at a time does."""
        return True

    def worth_verifying(self) -> bool:
        """Whether all of it is read at the start."""
        return False

    def verify(self) -> None:
        """Read all of it; :class:`StoreDamaged` if something is not as it was written."""
        with self.reading() as session:
            for row in models.listed(session):
                after = 0
                while found := log.after(session, row.model, after, 1000):
                    after = found[-1].seq

    def close(self) -> None:
        """Write what waits, then close."""
        if not self._closed:
            self._closed = True
            self.writer.close()
            self._pool.close()

    # models and keys

    def models(self) -> list[ModelRow]:
        return self._read(models.listed)

    def floor(self, model: int) -> int:
        """The entry beyond which a model's log is whole."""
        return self._read(models.floor, model)

    def create_model(self, name: str, spec: bytes, created: float) -> int:
        """Its number, which is never used again; :class:`Conflict` if there is one."""
        return self._write(models.create, name, spec, created)

    def update_model(self, model: int, spec: bytes) -> None:
        self._write(models.update, model, spec)

    def delete_model(self, model: int) -> None:
        """The model and all that belongs to it."""
        self._write(models.delete, model)

    def all_keys(self) -> list[KeyRow]:
        return self._read(keys.listed)

    def add_key(self, key: KeyRow) -> None:
        self._write(keys.add, key)

    def delete_key(self, model: int, name: str) -> bool:
        """Whether there was one."""
        return self._write(keys.delete, model, name)

    # the log

    def append(self, draft: Draft) -> Future[Entry]:
        """Append to the log: see :meth:`Writer.append`."""
        return self.writer.append(draft)

    def find(self, model: int, name: str) -> tuple[Entry | None, Entry | None]:
        """A decision and its outcome."""
        return self._read(log.find, model, name)

    def after(self, model: int, seq: int, most: int = 1000) -> list[Entry]:
        """What follows in a model's log, in order."""
        return self._read(log.after, model, seq, most)

    def latest(self, model: int, before: int | None, most: int) -> list[Settled]:
        """Decisions with their outcomes, newest first."""
        return self._read(log.latest, model, before, most)

    def oldest(self, model: int, after: int, most: int) -> list[Settled]:
        """Decisions with their outcomes, oldest first."""
        return self._read(log.oldest, model, after, most)

    def pending(self, model: int, now: float) -> int:
        """How many decisions have no outcome and are not expired."""
        return self._read(log.pending, model, now)

    def overdue(self, model: int, since: float, now: float, most: int = 500) -> list[Entry]:
        """Decisions without an outcome that expired in this time."""
        return self._read(log.overdue, model, since, now, most)

    def drop(self, model: int, before: float, now: float, upto: int) -> int:
        """Forget decisions made before a time, and expired by now, up to an entry; how many."""
        return self._write(log.drop, model, before, now, upto)

    # snapshots

    def save_snapshot(self, model: int, snapshot: Snapshot) -> None:
        """Keep it, and forget all but the newest few."""
        self._write(snapshots.save, model, snapshot.seq, *snapshot.packed())

    def snapshots(self, model: int) -> list[Snapshot | StoreDamaged]:
        """The newest first; in place of a damaged one an error that says so."""
        return self._read(snapshots.listed, model)

    def publish(self, model: int, snapshot: Snapshot) -> None:
        """Let other processes have this state, unless they have a newer one."""
        self._write(snapshots.publish, model, snapshot.seq, *snapshot.packed())

    def published(self, model: int, beyond: int) -> Snapshot | None:
        """The published state, if it is newer than this."""
        return self._read(snapshots.published, model, beyond)

    # inside

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A connection of one's own for a while; the database's failures become ours."""
        try:
            with self._pool.lend() as session:
                yield session
        except self.failures as error:
            raise self.failed(error) from error

    def _read(
        self, work: Callable[Concatenate[Session, P], T], *args: P.args, **more: P.kwargs
    ) -> T:
        with self.reading() as session:
            return work(session, *args, **more)

    def _write(
        self, work: Callable[Concatenate[Session, P], T], *args: P.args, **more: P.kwargs
    ) -> T:
        return self.writer.call(lambda session: work(session, *args, **more))

    def _prepare(self, session: Session) -> None:
        schema.prepare(session, self.blob, self.key)
