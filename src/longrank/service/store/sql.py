"""Every SQL statement, as functions of a session: the same on every database."""

import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from longrank.service.errors import Conflict, StoreDamaged
from longrank.service.store.records import (
    DECISION,
    OUTCOME,
    Entry,
    Snapshot,
    blob,
    checked,
    read_snapshot,
)

MAX_SNAPSHOTS = 3  # of each model, beside the first; older ones are deleted
Settled = tuple[Entry, Entry | None]  # a decision and its outcome
BEGIN = "BEGIN IMMEDIATE"


class Session(Protocol):
    """A connection to a database. Closing it undoes a transaction that is not committed."""

    def execute(self, sql: str, args: Any = (), /) -> Iterable[tuple[Any, ...]]:
        """Run one statement with ``?`` for arguments; return its rows."""

    def close(self) -> None:
        """Close the connection."""


class ModelRow(NamedTuple):
    """A row of the table of models."""

    model: int
    name: str
    created: float
    floor: int  # the log is complete after this entry only; older decisions were dropped
    spec: bytes


class KeyRow(NamedTuple):
    """A row of the table of keys: a key's SHA-256, never the key."""

    digest: bytes
    model: int
    id: str
    created: float
    expires: float | None = None  # None: never


class EventRow(NamedTuple):
    """A row of the table of events: who did what, and to what."""

    at: float
    who: str
    what: str
    model: str
    detail: str


# schema

SCHEMA = {
    "format": "TABLE format(version BIGINT NOT NULL)",
    "counter": "TABLE counter(seq BIGINT NOT NULL, model BIGINT NOT NULL)",
    "models": "TABLE models(model BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "created DOUBLE PRECISION NOT NULL, floor BIGINT NOT NULL, spec {blob} NOT NULL)",
    "keys": "TABLE keys(digest {blob} PRIMARY KEY, model BIGINT NOT NULL, "
    "id TEXT NOT NULL, created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION)",
    "log": "TABLE log(seq {key}, model BIGINT NOT NULL, "
    "kind BIGINT NOT NULL, id TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, "
    "expires DOUBLE PRECISION NOT NULL, body {blob} NOT NULL, sum {blob} NOT NULL)",
    "log_id": "UNIQUE INDEX log_id ON log(model, id, kind)",
    "log_expires": "INDEX log_expires ON log(model, expires) WHERE kind = 0",
    "log_order": "INDEX log_order ON log(model, seq)",
    "snapshots": "TABLE snapshots(model BIGINT NOT NULL, seq BIGINT NOT NULL, "
    "body {blob} NOT NULL, sum {blob} NOT NULL, PRIMARY KEY(model, seq))",
    "events": "TABLE events(event TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL, "
    "who TEXT NOT NULL, what TEXT NOT NULL, model TEXT NOT NULL, detail TEXT NOT NULL)",
    "events_order": "INDEX events_order ON events(at, event)",
}
# What brings a store of version 1 to 2, of 2 to 3, and so on. The version of a store is the number
# of migrations that it has had, plus one; a migration's table in SCHEMA is as it is afterwards.
MIGRATIONS: list[Callable[[Session], None]] = []


def prepare(session: Session, blob: str, key: str, exists: str) -> None:
    """Create the tables, or bring those of an older version to the present one.

    ``blob`` and ``key`` are the database's names of these types, ``exists`` is the statement that
    finds a table by its name. Where nothing is to be done no table is locked, so that a process
    that starts stops no other.
    """
    session.execute(BEGIN)
    current = 1 + len(MIGRATIONS)
    if not list(session.execute(exists, ("format",))):
        for what in SCHEMA.values():
            session.execute(f"CREATE {what.format(blob=blob, key=key)}")
        session.execute("INSERT INTO format(version) VALUES(?)", (current,))
        session.execute("INSERT INTO counter(seq, model) VALUES(0, 0)")
    ((version,),) = session.execute("SELECT version FROM format")
    if not 1 <= version <= current:
        raise StoreDamaged(
            f"the store has format version {version}; this longrank reads versions up to "
            f"{current}: upgrade longrank"
        )
    for migrate in MIGRATIONS[version - 1 :]:
        migrate(session)
    if version < current:
        session.execute("UPDATE format SET version = ?", (current,))
    session.execute("COMMIT")


