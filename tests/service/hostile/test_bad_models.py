"""One bad model, or one of another version, is told by name: all others go on."""

from __future__ import annotations

import hashlib
import json
import logging

import httpx
import msgspec
import pytest
from serving import ADMIN, asked, crash, execute, make, play, served, service, told, until_ready

from longrank.packing import pack, unpack
from longrank.service.app import build
from longrank.service.doctor import stored
from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.engine.views import Views
from longrank.service.errors import StoreDamaged
from longrank.service.store import records
from longrank.service.store.records import DECISION, Draft, state_hash
from longrank.service.store.sqlite import SqliteStore
from longrank.service.store.store import open_store
from longrank.service.upkeep import RETENTION, Upkeep


@pytest.fixture
def three(path, clock):
    with Engine(SqliteStore(path), clock=clock, snapshot_every=1) as engine:
        for name in ("a", "bad", "c"):
            make(engine, name)
        yield engine


def test_a_model_that_cannot_be_described_is_listed_by_name_and_left_out_of_a_scrape(
    path, monkeypatch
):
    def failing(method):
        return lambda views, model: 1 / (model.name != "bad") and method(views, model)

    monkeypatch.setattr(Views, "describe", failing(Views.describe))
    monkeypatch.setattr(Views, "pending", failing(Views.pending))
    with service(path, models=("a", "bad", "c")) as http:
        listed = http.get("/v1/models").json()
        text = http.get("/metrics").text
    assert [model["name"] for model in listed["models"]] == ["a", "c"]
    assert [model["name"] for model in listed["unavailable"]] == ["bad"]
    assert 'longrank_model_pending{model="c"} 0.0' in text
    assert 'longrank_model_pending{model="bad"}' not in text


@pytest.fixture
def failing(three, monkeypatch):
    """An engine whose model ``bad`` cannot be saved."""
    save = Engine.save

    def refuse(self, model):
        if model.name == "bad":
            raise RuntimeError("it is not what it was")
        save(self, model)

    monkeypatch.setattr(Engine, "save", refuse)
    for name in ("a", "bad", "c"):
        play(three, name, 1)
    return three


def test_upkeep_goes_on_past_a_model_that_fails_and_leaves_it_alone_for_a_while(
    failing, caplog, monkeypatch
):
    upkeep = Upkeep(failing)
    upkeep.keep()
    upkeep.keep()
    assert [failing.model(name).saved for name in ("a", "bad", "c")] == [1, 0, 1]
    assert caplog.text.count("upkeep of model bad failed") == 1
    monkeypatch.setattr("longrank.service.upkeep.time.monotonic", lambda: 1e12 + RETENTION)
    upkeep.keep()
    assert caplog.text.count("upkeep of model bad failed") == 2


def test_a_stop_saves_the_models_after_one_that_fails(failing, path, clock, caplog):
    with caplog.at_level(logging.ERROR):
        failing.close()
    assert "model bad: no last snapshot" in caplog.text
    with Engine(SqliteStore(path), clock=clock) as again:
        assert again.model("c").saved == 1


def test_a_model_that_cannot_learn_its_log_does_not_stop_a_start(path, clock, monkeypatch):
    with Engine(SqliteStore(path), clock=clock) as engine:
        for name in ("a", "bad", "c"):
            number = make(engine, name).number
            play(engine, name, 1)
            if name == "bad":
                bad = number
        monkeypatch.setattr(engine, "leads", lambda _: False)  # no snapshot
    settle = Model.settle

    def failing(self, *args):
        if self.number == bad:
            raise ZeroDivisionError("of a policy's own code")
        settle(self, *args)

    monkeypatch.setattr(Model, "settle", failing)
    with Engine(SqliteStore(path), clock=clock) as engine:
        assert [model.name for model in engine.models()] == ["a", "c"]
        assert list(engine.suspended) == ["bad"]
        assert engine.decide("a", asked("y")).id == "y"
        assert engine.settle("a", "y", told()).learned
        with pytest.raises(StoreDamaged, match="'bad' cannot be used by this process"):
            engine.decide("bad", asked("y"))
    monkeypatch.undo()
    with Engine(SqliteStore(path), clock=clock) as engine:
        assert engine.model("bad").version == 1


UNHEARD_OF = {"temperature of the room": 21}


def unknown_field(engine, model):
    """A field of a spec that this version does not know."""
    (row,) = (row for row in engine.store.models() if row.model == model.number)
    spec = json.loads(row.spec)
    spec["request"] |= UNHEARD_OF
    engine.store.update_model(model.number, json.dumps(spec).encode())


