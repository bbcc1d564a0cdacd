"""The table of the log: decisions and outcomes in the order in which they were committed."""

from __future__ import annotations

from typing import Any

from longrank.service.records import DECISION, OUTCOME, Entry, checked
from longrank.service.sessions import Session

Settled = tuple[Entry, Entry | None]  # a decision and its outcome
COLUMNS = "seq, model, kind, id, at, expires, body, sum"
_OPEN = "NOT EXISTS(SELECT 1 FROM log o WHERE o.model = d.model AND o.id = d.id AND o.kind = 1)"


def find(session: Session, model: int, name: str) -> tuple[Entry | None, Entry | None]:
    """A decision and its outcome."""
    sql = f"SELECT {COLUMNS} FROM log WHERE model = ? AND id = ?"
    found = {row[2]: checked(row) for row in session.execute(sql, (model, name))}
    return found.get(DECISION), found.get(OUTCOME)


def after(session: Session, model: int, seq: int, most: int) -> list[Entry]:
    """What follows in a model's log, in order."""
    sql = f"SELECT {COLUMNS} FROM log WHERE model = ? AND seq > ? ORDER BY seq LIMIT ?"
    return [checked(row) for row in session.execute(sql, (model, seq, most))]


def behind(session: Session, seq: int) -> list[Entry]:
    """What follows in the log of all models, in order."""
    sql = f"SELECT {COLUMNS} FROM log WHERE seq > ? ORDER BY seq"
    return [checked(row) for row in session.execute(sql, (seq,))]


def latest(session: Session, model: int, before: int | None, most: int) -> list[Settled]:
    """Decisions with their outcomes, newest first."""
    below = 2**62 if before is None else before
    sql = (
        f"SELECT {COLUMNS} FROM log WHERE model = ? AND kind = 0 AND seq < ? "
        "ORDER BY seq DESC LIMIT ?"
    )
    return _settled(session, session.execute(sql, (model, below, most)))


def oldest(session: Session, model: int, after: int, most: int) -> list[Settled]:
    """Decisions with their outcomes, oldest first."""
    sql = f"SELECT {COLUMNS} FROM log WHERE model = ? AND kind = 0 AND seq > ? ORDER BY seq LIMIT ?"
    return _settled(session, session.execute(sql, (model, after, most)))


def _settled(session: Session, rows: list[tuple[Any, ...]]) -> list[Settled]:
    sql = f"SELECT {COLUMNS} FROM log WHERE model = ? AND id = ? AND kind = 1"
    result: list[Settled] = []
    for entry in map(checked, rows):
        found = session.execute(sql, (entry.model, entry.id))
        result.append((entry, checked(found[0]) if found else None))
    return result


def pending(session: Session, model: int, now: float) -> int:
    """How many decisions have no outcome and are not expired."""
    sql = f"SELECT count(*) FROM log d WHERE model = ? AND kind = 0 AND expires > ? AND {_OPEN}"
    return int(session.execute(sql, (model, now))[0][0])


def overdue(session: Session, model: int, since: float, now: float, most: int) -> list[Entry]:
    """Decisions without an outcome that expired in this time."""
    sql = (
        f"SELECT {COLUMNS} FROM log d WHERE model = ? AND kind = 0 AND expires > ? "
        f"AND expires <= ? AND {_OPEN} ORDER BY expires LIMIT ?"
    )
    return [checked(row) for row in session.execute(sql, (model, since, now, most))]


def drop(session: Session, model: int, before: float, now: float, upto: int) -> int:
    """Forget decisions made before a time, and expired by now, up to an entry; how many.

    A decision whose outcome comes after that entry stays: a replay from there needs it.
    """
    old = (
        "SELECT d.id FROM log d LEFT JOIN log o ON o.model = d.model AND o.id = d.id "
        "AND o.kind = 1 WHERE d.model = ? AND d.kind = 0 AND d.expires <= ? AND d.at < ? "
        "AND d.seq <= ? AND (o.seq IS NULL OR o.seq <= ?)"
    )
    sql = f"DELETE FROM log WHERE model = ? AND id IN ({old}) RETURNING kind"
    kinds = session.execute(sql, (model, model, now, before, upto, upto))
    if kinds:
        floor = "UPDATE models SET floor = ? WHERE model = ? AND floor < ?"
        session.execute(floor, (upto, model, upto))
    return sum(kind == DECISION for (kind,) in kinds)
