"""The log defines the model: a replay asks no registry and knows no defaults."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing

import msgspec
import pytest
from serving import asked, fresh, make, told

from longrank.packing import pack, unpack
from longrank.policies import default, registry
from longrank.service.engine.engine import Engine
from longrank.service.errors import OtherVersion, StoreDamaged
from longrank.service.store import sql
from longrank.service.store.records import VERSION, Snapshot, state_hash
from longrank.service.store.sqlite import SqliteStore


@pytest.fixture
def other_defaults(monkeypatch):
    """A later version, with other defaults and other names."""

    def change():
        monkeypatch.setattr(default, "PENALTY", 5.0)
        monkeypatch.setattr(default, "EXPLORATION", 2.0)
        monkeypatch.setattr(registry, "_OWN", {})

    return change


def live(engine, name, **settings):
    """Let a model decide and learn; return its state."""
    model = make(engine, name, **settings)
    for i in range(20):
        decision = engine.decide(name, asked(f"d{i}", seed=i))
        if decision.sequence:
            engine.settle(name, f"d{i}", told(1, i % 3 == 0))
    return model.snapshot()


def crash(engine):
    engine.ready = False  # no last snapshot
    engine.close()


def change(path, *statements):
    """Change a store that nobody has open."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(*statement)


@pytest.mark.parametrize("policy", ["recommended", "eps"])
def test_another_default_changes_no_replay(engine, reopen, other_defaults, policy):
    state = live(engine, "p", policy=policy)
    crash(engine)
    other_defaults()
    assert reopen().model("p").snapshot() == state


def test_the_first_snapshot_is_never_deleted(engine):
    for i in range(6):
        engine.decide("m", asked(f"d{i}"))
        engine.settle("m", f"d{i}", told())
        engine.save(engine.model("m"))
    seqs = [snapshot.seq for snapshot in engine.store.snapshots(engine.model("m").number)]
    assert seqs == [12, 10, 8, 0]
    assert fresh(engine).snapshot() == engine.model("m").snapshot()


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
    live(engine, "m")
    crash(engine)
    change(path, (statement,))
    again = Engine(SqliteStore(path))
    with pytest.raises(StoreDamaged, match="model 'm' has no good snapshot"):
        again.start()
    again.close()


def newer_spec(_):
    spec = json.dumps({"version": 7, "shape": "unheard of"}).encode()
    return "UPDATE models SET spec = ?", (spec,)


def newer_snapshot(engine):
    """After the first one, which this version could read."""
    live(engine, "m")
    engine.save(engine.model("m"))
    body = msgspec.msgpack.encode([7, "unheard of"])
    total = hashlib.sha256(body).digest()
    return "UPDATE snapshots SET body = ?, sum = ? WHERE seq > 0", (body, total)


def newer_learner(engine):
    first = engine.store.snapshots(engine.model("m").number)[-1]
    tree = unpack(first.policy, "the snapshot")
    tree["policy"]["learner"]["version"] = 7
    policy = pack(tree)
    newer = Snapshot(VERSION, 0, state_hash(policy), policy, first.stats)
    return "UPDATE snapshots SET body = ?, sum = ?", newer.packed()


def newer_record(engine):
    engine.decide("m", asked("x"))
    entry, _ = engine.store.find(engine.model("m").number, "x")
    newer = entry._replace(body=msgspec.msgpack.encode([7, "unheard of"]))
    return "UPDATE log SET body = ?, sum = ?", (newer.body, newer.checksum())


@pytest.mark.parametrize(
    ("written", "what"),
    [
        (newer_spec, ""), (newer_snapshot, ""), (newer_learner, "'OnlineNewton'"),
        (newer_record, "log entry 1 ('x')"),
    ],
)  # fmt: skip
def test_what_a_newer_version_wrote_is_refused_by_name(engine, path, written, what):
    statement = written(engine)
    crash(engine)
    change(path, statement)
    with Engine(SqliteStore(path)) as again, pytest.raises(OtherVersion) as caught:
        again.model("m")
    for part in ("model 'm'", what, "version 7", "upgrade longrank"):
        assert part in str(caught.value)
