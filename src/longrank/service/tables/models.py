"""The table of models."""

from __future__ import annotations

from typing import NamedTuple

from longrank.service.errors import Conflict
from longrank.service.records import blob
from longrank.service.sessions import Session


class ModelRow(NamedTuple):
    """A model as it stands in the store."""

    model: int
    name: str
    created: float
    floor: int  # the log is whole beyond this entry only; older decisions were dropped
    spec: bytes


def listed(session: Session) -> list[ModelRow]:
    rows = session.execute("SELECT model, name, created, floor, spec FROM models ORDER BY name")
    return [ModelRow(row[0], row[1], row[2], row[3], blob(row[4])) for row in rows]


def floor(session: Session, model: int) -> int:
    """The entry beyond which a model's log is whole; 0 where there is no such model."""
    rows = session.execute("SELECT floor FROM models WHERE model = ?", (model,))
    return int(rows[0][0]) if rows else 0


def create(session: Session, name: str, spec: bytes, created: float) -> int:
    """Its number, which is never used again; :class:`Conflict` if there is one."""
    model: int
    ((model,),) = session.execute("UPDATE counter SET model = model + 1 RETURNING model")
    sql = (
        "INSERT INTO models(model, name, created, floor, spec) VALUES(?, ?, ?, 0, ?) "
        "ON CONFLICT DO NOTHING RETURNING model"
    )
    if not session.execute(sql, (model, name, created, spec)):
        raise Conflict(f"there is a model {name!r} already")
    return model


def update(session: Session, model: int, spec: bytes) -> None:
    session.execute("UPDATE models SET spec = ? WHERE model = ?", (spec, model))


def delete(session: Session, model: int) -> None:
    """The model and all that belongs to it."""
    for table in ("models", "keys", "log", "snapshots", "published"):
        session.execute(f"DELETE FROM {table} WHERE model = ?", (model,))
