"""The log defines the model: a replay asks no registry and knows no defaults."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from serving import crash, make, play

from longrank.policies import default, registry
from longrank.service.engine.engine import Engine
from longrank.service.errors import StoreDamaged
from longrank.service.store import sql
from longrank.service.store.sqlite import SqliteStore


@pytest.mark.parametrize("policy", ["recommended", "eps"])
def test_another_default_and_other_names_change_no_replay(engine, reopen, monkeypatch, policy):
    model = make(engine, "p", policy=policy)
    play(engine, "p")
    crash(engine)
    monkeypatch.setattr(default, "PENALTY", 5.0)
    monkeypatch.setattr(default, "EXPLORATION", 2.0)
    monkeypatch.setattr(registry, "_OWN", {})
    assert reopen().model("p").snapshot() == model.snapshot()


def test_a_model_is_created_with_its_first_snapshot_or_not_at_all(engine, reopen, monkeypatch):
    def full(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(sql, "_insert_snapshot", full)
    with pytest.raises(Exception, match="disk is full"):
        make(engine, "p")
    monkeypatch.undo()
    crash(engine)
    assert [model.name for model in reopen().models()] == ["m"]


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM snapshots", "UPDATE snapshots SET body = x'00'"],
    ids=["lost", "damaged"],
)
def test_a_log_without_its_beginning_is_refused(engine, path, statement):
    play(engine)
    crash(engine)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    again = Engine(SqliteStore(path))
    with pytest.raises(StoreDamaged, match="model 'm' has no good snapshot"):
        again.start()
    again.close()
