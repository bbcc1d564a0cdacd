"""The store: models, keys, the log and snapshots, the same on every database."""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from urllib.parse import unquote

from longrank.service.errors import Busy, Stopped, StoreDamaged, StoreFailed, sentence
from longrank.service.store import sql
from longrank.service.store.records import Snapshot
from longrank.service.store.sql import Session
from longrank.service.store.writer import Writer

BATCH = 1000  # rows that are deleted in one transaction
MAX_READING = 16  # connections that read at the same time
PATIENCE = 5.0  # seconds to wait for one of them
P = ParamSpec("P")
T = TypeVar("T")
POSTGRES = ("postgresql://", "postgres://")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_PASSWORD = re.compile(r"\bpassword\s*=\s*('[^']*'|[^\s&]*)", re.IGNORECASE)


def open_store(where: str) -> Store:
    """Open a SQLite file by its path, or a PostgreSQL database by its URL."""
    try:
        if where.startswith(POSTGRES):
            from longrank.service.store.postgres import PostgresStore

            return PostgresStore(where)
        if _SCHEME.match(where) or _PASSWORD.search(where):
            begin = " or ".join(POSTGRES)
            raise StoreFailed(f"the store must be a path, or begin with {begin}")
        from longrank.service.store.sqlite import SqliteStore

        return SqliteStore(where)
    except (StoreFailed, StoreDamaged) as error:  # databases quote what they cannot parse
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


def _reads(work: Callable[Concatenate[Session, P], T]) -> Callable[Concatenate[Store, P], T]:
    """Make a method of a function that reads with a session."""

    @wraps(work)
    def method(self: Store, /, *args: P.args, **more: P.kwargs) -> T:
        return self._read(work, *args, **more)

    return method


def _writes(work: Callable[Concatenate[Session, P], T]) -> Callable[Concatenate[Store, P], T]:
    """Make a method of a function that writes with a session, in a transaction."""

    @wraps(work)
    def method(self: Store, /, *args: P.args, **more: P.kwargs) -> T:
        return self._write(work, *args, **more)

    return method


