"""The log defines the model: a replay asks no registry and knows no defaults."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing

import msgspec
import pytest
from serving import crash, make, play

from longrank.packing import pack, unpack
from longrank.policies import default, registry
from longrank.service.engine.engine import Engine
from longrank.service.errors import OtherVersion, StoreDamaged
from longrank.service.store import sql
from longrank.service.store.records import VERSION, Snapshot, state_hash
from longrank.service.store.sqlite import SqliteStore


def change(path, statement, arguments=()):
    """Change a store that nobody has open."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, arguments)


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
    change(path, statement)
    again = Engine(SqliteStore(path))
    with pytest.raises(StoreDamaged, match="model 'm' has no good snapshot"):
        again.start()
    again.close()


def newer_policy(snapshot):
    """A snapshot with a learner of a later version."""
    tree = unpack(snapshot.policy, "the snapshot")
    tree["policy"]["learner"]["version"] = 7
    policy = pack(tree)
    return Snapshot(VERSION, 0, state_hash(policy), policy, snapshot.stats).packed()


@pytest.mark.parametrize("part", ["spec", "snapshot", "policy", "entry"])
def test_what_a_newer_version_wrote_is_refused_by_name(engine, path, part):
    """A snapshot also where there is an older one."""
    play(engine)
    number = engine.model("m").number
    engine.save(engine.model("m"))
    snapshots, entry = engine.store.snapshots(number), engine.store.find(number, "d0")[0]
    crash(engine)
    body = msgspec.msgpack.encode([7, "unheard of"])
    newer = entry._replace(body=body)
    statement, arguments, named = {
        "spec": (
            "UPDATE models SET spec = ?",
            (json.dumps({"version": 7, "shape": "unheard of"}).encode(),),
            "'m'",
        ),
        "snapshot": (
            "UPDATE snapshots SET body = ?, sum = ? WHERE seq > 0",
            (body, hashlib.sha256(body).digest()),
            "model 'm'",
        ),
        "policy": (
            "UPDATE snapshots SET body = ?, sum = ?",
            newer_policy(snapshots[-1]),
            "'OnlineNewton'",
        ),
        "entry": (
            "UPDATE log SET body = ?, sum = ? WHERE seq = 1",
            (body, newer.checksum()),
            "log entry 1 ('d0')",
        ),
    }[part]
    change(path, statement, arguments)
    if part == "entry":
        change(path, "DELETE FROM snapshots WHERE seq > 0")
    with Engine(SqliteStore(path)) as again, pytest.raises(OtherVersion) as caught:
        again.model("m")
    for words in (named, "model 'm'", "version 7", "upgrade longrank"):
        assert words in str(caught.value)
