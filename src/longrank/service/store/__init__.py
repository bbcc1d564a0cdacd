"""The store: models, keys, the log and snapshots, in SQLite or PostgreSQL."""
