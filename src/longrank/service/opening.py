"""From what ``--store`` says to a store."""

from __future__ import annotations

from longrank.service.store import Store


def open_store(where: str, *, most_waiting: int = 4096) -> Store:
    """A SQLite file by its path, or a PostgreSQL database by its URL."""
    if where.startswith(("postgresql://", "postgres://")):
        from longrank.service.postgres import PostgresStore

        return PostgresStore(where, most_waiting=most_waiting)
    from longrank.service.sqlite import SqliteStore

    return SqliteStore(where, most_waiting=most_waiting)
