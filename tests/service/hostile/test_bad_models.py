"""One bad model: its numbers stay its own, and no list, scrape, upkeep or stop fails for it."""

from __future__ import annotations

import logging

import msgspec
import pytest
from serving import DIM, asked, make, told

from longrank.errors import InvalidInput
from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.engine.views import Views
from longrank.service.errors import StoreDamaged
from longrank.service.store.sqlite import SqliteStore
from longrank.service.upkeep import RETENTION, Upkeep

ROUND = msgspec.to_builtins(asked())


@pytest.fixture
def engine(path, clock):
    with Engine(SqliteStore(path), clock=clock, snapshot_every=1) as engine:
        for name in ("a", "bad", "c"):
            make(engine, name)
        yield engine


@pytest.mark.parametrize(("field", "number"), [("rewards", 1.1e12), ("losses", -1.7e308)])
def test_payoffs_have_a_bound(http, field, number):
    http.put("/v1/models/m", json={"policy": "ind", "dim": DIM})
    numbers = {"rewards": [1.0], "losses": [0.0, 0.0], field: [number] * (1 + (field == "losses"))}
    refused = http.post("/v1/models/m/decisions", json={**ROUND, **numbers})
    assert (refused.status_code, refused.json()["parameter"]) == (422, f"{field}[0]")
    with pytest.raises(InvalidInput, match=field):
        http.engine.decide("m", asked(**numbers))


def test_a_model_that_cannot_be_described_is_listed_by_name(http, monkeypatch):
    for name in ("a", "bad", "c"):
        http.put(f"/v1/models/{name}", json={"policy": "ind", "dim": DIM})
    describe = Views.describe

    def refuse(views, model):
        return 1 / 0 if model.name == "bad" else describe(views, model)

    monkeypatch.setattr(Views, "describe", refuse)
    listed = http.get("/v1/models").json()
    assert [one["name"] for one in listed["models"]] == ["a", "c"]
    assert [one["name"] for one in listed["unavailable"]] == ["bad"]


def test_a_scrape_goes_on_past_a_model_that_fails(http, monkeypatch):
    for name in ("a", "bad", "c"):
        http.put(f"/v1/models/{name}", json={"policy": "ind", "dim": DIM})
    pending = Views.pending
    monkeypatch.setattr(
        Views, "pending", lambda views, model: 1 / (model.name != "bad") and pending(views, model)
    )
    text = http.get("/metrics").text
    assert 'longrank_model_pending{model="c"} 0.0' in text
    assert 'longrank_model_pending{model="bad"}' not in text


@pytest.fixture
def failing(engine, monkeypatch):
    """An engine whose model ``bad`` cannot be saved."""
    save = Engine.save

    def refuse(self, model):
        if model.name == "bad":
            raise RuntimeError("it is not what it was")
        save(self, model)

    monkeypatch.setattr(Engine, "save", refuse)
    for name in ("a", "bad", "c"):
        engine.decide(name, asked("x"))
        engine.settle(name, "x", told())
    return engine


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
            engine.decide(name, asked("x"))
            engine.settle(name, "x", told())
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
