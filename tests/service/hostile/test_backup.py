"""Backups: made while the service writes, verified, and good to start from."""

from __future__ import annotations

import threading

import pytest
from serving import asked, execute, play, told, until
from typer.testing import CliRunner

from longrank import cli
from longrank.errors import InvalidInput
from longrank.service import backup as backups
from longrank.service.backup import backup
from longrank.service.engine.engine import Engine
from longrank.service.store.sqlite import SqliteStore


@pytest.fixture
def learned(engine):
    """An engine that has decided and learned something, some of it in the write-ahead log only."""
    play(engine)
    return engine


def test_a_backup_of_a_store_in_use_holds_all_and_starts(learned, path, folder, clock):
    target = folder / "backup.db"
    findings = list(backup(str(path), target))
    assert all(finding.good for finding in findings)
    assert [finding.what for finding in findings] == ["store", "model m", "backup"]
    expected = learned.model("m").snapshot()
    learned.decide("m", asked("later"))  # the service goes on
    with Engine(SqliteStore(target), clock=clock) as restored:
        assert restored.model("m").snapshot() == expected
        assert restored.decide("m", asked("d3", seed=3)).id == "d3"
    assert not [file.name for file in folder.iterdir() if ".part" in file.name]


def test_a_backup_is_consistent_while_others_write(learned, path, folder, clock, monkeypatch):
    writing, stop = [], threading.Event()

    def write():
        while not stop.is_set():
            writing.append(1)
            learned.decide("m", asked(f"w{len(writing)}"))
            learned.settle("m", f"w{len(writing)}", told())

    copy = backups._copy

    def meanwhile(*args):
        thread = threading.Thread(target=write)
        thread.start()
        try:
            until(lambda: len(writing) >= 3)
            copy(*args)
        finally:
            stop.set()
            thread.join()

    monkeypatch.setattr(backups, "_copy", meanwhile)
    target = folder / "backup.db"
    assert all(finding.good for finding in backup(str(path), target))
    with Engine(SqliteStore(target), clock=clock) as restored:
        assert restored.model("m").stats.outcomes >= 22


def test_of_a_damaged_store_no_backup_is_made(learned, path, folder):
    execute(learned.store, "UPDATE log SET at = 1.0 WHERE seq = 3")
    learned.close()
    target = folder / "backup.db"
    *_, last = backup(str(path), target)
    assert (last.what, last.good) == ("backup", False)
    assert not target.exists()
    done = CliRunner().invoke(cli.app, ["backup", str(target), "--store", str(path)])
    assert done.exit_code == 1
    assert "log entry 3 is damaged" in done.output


def test_a_backup_is_never_written_over(learned, path, folder):
    target = folder / "backup.db"
    target.write_bytes(b"precious")
    with pytest.raises(InvalidInput, match="out must be a file that does not exist yet"):
        list(backup(str(path), target))
    assert target.read_bytes() == b"precious"
    learned.decide("m", asked("still-alive"))
    with pytest.raises(InvalidInput, match="pg_dump") as error:  # a database has its own tools
        list(backup("postgresql://me:secret@host/db", folder / "other.db"))
    assert "secret" not in str(error.value)
