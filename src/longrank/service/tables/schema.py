"""The tables themselves, and the version of their format."""

from __future__ import annotations

from longrank.service.errors import StoreDamaged
from longrank.service.records import FORMAT
from longrank.service.sessions import Session

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


def prepare(session: Session, blob: str, key: str) -> None:
    """Make the tables where there are none; ``blob`` and ``key`` are the database's own types."""
    session.begin()
    for statement in SCHEMA:
        session.execute(statement.format(blob=blob, key=key))
    rows = session.execute("SELECT version FROM format")
    if not rows:
        session.execute("INSERT INTO format(version) VALUES(?)", (FORMAT,))
        session.execute("INSERT INTO counter(seq, model) VALUES(0, 0)")
    session.commit()
    if rows and rows[0][0] != FORMAT:
        raise StoreDamaged(
            f"the store has format version {rows[0][0]}; this longrank reads {FORMAT}"
        )
