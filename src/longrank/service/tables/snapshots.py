"""The tables of snapshots, and of the states that are published to other processes."""

from __future__ import annotations

from longrank.service.errors import StoreDamaged
from longrank.service.records import blob
from longrank.service.sessions import Session
from longrank.service.snapshots import Snapshot, read_snapshot

KEPT_SNAPSHOTS = 3


def save(session: Session, model: int, seq: int, body: bytes, total: bytes) -> None:
    """Keep a packed snapshot, and forget all but the newest few."""
    session.execute(
        "INSERT INTO snapshots(model, seq, body, sum) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (model, seq, body, total),
    )
    session.execute(
        "DELETE FROM snapshots WHERE model = ? AND seq NOT IN (SELECT seq FROM snapshots "
        "WHERE model = ? ORDER BY seq DESC LIMIT ?)",
        (model, model, KEPT_SNAPSHOTS),
    )


def listed(session: Session, model: int) -> list[Snapshot | StoreDamaged]:
    """The newest first; in place of a damaged one an error that says so."""
    sql = "SELECT seq, body, sum FROM snapshots WHERE model = ? ORDER BY seq DESC"
    rows = session.execute(sql, (model,))
    return [read_snapshot(seq, blob(body), blob(total)) for seq, body, total in rows]


def publish(session: Session, model: int, seq: int, body: bytes, total: bytes) -> None:
    """Let other processes have a packed state, unless they have a newer one."""
    session.execute(
        "INSERT INTO published(model, seq, body, sum) VALUES(?, ?, ?, ?) ON CONFLICT(model) "
        "DO UPDATE SET seq = excluded.seq, body = excluded.body, sum = excluded.sum "
        "WHERE published.seq < excluded.seq",
        (model, seq, body, total),
    )


def published(session: Session, model: int, beyond: int) -> Snapshot | None:
    """The published state, if it is newer than this."""
    sql = "SELECT seq, body, sum FROM published WHERE model = ? AND seq > ?"
    for seq, body, total in session.execute(sql, (model, beyond)):
        found = read_snapshot(seq, blob(body), blob(total))
        if isinstance(found, Snapshot):
            return found
    return None
