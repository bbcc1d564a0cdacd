"""The store in a PostgreSQL database: several service processes on one log.

All of them append, and each applies the whole log to its models. The row of ``counter`` orders the
commits, so that numbers become visible in order. Whoever stops within a transaction would keep that
row locked, so the server ends a session that is idle in a transaction for ``IDLE`` seconds; nobody
waits longer than that for another process.

The upkeep of a model (snapshots, expiry, retention) is done by the process that has its lease: an
advisory lock of a session that the server ends once it has been silent for ``LEASE`` seconds.
Snapshots are written through that session, so that a process that was stopped and woken, and does
not know yet that it has lost the lease, can write none.
"""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Concatenate, ParamSpec, TypeVar

import psycopg

from longrank.service.errors import StoreDamaged, StoreFailed, sentence
from longrank.service.store import sql
from longrank.service.store.records import Snapshot
from longrank.service.store.sql import Session
from longrank.service.store.store import Store

LOCK = 0x6C72  # "lr": the class of the advisory lock that guards the schema
UPKEEP = LOCK + 1  # the class of the leases
IDLE = 2.0  # idle_in_transaction_session_timeout, seconds
LEASE = 3.0  # idle_session_timeout of the session with the leases, seconds
CERTAIN = LEASE - 1.0  # seconds after which a process no longer relies on its leases
LOCK_WAIT = 3.0  # seconds that a statement waits for a lock
PREPARING = 4.0  # seconds that a process may be silent while it creates tables
APPEND = 4.0  # seconds that a statement of the writer may take
STATEMENT = 30.0  # seconds that any other may take
CONNECT = 3  # seconds to connect
_CLIENT: dict[str, Any] = {
    "connect_timeout": CONNECT,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    "tcp_user_timeout": 4000,
    "client_encoding": "utf8",
    "application_name": "longrank",
}
_SERVER = {
    "synchronous_commit": "on",
    "client_min_messages": "warning",
    "lock_timeout": f"{1000 * LOCK_WAIT:.0f}",  # milliseconds
    "idle_in_transaction_session_timeout": f"{1000 * IDLE:.0f}",
    "tcp_keepalives_idle": "5s",
    "tcp_keepalives_interval": "2s",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "10s",
}
P = ParamSpec("P")
T = TypeVar("T")


class PostgresSession:
    """A connection to the database."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection

    def execute(self, sql: str, args: Sequence[Any] = (), /) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(_translated(sql), args or None, prepare=bool(args))
        return cursor.fetchall() if cursor.description is not None else []

    def close(self) -> None:
        self._connection.close()


class PostgresStore(Store):
    """A store for any number of processes. A commit is on the server's disk when acknowledged."""

    exclusive = False
    failures = (psycopg.Error, OSError)
    blob, key = "BYTEA", "BIGINT PRIMARY KEY"
    exists = "SELECT 1 FROM to_regclass(?) AS found WHERE found IS NOT NULL"

    def __init__(self, url: str) -> None:
        self._url = url
        self._leases = _Leases(self)
        super().__init__()

    def connect(self, *, write: bool) -> Session:
        return self.open(statement_timeout=APPEND if write else STATEMENT)

    def open(self, **seconds: float) -> Session:
        """Open a connection with these settings of the server."""
        settings = _SERVER | {name: f"{1000 * value:.0f}" for name, value in seconds.items()}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        return PostgresSession(
            psycopg.connect(self._url, autocommit=True, options=options, **_CLIENT)
        )

    def failed(self, error: Exception) -> StoreFailed | StoreDamaged:
        if isinstance(error, psycopg.errors.DataCorrupted | psycopg.errors.IndexCorrupted):
            what = sentence(error)
            return StoreDamaged(f"the database is damaged: {what}; restore it from a backup")
        return super().failed(error)

    def lead(self, model: int) -> bool:
        return self._leases.holds(model)

    def renew(self, models: Collection[int]) -> None:
        with self.translated():
            self._leases.renew(models)

    def save_snapshot(self, model: int, snapshot: Snapshot) -> None:
        if not self.lead(model):
            super().save_snapshot(model, snapshot)
            return
        body, total = snapshot.packed()
        with self.translated():
            self._leases.write(lambda s: sql.save_snapshot(s, model, snapshot.seq, body, total))

    def stamp(self) -> object:
        digest = "count(*), coalesce(sum(hashtextextended(encode(spec, 'hex'), model)), 0)"
        return self._read(lambda session: session.execute(f"SELECT {digest} FROM models"))

    def keys_stamp(self) -> object:
        digest = "hashtextextended(id || ' ' || coalesce(expires::text, ''), model)"
        found = f"SELECT count(*), coalesce(sum({digest}), 0) FROM keys"
        return self._read(lambda session: session.execute(found))

    def close(self) -> None:
        self._leases.close()
        super().close()

    def _write(
        self, work: Callable[Concatenate[Session, P], T], *args: P.args, **more: P.kwargs
    ) -> T:
        """Write with a connection of the pool, so that appends do not wait for it."""
        with self.reading() as session:
            return _transact(session, lambda found: work(found, *args, **more))

    def _prepare(self, session: Session) -> None:
        """Create what is missing, one process after the other; the next waits for its turn."""
        for silence in ("idle_session_timeout", "idle_in_transaction_session_timeout"):
            session.execute(f"SET {silence} = {1000 * PREPARING:.0f}")
        for duration in ("statement_timeout", "lock_timeout"):
            session.execute(f"SET {duration} = {1000 * STATEMENT:.0f}")
        session.execute("SELECT pg_advisory_lock(?, 0)", (LOCK,))
        session.execute(f"SET lock_timeout = {1000 * LOCK_WAIT:.0f}")
        try:
            super()._prepare(session)
        finally:
            with suppress(*self.failures):
                session.execute("SELECT pg_advisory_unlock(?, 0)", (LOCK,))


