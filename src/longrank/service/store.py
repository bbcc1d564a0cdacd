"""The store: models, keys, the log and snapshots, the same on every database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, NamedTuple

from longrank.service.errors import Conflict, StoreDamaged, StoreFailed
from longrank.service.records import DECISION, FORMAT, Draft, Entry, blob, checked
from longrank.service.snapshots import Snapshot, read_snapshot
from longrank.service.writer import Session, Writer

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS format(version BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS counter(seq BIGINT NOT NULL, model BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS models(model BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "created DOUBLE PRECISION NOT NULL, floor BIGINT NOT NULL, spec {blob} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS keys(digest {blob} PRIMARY KEY, model BIGINT NOT NULL, "
    "id TEXT NOT NULL, created DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE IF NOT EXISTS log(seq {key}, model BIGINT NOT NULL, "
    "kind BIGINT NOT NULL, id TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, "
    "expires DOUBLE PRECISION NOT NULL, body {blob} NOT NULL, sum {blob} NOT NULL)",
    "CREATE UNIQUE INDEX IF NOT EXISTS log_id ON log(model, id, kind)",
    "CREATE INDEX IF NOT EXISTS log_expires ON log(model, expires) WHERE kind = 0",
    "CREATE INDEX IF NOT EXISTS log_order ON log(model, seq)",
    "CREATE TABLE IF NOT EXISTS snapshots(model BIGINT NOT NULL, seq BIGINT NOT NULL, "
    "body {blob} NOT NULL, sum {blob} NOT NULL, PRIMARY KEY(model, seq))",
    "CREATE TABLE IF NOT EXISTS published(model BIGINT PRIMARY KEY, seq BIGINT NOT NULL, "
    "body {blob} NOT NULL, sum {blob} NOT NULL)",
)
_ENTRY = "seq, model, kind, id, at, expires, body, sum"
_OPEN = "NOT EXISTS(SELECT 1 FROM log o WHERE o.model = d.model AND o.id = d.id AND o.kind = 1)"
KEPT_SNAPSHOTS = 3


class ModelRow(NamedTuple):
    """A model as it stands in the store."""

    model: int
    name: str
    created: float
    floor: int  # the log is whole beyond this entry only; older decisions were dropped
    spec: bytes


class KeyRow(NamedTuple):
    """A key as it stands in the store: its SHA-256, never the key."""

    digest: bytes
    model: int
    id: str
    created: float


class Store:
    """What every store can do. Subclasses say how to connect.

    ``exclusive`` says that no other process writes here.
    """

    exclusive = True
    failures: tuple[type[Exception], ...] = ()
    blob, key = "BLOB", "INTEGER PRIMARY KEY"

    def __init__(self, *, most_waiting: int = 4096) -> None:
        self._pool: list[Session] = []
        self._lock = threading.Lock()
        self._closed = False
        try:
            session = self.connect(write=True)
            try:
                self._prepare(session)
            finally:
                session.close()
            self.writer = Writer(
                lambda: self.connect(write=True), self.failures, self._behind, most_waiting
            )
        except self.failures as error:
            raise self.failed(error) from error

    def connect(self, *, write: bool) -> Session:
        """A new connection."""
        raise NotImplementedError

    def failed(self, error: Exception) -> StoreFailed | StoreDamaged:
        """Our error for one of the database's."""
        return StoreFailed(f"the store failed: {error}")

    def lead(self, model: int) -> bool:  # noqa: ARG002
        """Whether this process applies a model's outcomes, as one at a time does."""
        return True

    def verify(self) -> None:
        """Read all of it; :class:`StoreDamaged` if something is not as it was written."""
        with self.reading() as session:
            for row in session.execute("SELECT model FROM models"):
                after = 0
                while found := self._after(session, row[0], after, 1000):
                    after = found[-1].seq

    def close(self) -> None:
        """Write what waits, then close."""
        if not self._closed:
            self._closed = True
            self.writer.close()
            with self._lock:
                while self._pool:
                    self._pool.pop().close()

    # models and keys

    def models(self) -> list[ModelRow]:
        with self.reading() as session:
            rows = session.execute(
                "SELECT model, name, created, floor, spec FROM models ORDER BY name"
            )
            return [ModelRow(row[0], row[1], row[2], row[3], blob(row[4])) for row in rows]

    def create_model(self, name: str, spec: bytes, created: float) -> int:
        """Its number, which is never used again; :class:`Conflict` if there is one."""

        def work(session: Session) -> int:
            model: int = session.execute("UPDATE counter SET model = model + 1 RETURNING model")[0][
                0
            ]
            if not session.execute(
                "INSERT INTO models(model, name, created, floor, spec) VALUES(?, ?, ?, 0, ?) "
                "ON CONFLICT DO NOTHING RETURNING model",
                (model, name, created, spec),
            ):
                raise Conflict(f"there is a model {name!r} already")
            return model

        return self.writer.call(work)

    def update_model(self, model: int, spec: bytes) -> None:
        sql = "UPDATE models SET spec = ? WHERE model = ?"
        self.writer.call(lambda session: session.execute(sql, (spec, model)))

    def delete_model(self, model: int) -> None:
        """The model and all that belongs to it."""

        def work(session: Session) -> None:
            for table in ("models", "keys", "log", "snapshots", "published"):
                session.execute(f"DELETE FROM {table} WHERE model = ?", (model,))

        self.writer.call(work)

    def add_key(self, key: KeyRow) -> None:
        sql = "INSERT INTO keys(digest, model, id, created) VALUES(?, ?, ?, ?)"
        self.writer.call(lambda session: session.execute(sql, key))

    def delete_key(self, model: int, name: str) -> bool:
        sql = "DELETE FROM keys WHERE model = ? AND id = ? RETURNING id"
        return bool(self.writer.call(lambda session: session.execute(sql, (model, name))))

    def all_keys(self) -> list[KeyRow]:
        with self.reading() as session:
            rows = session.execute("SELECT digest, model, id, created FROM keys ORDER BY created")
            return [KeyRow(blob(digest), model, name, at) for digest, model, name, at in rows]

    # the log

    def append(self, draft: Draft) -> Future[Entry]:
        """Append to the log: see :meth:`Writer.append`."""
        return self.writer.append(draft)

    def find(self, model: int, name: str) -> tuple[Entry | None, Entry | None]:
        """A decision and its outcome."""
        sql = f"SELECT {_ENTRY} FROM log WHERE model = ? AND id = ?"
        with self.reading() as session:
            found = {row[2]: checked(row) for row in session.execute(sql, (model, name))}
        return found.get(0), found.get(1)

    def after(self, model: int, seq: int, most: int = 1000) -> list[Entry]:
        """What follows in a model's log, in order."""
        with self.reading() as session:
            return self._after(session, model, seq, most)

    def latest(self, model: int, before: int | None, most: int) -> list[tuple[Entry, Entry | None]]:
        """Decisions with their outcomes, newest first."""
        below = 2**62 if before is None else before
        sql = (
            f"SELECT {_ENTRY} FROM log WHERE model = ? AND kind = 0 AND seq < ? "
            "ORDER BY seq DESC LIMIT ?"
        )
        with self.reading() as session:
            return self._settled(session, session.execute(sql, (model, below, most)))

    def oldest(self, model: int, after: int, most: int) -> list[tuple[Entry, Entry | None]]:
        """Decisions with their outcomes, oldest first."""
        sql = (
            f"SELECT {_ENTRY} FROM log WHERE model = ? AND kind = 0 AND seq > ? "
            "ORDER BY seq LIMIT ?"
        )
        with self.reading() as session:
            return self._settled(session, session.execute(sql, (model, after, most)))

    def pending(self, model: int, now: float) -> int:
        """How many decisions have no outcome and are not expired."""
        sql = f"SELECT count(*) FROM log d WHERE model = ? AND kind = 0 AND expires > ? AND {_OPEN}"
        with self.reading() as session:
            number: int = session.execute(sql, (model, now))[0][0]
            return number

    def overdue(self, model: int, since: float, now: float, most: int = 500) -> list[Entry]:
        """Decisions without an outcome that expired in this time."""
        sql = (
            f"SELECT {_ENTRY} FROM log d WHERE model = ? AND kind = 0 AND expires > ? "
            f"AND expires <= ? AND {_OPEN} ORDER BY expires LIMIT ?"
        )
        with self.reading() as session:
            return [checked(row) for row in session.execute(sql, (model, since, now, most))]

    def drop(self, model: int, before: float, now: float, upto: int) -> int:
        """Forget decisions made before a time, and expired by now, up to an entry; how many."""
        old = (
            "SELECT d.id FROM log d LEFT JOIN log o ON o.model = d.model AND o.id = d.id "
            "AND o.kind = 1 WHERE d.model = ? AND d.kind = 0 AND d.expires <= ? AND d.at < ? "
            "AND d.seq <= ? AND (o.seq IS NULL OR o.seq <= ?)"
        )
        sql = f"DELETE FROM log WHERE model = ? AND id IN ({old}) RETURNING kind"
        args = (model, model, now, before, upto, upto)
        floor = "UPDATE models SET floor = ? WHERE model = ? AND floor < ?"

        def work(session: Session) -> int:
            kinds = session.execute(sql, args)
            if kinds:
                session.execute(floor, (upto, model, upto))
            return sum(kind == DECISION for (kind,) in kinds)

        return self.writer.call(work)

    # snapshots

    def save_snapshot(self, model: int, snapshot: Snapshot) -> None:
        """Keep it, and forget all but the newest few."""
        body, total = snapshot.packed()

        def work(session: Session) -> None:
            session.execute(
                "INSERT INTO snapshots(model, seq, body, sum) VALUES(?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (model, snapshot.seq, body, total),
            )
            session.execute(
                "DELETE FROM snapshots WHERE model = ? AND seq NOT IN (SELECT seq FROM snapshots "
                "WHERE model = ? ORDER BY seq DESC LIMIT ?)",
                (model, model, KEPT_SNAPSHOTS),
            )

        self.writer.call(work)

    def snapshots(self, model: int) -> Iterator[Snapshot | StoreDamaged]:
        """The newest first; in place of a damaged one an error that says so."""
        sql = "SELECT seq, body, sum FROM snapshots WHERE model = ? ORDER BY seq DESC"
        with self.reading() as session:
            rows = session.execute(sql, (model,))
        for seq, body, total in rows:
            yield read_snapshot(seq, blob(body), blob(total))

    def publish(self, model: int, snapshot: Snapshot) -> None:
        """Let other processes have this state, unless they have a newer one."""
        body, total = snapshot.packed()
        sql = (
            "INSERT INTO published(model, seq, body, sum) VALUES(?, ?, ?, ?) ON CONFLICT(model) "
            "DO UPDATE SET seq = excluded.seq, body = excluded.body, sum = excluded.sum "
            "WHERE published.seq < excluded.seq"
        )
        args = (model, snapshot.seq, body, total)
        self.writer.call(lambda session: session.execute(sql, args))

    def published(self, model: int, beyond: int) -> Snapshot | None:
        """The published state, if it is newer than this."""
        sql = "SELECT seq, body, sum FROM published WHERE model = ? AND seq > ?"
        with self.reading() as session:
            rows = session.execute(sql, (model, beyond))
        if not rows:
            return None
        found = read_snapshot(rows[0][0], blob(rows[0][1]), blob(rows[0][2]))
        return found if isinstance(found, Snapshot) else None

    # inside

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A connection of one's own for a while; the database's failures become ours."""
        with self._lock:
            session = self._pool.pop() if self._pool else None
        try:
            if session is None:
                session = self.connect(write=False)
            yield session
        except self.failures as error:
            if session is not None:
                session.close()
            raise self.failed(error) from error
        except BaseException:
            if session is not None:
                session.close()
            raise
        with self._lock:
            if not self._closed:
                self._pool.append(session)
                return
        session.close()

    def _prepare(self, session: Session) -> None:
        session.begin()
        for statement in SCHEMA:
            session.execute(statement.format(blob=self.blob, key=self.key))
        rows = session.execute("SELECT version FROM format")
        if not rows:
            session.execute("INSERT INTO format(version) VALUES(?)", (FORMAT,))
            session.execute("INSERT INTO counter(seq, model) VALUES(0, 0)")
        session.commit()
        if rows and rows[0][0] != FORMAT:
            raise StoreDamaged(
                f"the store has format version {rows[0][0]}; this longrank reads {FORMAT}"
            )

    @staticmethod
    def _settled(session: Session, rows: list[tuple[Any, ...]]) -> list[tuple[Entry, Entry | None]]:
        sql = f"SELECT {_ENTRY} FROM log WHERE model = ? AND id = ? AND kind = 1"
        result: list[tuple[Entry, Entry | None]] = []
        for entry in map(checked, rows):
            found = session.execute(sql, (entry.model, entry.id))
            result.append((entry, checked(found[0]) if found else None))
        return result

    @staticmethod
    def _after(session: Session, model: int, seq: int, most: int) -> list[Entry]:
        sql = f"SELECT {_ENTRY} FROM log WHERE model = ? AND seq > ? ORDER BY seq LIMIT ?"
        return [checked(row) for row in session.execute(sql, (model, seq, most))]

    @staticmethod
    def _behind(session: Session, seq: int) -> list[Entry]:
        sql = f"SELECT {_ENTRY} FROM log WHERE seq > ? ORDER BY seq"
        return [checked(row) for row in session.execute(sql, (seq,))]
