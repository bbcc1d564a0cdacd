"""One bad model: its numbers stay its own, and no list, scrape, upkeep or stop fails for it."""

from __future__ import annotations

import logging

import pytest
from serving import asked, make, play, service, told

from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.engine.views import Views
from longrank.service.errors import StoreDamaged
from longrank.service.store.sqlite import SqliteStore
from longrank.service.upkeep import RETENTION, Upkeep


@pytest.fixture
def engine(path, clock):
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
def failing(engine, monkeypatch):
    """An engine whose model ``bad`` cannot be saved."""
    save = Engine.save

    def refuse(self, model):
        if model.name == "bad":
            raise RuntimeError("it is not what it was")
        save(self, model)

    monkeypatch.setattr(Engine, "save", refuse)
    for name in ("a", "bad", "c"):
        play(engine, name, 1)
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