def probe(session: Session, alone: bool) -> None:
    """Write something that changes nothing; where others write too, nothing is locked."""
    change = "SET version = version" if alone else "SET version = 0 WHERE version < 0"
    session.execute(f"UPDATE format {change}")


# models


def models(session: Session) -> list[ModelRow]:
    """List the models by name."""
    rows = session.execute("SELECT model, name, created, floor, spec FROM models ORDER BY name")
    return [ModelRow(row[0], row[1], row[2], row[3], blob(row[4])) for row in rows]


def floor(session: Session, model: int) -> int:
    """Return the entry after which a model's log is complete; 0 where there is no such model."""
    rows = session.execute("SELECT floor FROM models WHERE model = ?", (model,))
    return next((int(lowest) for (lowest,) in rows), 0)


def create_model(
    session: Session, name: str, spec: bytes, created: float, body: bytes, total: bytes
) -> int:
    """Create a model with its first snapshot, packed, which a replay begins with.

    Return its number, which is never reused; Conflict if the name is taken.
    """
    model: int
    ((model,),) = session.execute("UPDATE counter SET model = model + 1 RETURNING model")
    sql = (
        "INSERT INTO models(model, name, created, floor, spec) VALUES(?, ?, ?, 0, ?) "
        "ON CONFLICT DO NOTHING RETURNING model"
    )
    if not list(session.execute(sql, (model, name, created, spec))):
        raise Conflict(f"there is a model {name!r} already")
    _insert_snapshot(session, model, 0, body, total)
    return model


def update_model(session: Session, model: int, spec: bytes) -> None:
    """Replace a model's spec."""
    session.execute("UPDATE models SET spec = ? WHERE model = ?", (spec, model))


def delete_model(session: Session, model: int) -> None:
    """Delete a model with its keys and snapshots; its log is left over."""
    for table in ("models", "keys", "snapshots"):
        session.execute(f"DELETE FROM {table} WHERE model = ?", (model,))


def leftover(session: Session) -> list[int]:
    """List deleted models that have entries in the log."""
    sql = (
        "WITH RECURSIVE n(model) AS (SELECT min(model) FROM log UNION ALL "
        "SELECT (SELECT min(l.model) FROM log l WHERE l.model > n.model) FROM n "
        "WHERE n.model IS NOT NULL) SELECT model FROM n WHERE model IS NOT NULL "
        "AND model NOT IN (SELECT model FROM models)"
    )
    return [model for (model,) in session.execute(sql)]


def delete_log(session: Session, model: int, limit: int) -> int:
    """Delete some entries of a model that has been deleted; count them."""
    sql = (
        "DELETE FROM log WHERE seq IN (SELECT seq FROM log WHERE model = ? AND model NOT IN "
        "(SELECT model FROM models) ORDER BY seq LIMIT ?) RETURNING seq"
    )
    return len(list(session.execute(sql, (model, limit))))


# keys


def keys(session: Session) -> list[KeyRow]:
    """List all keys, oldest first."""
    rows = session.execute("SELECT digest, model, id, created, expires FROM keys ORDER BY created")
    return [KeyRow(blob(row[0]), *row[1:]) for row in rows]


def add_key(session: Session, key: KeyRow, event: EventRow) -> None:
    """Add a key."""
    sql = "INSERT INTO keys(digest, model, id, created, expires) VALUES(?, ?, ?, ?, ?)"
    session.execute(sql, key)
    add_event(session, event)


def expire_key(session: Session, model: int, name: str, at: float, event: EventRow) -> bool:
    """Let a key expire at a time, unless it does so earlier; return whether it existed."""
    sql = (
        "UPDATE keys SET expires = CASE WHEN expires < ? THEN expires ELSE ? END "
        "WHERE model = ? AND id = ? RETURNING id"
    )
    return _change_key(session, event, sql, at, at, model, name)


def delete_key(session: Session, model: int, name: str, event: EventRow) -> bool:
    """Delete a key; return whether it existed."""
    sql = "DELETE FROM keys WHERE model = ? AND id = ? RETURNING id"
    return _change_key(session, event, sql, model, name)


