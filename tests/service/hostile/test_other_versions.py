"""Upgrades while running: what another version wrote stops one model, by name, and no other."""

from __future__ import annotations

import json

import httpx
import msgspec
import pytest
from serving import ADMIN, asked, make, served, told, until_ready

from longrank.packing import pack, unpack
from longrank.service.app import build
from longrank.service.doctor import stored
from longrank.service.engine.engine import Engine
from longrank.service.errors import StoreDamaged
from longrank.service.store import records
from longrank.service.store.records import DECISION, Draft, state_hash
from longrank.service.store.store import open_store

UNHEARD_OF = {"temperature of the room": 21}


def unknown_field(engine, model):
    """A field of a spec that this version does not know."""
    (row,) = (row for row in engine.store.models() if row.model == model.number)
    spec = json.loads(row.spec)
    spec["request"] |= UNHEARD_OF
    engine.store.update_model(model.number, json.dumps(spec).encode())


def unknown_state(engine, model, after=-1):
    """A policy of a kind that this version does not know, in the snapshots after an entry."""
    engine.save(model)
    snapshot = model.snapshot()
    tree = unpack(snapshot.policy)
    tree["policy"]["kind"] = "Unheard"
    other = pack(tree)
    written = msgspec.structs.replace(snapshot, policy=other, state_hash=state_hash(other))
    body, total = written.packed()
    sql = "UPDATE snapshots SET body = ?, sum = ? WHERE model = ? AND seq > ?"
    arguments = (body, total, model.number, after)
    engine.store.writer.call(lambda session: session.execute(sql, arguments))


def unknown_entry(engine, model):
    """A decision whose record this version does not know."""
    body = records.encode([records.VERSION + 1, "something", "else"])
    engine.store.writer.append(Draft(model.number, DECISION, "later", 0.0, 0.0, body)).result()


def other_layout(engine, model):
    """The same, where the version does not tell."""
    body = records.encode([records.VERSION, "something", "else"])
    engine.store.writer.append(Draft(model.number, DECISION, "later", 0.0, 0.0, body)).result()


WRITTEN = [unknown_field, unknown_state, unknown_entry, other_layout]


@pytest.fixture
def prepared(where, clock):
    """A store with two models that have learned something; what it returns makes one unknown."""

    def prepare(write):
        engine = Engine(open_store(where), clock=clock).start()
        for name in ("old", "new"):
            make(engine, name)
            engine.decide(name, asked("x"))
            engine.settle(name, "x", told())
        engine.renew()
        engine.follow()
        model = engine.model("new")
        engine.store.writer.committed = lambda appends: appends  # as another process writes
        write(engine, model)
        engine.ready = False
        engine.close()
        return where

    return prepare


@pytest.mark.parametrize("write", WRITTEN)
def test_one_model_says_so_by_name_and_the_others_go_on(prepared, write, clock):
    with Engine(open_store(prepared(write)), clock=clock) as engine:
        assert [model.name for model in engine.models()] == ["old"]
        engine.decide("old", asked("y"))
        assert engine.settle("old", "y", told()).learned
        with pytest.raises(StoreDamaged, match="model 'new' cannot be used by this process"):
            engine.decide("new", asked("y"))
        assert list(engine.suspended) == ["new"]
        assert engine.trouble is None


def test_a_snapshot_of_another_version_is_passed_over_for_an_older_one(prepared, clock):
    """As after going back to the version before: the log is there, and replayed from further on."""
    where = prepared(lambda engine, model: unknown_state(engine, model, after=0))
    with Engine(open_store(where), clock=clock) as engine:
        assert engine.suspended == {}
        assert engine.model("new").version == 1
        assert engine.model("new").state_hash() == engine.model("old").state_hash()


@pytest.mark.parametrize("write", WRITTEN)
def test_the_doctor_tells_another_version_from_damage(prepared, write):
    findings = {finding.what: finding for finding in stored(prepared(write))}
    assert findings["model old"].good
    assert not findings["model new"].good
    assert findings["model new"].detail.startswith("not damaged, but of another version")


def test_the_doctor_tells_damage_from_another_version(engine, path):
    engine.decide("m", asked("x"))
    engine.settle("m", "x", told())
    drop = "DELETE FROM log WHERE kind = 0"
    engine.store.writer.call(lambda session: session.execute(drop))
    engine.ready = False
    engine.close()
    found = {finding.what: finding for finding in stored(str(path))}["model m"]
    assert found.detail.startswith("damaged: ")


def test_readiness_names_the_model(prepared, clock):
    engine = Engine(open_store(prepared(unknown_field)), clock=clock)
    with (
        served(build(engine, admin=ADMIN)) as url,
        httpx.Client(base_url=url, timeout=120.0) as client,
    ):
        until_ready(client)
        told_so = client.get("/readyz").json()["suspended"]
    assert list(told_so) == ["new"]
    assert "temperature of the room" in told_so["new"]