def newer_spec(engine, model):
    spec = json.dumps({"version": 7, "shape": "unheard of"}).encode()
    engine.store.update_model(model.number, spec)


def write_snapshots(engine, model, body, total, after=-1):
    """Change the snapshots after an entry."""
    statement = "UPDATE snapshots SET body = ?, sum = ? WHERE model = ? AND seq > ?"
    execute(engine.store, statement, body, total, model.number, after)


def newer_snapshot(engine, model):
    """Though there is an older one, which would do."""
    engine.save(model)
    body = msgspec.msgpack.encode([7, "unheard of"])
    write_snapshots(engine, model, body, hashlib.sha256(body).digest(), 0)


def changed_policy(engine, model, change, after=-1):
    engine.save(model)
    snapshot = model.snapshot()
    tree = unpack(snapshot.policy)
    change(tree["policy"])
    other = pack(tree)
    written = msgspec.structs.replace(snapshot, policy=other, state_hash=state_hash(other))
    write_snapshots(engine, model, *written.packed(), after)


def unknown_policy(engine, model, after=-1):
    """A policy of a kind that this version does not know, in the snapshots after an entry."""
    changed_policy(engine, model, lambda policy: policy.update(kind="Unheard"), after)


def newer_learner(engine, model):
    changed_policy(engine, model, lambda policy: policy["learner"].update(version=7))


def newer_entry(engine, model, version=records.VERSION + 1):
    body = records.encode([version, "something", "else"])
    engine.store.writer.append(Draft(model.number, DECISION, "later", 0.0, 0.0, body)).result()


def other_layout(engine, model):
    """The same, where the version does not tell."""
    newer_entry(engine, model, records.VERSION)


WRITTEN = {
    unknown_field: "temperature of the room",
    newer_spec: "version 7.*upgrade longrank",
    newer_snapshot: "version 7.*upgrade longrank",
    unknown_policy: "'Unheard'",
    newer_learner: "'OnlineNewton'.*version 7.*upgrade longrank",
    newer_entry: r"log entry \d+ \('later'\).*version 2.*upgrade longrank",
    other_layout: r"log entry \d+ \('later'\)",
}


@pytest.fixture
def prepared(where, clock):
    """A store with two models that have learned something; what it returns makes one unknown."""

    def prepare(write):
        engine = Engine(open_store(where), clock=clock).start()
        for name in ("old", "new"):
            make(engine, name)
            play(engine, name, 1)
        engine.renew()
        engine.follow()
        model = engine.model("new")
        engine.store.writer.committed = lambda appends: appends  # as another process writes
        write(engine, model)
        crash(engine)
        return where

    return prepare


@pytest.mark.parametrize("write", WRITTEN)
def test_one_model_says_so_by_name_and_the_others_go_on(prepared, write, clock):
    where = prepared(write)
    findings = {finding.what: finding for finding in stored(where)}
    assert findings["model old"].good
    assert not findings["model new"].good
    assert findings["model new"].detail.startswith("not damaged, but of another version")
    with Engine(open_store(where), clock=clock) as engine:
        assert [model.name for model in engine.models()] == ["old"]
        engine.decide("old", asked("y"))
        assert engine.settle("old", "y", told()).learned
        reason = f"model 'new' cannot be used by this process.*{WRITTEN[write]}"
        with pytest.raises(StoreDamaged, match=reason):
            engine.decide("new", asked("y"))
        assert list(engine.suspended) == ["new"]
        assert engine.trouble is None


def test_a_snapshot_of_another_version_is_passed_over_for_an_older_one(prepared, clock):
    """As after going back to the version before: the log is there, and replayed from further on."""
    where = prepared(lambda engine, model: unknown_policy(engine, model, after=0))
    with Engine(open_store(where), clock=clock) as engine:
        assert engine.suspended == {}
        assert engine.model("new").version == 1
        assert engine.model("new").state_hash() == engine.model("old").state_hash()


def test_damage_is_told_from_another_version_and_not_passed_over(engine, path):
    play(engine, count=1)
    execute(engine.store, "DELETE FROM log WHERE kind = 0")
    crash(engine)
    damage = {finding.what: finding for finding in stored(str(path))}["model m"]
    assert damage.detail.startswith("damaged: ")
    again = Engine(open_store(str(path)))
    with pytest.raises(StoreDamaged, match="has lost its decision"):
        again.start()
    again.close()


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
