"""The store in a PostgreSQL database: several service processes on one log.

All of them append; the row of ``counter`` orders the commits, so that numbers become visible in
order. One process at a time holds a model's advisory lock, applies its outcomes and publishes the
state; the others load it. When that process dies the lock is released, and another takes over.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg

from longrank.service.errors import StoreDamaged, StoreFailed, sentence
from longrank.service.store.sql import Session
from longrank.service.store.store import Store

LOCK = 0x6C72  # "lr": the class of our advisory locks; 0 of it guards the schema


class PostgresSession:
    """A connection to the database."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self.connection = connection

    def execute(self, sql: str, args: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(_translated(sql), args or None, prepare=True)
        return cursor.fetchall() if cursor.description is not None else []

    def change(self, sql: str, args: Sequence[Any]) -> int:
        return self.connection.execute(_translated(sql), args, prepare=True).rowcount

    def begin(self) -> None:
        self.connection.execute("BEGIN")

    def commit(self) -> None:
        self.connection.execute("COMMIT")

    def rollback(self) -> None:
        self.connection.execute("ROLLBACK")

    def close(self) -> None:
        self.connection.close()


class PostgresStore(Store):
    """A store for any number of processes. A commit is on the server's disk when acknowledged."""

    exclusive = False
    failures = (psycopg.Error, OSError)
    blob, key = "BYTEA", "BIGINT PRIMARY KEY"

    def __init__(self, url: str, *, max_queued: int = 4096) -> None:
        self._url = url
        self._leading: set[int] = set()
        self._leader: Session | None = None
        self._leader_lock = threading.Lock()
        super().__init__(max_queued=max_queued)

    def connect(self, *, write: bool) -> Session:  # noqa: ARG002
        connection = psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=5,
            client_encoding="utf8",
            application_name="longrank",
            options="-c synchronous_commit=on -c client_min_messages=warning",
        )
        return PostgresSession(connection)

    def failed(self, error: Exception) -> StoreFailed | StoreDamaged:
        if isinstance(error, psycopg.errors.DataCorrupted | psycopg.errors.IndexCorrupted):
            what = sentence(error)
            return StoreDamaged(f"the database is damaged: {what}; restore it from a backup")
        return super().failed(error)

    def lead(self, model: int) -> bool:
        """Try to take the model's lock; this process keeps it until its connection ends."""
        with self._leader_lock:
            try:
                if self._leader is None:
                    self._leader = self.connect(write=False)
                    self._leading.clear()
                if model in self._leading:
                    self._leader.execute("SELECT 1")  # the locks are gone if this fails
                    return True
                sql = "SELECT pg_try_advisory_lock(?, ?)"
                if self._leader.execute(sql, (LOCK, model))[0][0]:
                    self._leading.add(model)
                    return True
                return False
            except self.failures as error:
                self._resign()
                raise self.failed(error) from error

    def resign(self, model: int) -> None:
        """Give up the model's lock."""
        with self._leader_lock:
            if self._leader is None or model not in self._leading:
                return
            try:
                self._leader.execute("SELECT pg_advisory_unlock(?, ?)", (LOCK, model))
                self._leading.discard(model)
            except self.failures as error:
                self._resign()
                raise self.failed(error) from error

    def close(self) -> None:
        with self._leader_lock:
            self._resign()
        super().close()

    def _resign(self) -> None:
        leader, self._leader = self._leader, None
        self._leading.clear()
        if leader is not None:
            with suppress(*self.failures):
                leader.close()

    def _prepare(self, session: Session) -> None:
        session.execute("SELECT pg_advisory_lock(?, 0)", (LOCK,))
        try:
            super()._prepare(session)
        finally:
            session.execute("SELECT pg_advisory_unlock(?, 0)", (LOCK,))


_known: dict[str, str] = {}


def _translated(sql: str) -> str:
    """Replace ``?`` by psycopg's placeholder."""
    found = _known.get(sql)
    if found is None:
        found = _known[sql] = sql.replace("?", "%s")
    return found
