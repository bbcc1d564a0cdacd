"""The store: models, keys, the log and snapshots, the same on every database."""

from __future__ import annotations

import re
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar
from urllib.parse import unquote

from longrank.service.errors import StoreDamaged, StoreFailed, sentence
from longrank.service.store import sql
from longrank.service.store.records import Draft, Entry
from longrank.service.store.snapshots import Snapshot
from longrank.service.store.sql import KeyRow, ModelRow, Session, Settled
from longrank.service.store.writer import Writer

P = ParamSpec("P")
T = TypeVar("T")
POSTGRES = ("postgresql://", "postgres://")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_PASSWORD = re.compile(r"\bpassword\s*=\s*('[^']*'|[^\s&]*)", re.IGNORECASE)


def open_store(where: str, *, max_queued: int = 4096, most_waiting: int | None = None) -> Store:
    """Open a SQLite file by its path, or a PostgreSQL database by its URL.

    More than ``max_queued`` writes that wait are refused. ``most_waiting`` is its former name.
    """
    if most_waiting is not None:
        warnings.warn("most_waiting is now max_queued", DeprecationWarning, stacklevel=2)
        max_queued = most_waiting
    try:
        if where.startswith(POSTGRES):
            from longrank.service.store.postgres import PostgresStore

            return PostgresStore(where, max_queued=max_queued)
        if _SCHEME.match(where) or _PASSWORD.search(where):
            begin = " or ".join(POSTGRES)
            raise StoreFailed(f"the store must be a path, or begin with {begin}")
        from longrank.service.store.sqlite import SqliteStore

        return SqliteStore(where, max_queued=max_queued)
    except (StoreFailed, StoreDamaged) as error:  # databases quote what they cannot read
        if (text := hide_password(str(error), where)) == str(error):
            raise
        raise type(error)(text) from None


def plain_address(where: str) -> str:
    """Return the address of a store without user, password and options."""
    scheme, found, rest = where.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}" if found else where


def hide_password(text: str, where: str) -> str:
    """Replace what may be a password of a store's address, or a part of one, in a text."""
    _, found, rest = where.partition("://")
    secrets = [match[1] for match in _PASSWORD.finditer(where)]
    if found:
        secrets.append(rest.rpartition("@")[0].partition(":")[2])
    parts = {part for one in secrets for part in (one, unquote(one), *re.split("[/:@?#&]", one))}
    for part in sorted(parts, key=len, reverse=True):
        if part:
            text = re.sub(rf"(?<![A-Za-z]){re.escape(part)}(?![A-Za-z])", "***", text)
    return text