class _Leases:
    """The leases of this process, and the session that they last as long as."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._session: Session | None = None
        self._held: set[int] = set()
        self._renewed = 0.0  # of the monotonic clock, which a process that is stopped cannot stop
        self._lock = threading.Lock()

    def holds(self, model: int) -> bool:
        """Return whether the lease of a model is certain to be this process's."""
        return model in self._held and time.monotonic() - self._renewed < CERTAIN

    def renew(self, models: Collection[int]) -> None:
        """Renew the leases; take those of other models that are free, and give up the rest."""
        with self._lock:
            try:
                self._renew(models)
            except self._store.failures:  # the server ended the session, and with it the leases
                self._abandon()
                try:
                    self._renew(models)
                except self._store.failures:
                    self._abandon()
                    raise

    def _renew(self, models: Collection[int]) -> None:
        began = time.monotonic()
        if self._session is None:
            timeouts = {"statement_timeout": STATEMENT, "idle_session_timeout": LEASE}
            self._session = self._store.open(**timeouts)
        wanted = sorted(set(models) - self._held)
        take = "SELECT m FROM unnest(?::int[]) AS m WHERE pg_try_advisory_lock(?, m)"
        taken = self._session.execute(take, (wanted, UPKEEP))
        self._held.update(model for (model,) in taken)
        for model in self._held - set(models):
            self._session.execute("SELECT pg_advisory_unlock(?, ?)", (UPKEEP, model))
            self._held.discard(model)
        self._renewed = began

    def write(self, work: Callable[[Session], T]) -> T:
        """Write as the holder of the leases: it fails if the server has ended the session."""
        with self._lock:
            if self._session is None:
                raise psycopg.OperationalError("the lease is lost")
            try:
                return _transact(self._session, work)
            except BaseException:
                self._abandon()
                raise

    def close(self) -> None:
        """Give up all leases."""
        with self._lock:
            self._abandon()

    def _abandon(self) -> None:
        session, self._session = self._session, None
        self._held.clear()
        if session is not None:
            with suppress(*self._store.failures):
                session.close()


def _transact(session: Session, work: Callable[[Session], T]) -> T:
    """Do work in a transaction; the lender closes the session after a failure."""
    session.execute(sql.BEGIN)
    result = work(session)
    session.execute("COMMIT")
    return result


@cache
def _translated(sql: str) -> str:
    """Return a statement in PostgreSQL's words, with psycopg's placeholder."""
    return sql.replace("?", "%s").removesuffix(" IMMEDIATE")