def _change_key(session: Session, event: EventRow, sql: str, *args: Any) -> bool:
    """Run a statement; if it returns a row, add an event. Return whether it did."""
    changed = bool(list(session.execute(sql, args)))
    if changed:
        add_event(session, event)
    return changed


# events


def add_event(session: Session, event: EventRow) -> None:
    """Add an event."""
    sql = "INSERT INTO events(event, at, who, what, model, detail) VALUES(?, ?, ?, ?, ?, ?)"
    session.execute(sql, (secrets.token_hex(8), *event))


def events(session: Session, limit: int) -> list[EventRow]:
    """List the latest events, newest first."""
    sql = "SELECT at, who, what, model, detail FROM events ORDER BY at DESC, event LIMIT ?"
    return [EventRow(*row) for row in session.execute(sql, (limit,))]


# reading the log

COLUMNS = "seq, model, kind, id, at, expires, body, sum"
_MAX_NAMES = 500
_OPEN = "NOT EXISTS(SELECT 1 FROM log o WHERE o.model = d.model AND o.id = d.id AND o.kind = 1)"


def last_seq(session: Session) -> int:
    """Return the number of the newest entry of any model."""
    ((seq,),) = session.execute("SELECT seq FROM counter")
    return int(seq)


def find(session: Session, model: int, name: str) -> tuple[Entry | None, Entry | None]:
    """Return a decision and its outcome, by the decision's id."""
    found = {each.kind: each for each in _entries(session, "model = ? AND id = ?", model, name)}
    return found.get(DECISION), found.get(OUTCOME)


def numbers(session: Session, model: int, names: Sequence[str]) -> dict[str, int]:
    """Return the numbers of decisions in the log by their ids; those that are not there have none.

    The database looks up many at once, but takes a limited number of arguments.
    """
    found: dict[str, int] = {}
    for first in range(0, len(names), _MAX_NAMES):
        some = names[first : first + _MAX_NAMES]
        listed = ", ".join("?" * len(some))
        sql = f"SELECT id, seq FROM log WHERE model = ? AND kind = 0 AND id IN ({listed})"
        found.update(session.execute(sql, (model, *some)))
    return found


def after(session: Session, model: int, seq: int, limit: int = 1000) -> list[Entry]:
    """Return a model's entries after ``seq``, in order."""
    return _entries(session, "model = ? AND seq > ? ORDER BY seq LIMIT ?", model, seq, limit)


def between(session: Session, seq: int, last: int = 2**62) -> list[Entry]:
    """Return the entries of all models after ``seq`` and up to ``last``, in order."""
    return _entries(session, "seq > ? AND seq <= ? ORDER BY seq", seq, last)


def heads(session: Session, seq: int, last: int, limit: int) -> list[tuple[int, int, int]]:
    """Return number, model and size of the entries of all models after ``seq`` up to ``last``."""
    sql = "SELECT seq, model, length(body) FROM log WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
    return [(row[0], row[1], row[2]) for row in session.execute(sql, (seq, last, limit))]


def dropped_beyond(session: Session, seq: int) -> list[int]:
    """Return the models whose log has been dropped beyond entry ``seq``."""
    sql = "SELECT model FROM models WHERE floor > ?"
    return [model for (model,) in session.execute(sql, (seq,))]


def latest(session: Session, model: int, before: int | None, limit: int) -> list[Settled]:
    """Return decisions with their outcomes, newest first."""
    return _decisions(session, "seq < ? ORDER BY seq DESC", model, before or 2**62, limit)


def oldest(session: Session, model: int, after: int, limit: int) -> list[Settled]:
    """Return decisions with their outcomes, oldest first."""
    return _decisions(session, "seq > ? ORDER BY seq", model, after, limit)


def _decisions(session: Session, which: str, *args: int) -> list[Settled]:
    settled = "model = ? AND id = ? AND kind = 1"
    return [
        (entry, next(iter(_entries(session, settled, entry.model, entry.id)), None))
        for entry in _entries(session, f"model = ? AND kind = 0 AND {which} LIMIT ?", *args)
    ]