class Store(ABC):
    """Models, keys, the log and snapshots. Subclasses say how to connect.

    Every method may be called from any thread. Reads use a connection of a pool; writes go through
    the one :class:`Writer`. ``exclusive`` says that no other process writes here, ``outdated``
    that an older longrank made the store, and :meth:`upgrade` is due.
    """

    exclusive = True
    outdated = False
    failures: tuple[type[Exception], ...] = ()
    blob, key = "BLOB", "INTEGER PRIMARY KEY"

    def __init__(self, *, max_queued: int = 4096) -> None:
        self._closed = False
        self._pool = _Pool(lambda: self.connect(write=False))
        try:
            session = self.connect(write=True)
            try:
                self._prepare(session)
            finally:
                session.close()
            self.writer = Writer(lambda: self.connect(write=True), self.failures, max_queued)
        except self.failures as error:
            raise self.failed(error) from error

    @abstractmethod
    def connect(self, *, write: bool) -> Session:
        """Open a new connection."""

    def failed(self, error: Exception) -> StoreFailed | StoreDamaged:
        """Translate one of the database's errors into ours."""
        return StoreFailed(f"the store failed: {sentence(error)}")

    def lead(self, model: int) -> bool:  # noqa: ARG002
        """Whether this process applies a model's outcomes; one process at a time does."""
        return True

    def resign(self, model: int) -> None:  # noqa: B027
        """Let another process apply a model's outcomes."""

    def worth_verifying(self) -> bool:
        """Whether the whole store is read at the start."""
        return False

    def verify(self) -> None:
        """Read the whole store; StoreDamaged if an entry is not as it was written."""
        with self.reading() as session:
            for row in sql.models(session):
                after = 0
                while found := sql.after(session, row.model, after, 1000):
                    after = found[-1].seq

    def probe(self) -> None:
        """Write something that changes nothing; the error says why the store takes no writes.

        Where other processes write too, nothing is locked that they may need.
        """
        rewrite, nothing = "SET version = version", "SET version = 0 WHERE version < 0"
        sql = f"UPDATE format {rewrite if self.exclusive else nothing}"
        self.writer.call(lambda session: session.execute(sql))

    def close(self) -> None:
        """Write what is queued, then close."""
        if not self._closed:
            self._closed = True
            self.writer.close()
            self._pool.close()

    # models and keys

    def models(self) -> list[ModelRow]:
        """List the models by name."""
        return self._read(sql.models)

    def upgrade(self, firsts: Mapping[int, Snapshot]) -> None:
        """Bring an outdated store to the present format; ``firsts`` are the first snapshots."""
        self._write(sql.upgrade, {model: first.packed() for model, first in firsts.items()})
        self.outdated = False

    def floor(self, model: int) -> int:
        """Return the entry after which a model's log is complete."""
        return self._read(sql.floor, model)

    def create_model(self, name: str, spec: bytes, created: float, first: Snapshot) -> int:
        """Create a model and its first snapshot, with which a replay begins, in one transaction.

        Return its number, which is never reused; Conflict if the name is taken.
        """
        return self._write(sql.create_model, name, spec, created, *first.packed())

    def update_model(self, model: int, spec: bytes) -> None:
        """Replace a model's spec."""
        self._write(sql.update_model, model, spec)

    def delete_model(self, model: int) -> None:
        """Delete a model with its keys, log and snapshots."""
        self._write(sql.delete_model, model)

    def all_keys(self) -> list[KeyRow]:
        """List all keys, oldest first."""
        return self._read(sql.keys)

    def add_key(self, key: KeyRow) -> None:
        """Add a key."""
        self._write(sql.add_key, key)

    def delete_key(self, model: int, name: str) -> bool:
        """Delete a key; return whether it existed."""
        return self._write(sql.delete_key, model, name)

    # the log

    def append(self, draft: Draft) -> Future[Entry]:
        """Append to the log: see :meth:`Writer.append`."""
        return self.writer.append(draft)

    def find(self, model: int, name: str) -> tuple[Entry | None, Entry | None]:
        """Return a decision and its outcome, by the decision's id."""
        return self._read(sql.find, model, name)

    def after(self, model: int, seq: int, limit: int = 1000) -> list[Entry]:
        """Return a model's entries after ``seq``, in order."""
        return self._read(sql.after, model, seq, limit)

    def latest(self, model: int, before: int | None, limit: int) -> list[Settled]:
        """Return decisions with their outcomes, newest first."""
        return self._read(sql.latest, model, before, limit)

    def oldest(self, model: int, after: int, limit: int) -> list[Settled]:
        """Return decisions with their outcomes, oldest first."""
        return self._read(sql.oldest, model, after, limit)

    def pending(self, model: int, now: float) -> int:
        """Count decisions that have no outcome and have not expired."""
        return self._read(sql.pending, model, now)

    def overdue(self, model: int, since: float, now: float, limit: int = 500) -> list[Entry]:
        """Return decisions without an outcome that expired after ``since`` and by ``now``."""
        return self._read(sql.overdue, model, since, now, limit)

    def drop(self, model: int, before: float, now: float, upto: int) -> int:
        """Delete decisions made before a time, expired by ``now``, up to an entry; count them."""
        return self._write(sql.drop, model, before, now, upto)

    # snapshots

    def save_snapshot(self, model: int, snapshot: Snapshot) -> None:
        """Store a snapshot; delete all but the newest few and the first."""
        self._write(sql.save_snapshot, model, snapshot.seq, *snapshot.packed())

    def snapshots(self, model: int) -> list[Snapshot | StoreDamaged]:
        """List a model's snapshots, newest first; an error in place of a damaged one."""
        return self._read(sql.snapshots, model)

    def publish(self, model: int, snapshot: Snapshot) -> None:
        """Publish a state to other processes, unless a newer one is published."""
        self._write(sql.publish, model, snapshot.seq, *snapshot.packed())

    def published(self, model: int, beyond: int) -> Snapshot | None:
        """Return the published state if it is newer than entry ``beyond``."""
        return self._read(sql.published, model, beyond)

    # inside

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Lend a connection to read from; the database's failures become ours."""
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
        self.outdated = sql.prepare(session, self.blob, self.key) < sql.FORMAT


class _Pool:
    """Connections lent to one reader at a time, and opened when none is free."""

    def __init__(self, connect: Callable[[], Session]) -> None:
        self._connect = connect
        self._free: list[Session] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[Session]:
        """Lend a connection; after a failure it is closed and not reused."""
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
        """Close the free connections; lent ones are closed when they are returned."""
        with self._lock:
            self._closed = True
            while self._free:
                self._free.pop().close()
