"""The log defines the model: a replay asks no registry and knows no defaults."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from serving import asked, fresh, make, told

from longrank import load
from longrank.packing import pack, unpack
from longrank.policies import default, from_bytes, registry
from longrank.service.doctor import examine
from longrank.service.engine import legacy
from longrank.service.engine.apply import upgrade
from longrank.service.engine.engine import Engine
from longrank.service.engine.model import read_spec
from longrank.service.errors import OtherVersion, StoreDamaged
from longrank.service.store import snapshots, sql
from longrank.service.store.snapshots import Snapshot, state_hash
from longrank.service.store.sqlite import SqliteStore

GOLDEN = Path(__file__).parent.parent / "golden"
OLD = GOLDEN / "0.1.0" / "stores" / "closed"  # of format 1
FIRSTS = json.loads((GOLDEN / "0.1.0-firsts.json").read_text())


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


@pytest.mark.parametrize("policy", ["recommended", "thompson", "ind", "eps", "rand"])
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


# stores of the version before


@pytest.fixture
def old(path):
    """A store of format 1 without any snapshot, and the states that its log must give."""
    path.write_bytes(lzma.decompress((OLD / "decisions.db.xz").read_bytes()))
    change(path, ("DELETE FROM snapshots",))
    states = sorted((OLD / "before").glob("*.longrank"))
    return {state.stem: state_hash(load(state).to_bytes()) for state in states}


def test_a_store_of_format_1_is_replayed_with_the_defaults_of_its_time(old, reopen, other_defaults):
    other_defaults()
    engine = reopen()
    assert {model.name: model.state_hash() for model in engine.models()} == old
    assert not engine.store.outdated
    assert engine.store._read(lambda session: session.execute("SELECT version FROM format")) == [
        (sql.FORMAT,)
    ]
    for model in engine.models():
        first = engine.store.snapshots(model.number)[-1]
        assert first.seq == 0
    crash(engine)
    assert {model.name: model.state_hash() for model in reopen().models()} == old


@pytest.mark.parametrize("first", FIRSTS, ids=lambda first: first["spec"]["request"]["policy"])
def test_a_model_of_format_1_begins_as_it_did(first):
    spec = read_spec(json.dumps(first["spec"]).encode(), "m")
    policy = from_bytes(base64.b64decode(first["policy"]))
    assert legacy.make_policy(spec).to_bytes() == policy.to_bytes()


def test_every_policy_of_format_1_is_compared():
    compared = {first["spec"]["request"]["policy"].lower() for first in FIRSTS}
    assert compared == set(legacy.DEFAULTS)


def test_doctor_finds_nothing_wrong_with_a_store_of_format_1(old, path, other_defaults):
    other_defaults()
    found = {finding.what: finding for finding in examine(str(path))}
    for name in old:
        assert found[f"model {name}"].good, found[f"model {name}"]
    store = SqliteStore(path)
    assert store.outdated  # looking changes nothing
    store.close()


def test_doctor_names_the_model_that_cannot_be_made_and_goes_on(old, path):
    other = """replace(CAST(spec AS TEXT), '"ind"', '"unheard of"')"""
    wrong = f"UPDATE models SET spec = CAST({other} AS BLOB) WHERE name = 'ind'"
    change(path, (wrong,))
    found = {finding.what: finding for finding in examine(str(path))}
    assert [name for name in old if not found[f"model {name}"].good] == ["ind"]
    assert "'ind'" in found["model ind"].detail
    assert "'unheard of'" in found["model ind"].detail


OUTSIDE = """
from longrank import UCB, Ridge

class Careful(UCB):
    kind = "careful"

def careful(*, dim):
    return Careful(Ridge(dim), exploration=0.1)
"""
POINTS = """
[longrank.policies]
careful = outside_policy:Careful
making-careful = outside_policy:careful
"""


@pytest.mark.usefixtures("old")
def test_of_two_processes_that_upgrade_a_store_the_second_finds_it_done(path, install_package):
    install_package("outside_policy", OUTSIDE, POINTS)
    stores = [SqliteStore(path, shared=True) for _ in range(2)]
    assert all(store.outdated for store in stores)
    first = Engine(stores[0]).start()
    make(first, "new", policy="making-careful")
    first.delete("ind")
    kept = {row.model: first.store.snapshots(row.model) for row in first.store.models()}
    crash(first)
    upgrade(stores[1])
    assert not stores[1].outdated
    assert {row.model: stores[1].snapshots(row.model) for row in stores[1].models()} == kept
    stores[1].close()


@pytest.mark.usefixtures("old")
def test_a_model_that_is_deleted_during_the_upgrade_leaves_nothing(path):
    store = SqliteStore(path)
    row = store.models()[0]
    first = Snapshot(snapshots.FORMAT, 0, "", b"", msgspec.Raw(b"\x90"))
    store.delete_model(row.model)
    store.upgrade({row.model: first})
    assert store.snapshots(row.model) == []
    store.close()


# what a newer version wrote is refused by name


def refused(path, *parts):
    with Engine(SqliteStore(path)) as engine, pytest.raises(OtherVersion) as caught:
        engine.model("m")
    for part in (*parts, "upgrade longrank"):
        assert part in str(caught.value)


def test_a_newer_spec_is_refused(engine, path):
    crash(engine)
    spec = json.dumps({"version": 7, "shape": "unheard of"}).encode()
    change(path, ("UPDATE models SET spec = ?", (spec,)))
    refused(path, "'m'", "version 7")


def test_a_newer_snapshot_is_refused_though_there_is_an_older_one(engine, path):
    live(engine, "m")
    engine.save(engine.model("m"))
    crash(engine)
    body = msgspec.msgpack.encode([7, "unheard of"])
    total = hashlib.sha256(body).digest()
    change(path, ("UPDATE snapshots SET body = ?, sum = ? WHERE seq > 0", (body, total)))
    refused(path, "model 'm'", "format 7")


def test_a_newer_policy_in_a_snapshot_is_refused(engine, path):
    first = engine.store.snapshots(engine.model("m").number)[-1]
    crash(engine)
    tree = unpack(first.policy, "the snapshot")
    tree["policy"]["learner"]["version"] = 7
    policy = pack(tree)
    newer = Snapshot(snapshots.FORMAT, 0, state_hash(policy), policy, first.stats)
    change(path, ("UPDATE snapshots SET body = ?, sum = ?", newer.packed()))
    refused(path, "model 'm'", "'OnlineNewton'", "version 7")


def test_a_newer_record_is_refused(engine, path):
    engine.decide("m", asked("x"))
    entry, _ = engine.store.find(engine.model("m").number, "x")
    crash(engine)
    newer = entry._replace(body=msgspec.msgpack.encode([7, "unheard of"]))
    change(path, ("UPDATE log SET body = ?, sum = ?", (newer.body, newer.checksum())))
    refused(path, "model 'm'", "log entry 1 ('x')", "version 7")