def _entries(session: Session, which: str, *args: Any) -> list[Entry]:
    """Return the entries of the log that fulfil a condition."""
    sql = f"SELECT {COLUMNS} FROM log d WHERE {which}"
    return [checked(row) for row in session.execute(sql, args)]


def pending(session: Session, model: int, now: float) -> int:
    """Count decisions that have no outcome and have not expired."""
    sql = f"SELECT count(*) FROM log d WHERE model = ? AND kind = 0 AND expires > ? AND {_OPEN}"
    ((waiting,),) = session.execute(sql, (model, now))
    return int(waiting)


def overdue(
    session: Session, model: int, since: float, now: float, limit: int = 500
) -> list[Entry]:
    """Return decisions without an outcome that expired after ``since`` and by ``now``."""
    which = "model = ? AND kind = 0 AND expires > ? AND expires <= ?"
    which = f"{which} AND {_OPEN} ORDER BY expires LIMIT ?"
    return _entries(session, which, model, since, now, limit)


def count(session: Session, model: int) -> int:
    """Count the decisions of a model that are in the log."""
    sql = "SELECT count(*) FROM log WHERE model = ? AND kind = 0"
    ((stored,),) = session.execute(sql, (model,))
    return int(stored)


class Old(NamedTuple):
    """A decision that may be dropped: ``outcome`` is the entry of its outcome, if it has one."""

    seq: int
    id: str
    at: float
    expires: float
    outcome: int | None


def old(session: Session, model: int, after: int, upto: int, limit: int) -> list[Old]:
    """List decisions after an entry and up to another one, oldest first."""
    sql = (
        "SELECT d.seq, d.id, d.at, d.expires, o.seq FROM log d LEFT JOIN log o "
        "ON o.model = d.model AND o.id = d.id AND o.kind = 1 "
        "WHERE d.model = ? AND d.kind = 0 AND d.seq > ? AND d.seq <= ? ORDER BY d.seq LIMIT ?"
    )
    return [Old(*row) for row in session.execute(sql, (model, after, upto, limit))]


def drop(session: Session, model: int, ids: Sequence[str], upto: int) -> int:
    """Delete decisions with their outcomes; count them.

    A decision whose outcome comes after entry ``upto`` stays: a replay from there needs it.
    """
    session.execute("UPDATE counter SET seq = seq")  # no outcome is appended meanwhile
    late = (
        "SELECT 1 FROM log o WHERE o.model = log.model AND o.id = log.id AND o.kind = 1 "
        "AND o.seq > ?"
    )
    listed = ", ".join("?" * len(ids))
    sql = (
        f"DELETE FROM log WHERE model = ? AND id IN ({listed}) AND NOT EXISTS({late}) "
        "RETURNING kind"
    )
    kinds = list(session.execute(sql, (model, *ids, upto)))
    if kinds:
        raised = "UPDATE models SET floor = ? WHERE model = ? AND floor < ?"
        session.execute(raised, (upto, model, upto))
    return sum(kind == DECISION for (kind,) in kinds)


# snapshots


def save_snapshot(session: Session, model: int, seq: int, body: bytes, total: bytes) -> None:
    """Store a packed snapshot; delete all but the newest few and the first."""
    _insert_snapshot(session, model, seq, body, total)
    session.execute(
        "DELETE FROM snapshots WHERE model = ? AND seq > 0 AND seq NOT IN (SELECT seq FROM "
        "snapshots WHERE model = ? ORDER BY seq DESC LIMIT ?)",
        (model, model, MAX_SNAPSHOTS),
    )


def _insert_snapshot(session: Session, model: int, seq: int, body: bytes, total: bytes) -> None:
    session.execute(
        "INSERT INTO snapshots(model, seq, body, sum) SELECT model, ?, ?, ? FROM models "
        "WHERE model = ? ON CONFLICT DO NOTHING",
        (seq, body, total, model),
    )


def snapshots(session: Session, model: int) -> list[Snapshot | StoreDamaged]:
    """List a model's snapshots, newest first; an error in place of a damaged one."""
    sql = "SELECT seq, body, sum FROM snapshots WHERE model = ? ORDER BY seq DESC"
    rows = session.execute(sql, (model,))
    return [read_snapshot(seq, blob(body), blob(total)) for seq, body, total in rows]
