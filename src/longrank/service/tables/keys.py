"""The table of keys."""

from __future__ import annotations

from typing import NamedTuple

from longrank.service.records import blob
from longrank.service.sessions import Session


class KeyRow(NamedTuple):
    """A key as it stands in the store: its SHA-256, never the key."""

    digest: bytes
    model: int
    id: str
    created: float


def listed(session: Session) -> list[KeyRow]:
    rows = session.execute("SELECT digest, model, id, created FROM keys ORDER BY created")
    return [KeyRow(blob(digest), model, name, at) for digest, model, name, at in rows]


def add(session: Session, key: KeyRow) -> None:
    session.execute("INSERT INTO keys(digest, model, id, created) VALUES(?, ?, ?, ?)", key)


def delete(session: Session, model: int, name: str) -> bool:
    """Whether there was one."""
    sql = "DELETE FROM keys WHERE model = ? AND id = ? RETURNING id"
    return bool(session.execute(sql, (model, name)))