class Store(ABC):
    """Models, keys, the log and snapshots. Subclasses say how to connect.

    Every method may be called from any thread. Reads use a connection of a pool; writes go through
    the one :class:`Writer`. What :mod:`sql` says of a function holds for the method of that name.
    ``exclusive`` says that no other process writes here.
    """

    exclusive = True
    failures: tuple[type[Exception], ...] = ()
    blob, key = "BLOB", "INTEGER PRIMARY KEY"
    exists = "SELECT 1 FROM sqlite_master WHERE name = ?"

    def __init__(self) -> None:
        self._closed = False
        self._pool = _Pool(lambda: self.connect(write=False))
        with self.translated():
            with closing(self.connect(write=True)) as session:
                self._prepare(session)
            self.writer = Writer(
                lambda: self.connect(write=True), self.failures, alone=self.exclusive
            )

    @abstractmethod
    def connect(self, *, write: bool) -> Session:
        """Open a new connection."""

    def failed(self, error: Exception) -> StoreFailed | StoreDamaged:
        """Translate one of the database's errors into ours."""
        return StoreFailed(f"the store failed: {sentence(error)}")

    def lead(self, model: int) -> bool:  # noqa: ARG002
        """Whether this process does a model's upkeep; one process at a time does."""
        return True

    def renew(self, models: Collection[int]) -> None:  # noqa: B027
        """Renew the lease of the models that this process leads, and take those that are free.

        It must be called every second at least; the lease of other models is given up.
        """

    def probe(self) -> None:
        """Write something that changes nothing; StoreFailed if the store cannot be written."""
        self.writer.call(lambda session: sql.probe(session, self.exclusive))

    def stamp(self) -> object:
        """Return what changes when a model is made, changed or deleted; None if it is not known."""
        return None

    def worth_verifying(self) -> bool:
        """Whether the whole store is read at the start."""
        return False

    def verify(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Read the whole store; StoreDamaged if an entry is not as it was written.

        Stopped if ``stopping`` says so meanwhile.
        """
        with self.reading() as session:
            for row in sql.models(session):
                after = 0
                while found := sql.after(session, row.model, after, 1000):
                    after = found[-1].seq
                    if stopping():
                        raise Stopped("stopped while the store was read")

    def close(self) -> None:
        """Write what is queued, then close."""
        if not self._closed:
            self._closed = True
            self.writer.close()
            self._pool.close()

    # models and keys

    models = _reads(sql.models)
    floor = _reads(sql.floor)
    update_model = _writes(sql.update_model)

    def create_model(self, name: str, spec: bytes, created: float, first: Snapshot) -> int:
        """Create a model and its first snapshot, with which a replay begins, in one transaction.

        Return its number, which is never reused; Conflict if the name is taken.
        """
        return self._write(sql.create_model, name, spec, created, *first.packed())

    def delete_model(self, model: int) -> None:
        """Delete a model with its keys, snapshots and log, of the log a part at a time."""
        self._write(sql.delete_model, model)
        self._delete_log(model)

    def clean(self) -> None:
        """Delete the log of models whose deletion was interrupted."""
        for model in self._read(sql.leftover):
            self._delete_log(model)

    def _delete_log(self, model: int) -> None:
        while self._write(sql.delete_log, model, BATCH) == BATCH:
            pass

    all_keys = _reads(sql.keys)
    add_key = _writes(sql.add_key)
    expire_key = _writes(sql.expire_key)
    delete_key = _writes(sql.delete_key)
    events = _reads(sql.events)

    def keys_stamp(self) -> object:
        """Return what changes when a key is made, changed or deleted; None if it is not known."""
        return None

    # the log

    find = _reads(sql.find)
    numbers = _reads(sql.numbers)
    after = _reads(sql.after)
    last_seq = _reads(sql.last_seq)
    heads = _reads(sql.heads)
    between = _reads(sql.between)
    dropped_beyond = _reads(sql.dropped_beyond)
    latest = _reads(sql.latest)
    oldest = _reads(sql.oldest)
    pending = _reads(sql.pending)
    overdue = _reads(sql.overdue)
    count = _reads(sql.count)

    def drop(
        self, model: int, before: float, now: float, upto: int, limit: int | None = None
    ) -> int:
        """Delete decisions made before a time, expired by ``now``, up to an entry; count them.

        They are deleted a part at a time, so that appends need not wait for all of it, the oldest
        first, and at most ``limit``.
        """
        after, dropped = 0, 0
        while limit is None or dropped < limit:
            size = BATCH if limit is None else min(BATCH, limit - dropped)
            found = self._read(sql.old, model, after, upto, size)
            if not any(each.at < before for each in found):
                break  # and those after it are no older
            after = found[-1].seq
            ids = [
                each.id
                for each in found
                if each.at < before
                and each.expires <= now
                and (each.outcome is None or each.outcome <= upto)
            ]
            if ids:
                dropped += self._write(sql.drop, model, ids, upto)
        return dropped

    # snapshots

    snapshots = _reads(sql.snapshots)

    def save_snapshot(self, model: int, snapshot: Snapshot) -> None:
        """Store a snapshot; delete all but the newest few and the first."""
        self._write(sql.save_snapshot, model, snapshot.seq, *snapshot.packed())

    # inside

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Lend a connection to read from; the database's failures become ours."""
        with self.translated(), self._pool.lend() as session:
            yield session

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise the database's failures as ours."""
        try:
            yield
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
        sql.prepare(session, self.blob, self.key, self.exists)


class _Pool:
    """Connections lent to one reader at a time, and opened when none is free, up to a limit."""

    def __init__(self, connect: Callable[[], Session]) -> None:
        self._connect = connect
        self._places = threading.Semaphore(MAX_READING)
        self._free: list[Session] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[Session]:
        """Lend a connection; Busy if all are lent for long.

        After a failure it is closed and not reused, nor are the free ones.
        """
        if not self._places.acquire(timeout=PATIENCE):
            raise Busy(f"all {MAX_READING} connections that read are in use; try again later")
        try:
            with self._lock:
                session = self._free.pop() if self._free else None
            if session is None:
                session = self._connect()
            try:
                yield session
            except BaseException:
                session.close()
                self._clear()  # the others may be broken, too
                raise
            with self._lock:
                if not self._closed:
                    self._free.append(session)
                    return
            session.close()
        finally:
            self._places.release()

    def close(self) -> None:
        """Close the free connections; lent ones are closed when they are returned."""
        self._closed = True
        self._clear()

    def _clear(self) -> None:
        with self._lock:
            free, self._free = self._free, []
        for session in free:
            session.close()
