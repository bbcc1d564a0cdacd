"""Ready means that it can answer: warm kernels, a store that takes writes, upkeep that goes on."""

from __future__ import annotations

import asyncio
import threading

import httpx
import pytest
from serving import ADMIN, DIM, make, served, until, until_ready

from longrank.service import app
from longrank.service.app import build
from longrank.service.engine.engine import Engine
from longrank.service.engine.warming import warm
from longrank.service.errors import NotReady, StoreFailed
from longrank.service.http import status
from longrank.service.http.status import FRESH, STALLED, Readiness
from longrank.service.store.sqlite import SqliteStore
from longrank.service.upkeep import Upkeep


class Ready:
    """Asks whether an engine is ready, by a clock that is set."""

    def __init__(self, engine):
        self.now, self.upkeep = 1000.0, Upkeep(engine)
        self.upkeep.finished = self.now
        self.readiness = Readiness(engine, self.upkeep, lambda: self.now)
        self.readiness.warm = True

    def __call__(self):
        return asyncio.run(self.readiness.check())


@pytest.fixture
def ready(engine):
    return Ready(engine)


def test_it_is_not_ready_before_the_kernels_are_warm(path, clock, monkeypatch, engine):
    engine.close()
    gate, warmed = threading.Event(), []

    def slowly(models):
        assert gate.wait(120)
        warmed.extend(model.name for model in models)

    monkeypatch.setattr(app, "warm", slowly)
    starting = build(Engine(SqliteStore(path), clock=clock), admin=ADMIN)
    with served(starting) as url, httpx.Client(base_url=url, timeout=120.0) as client:
        try:
            until(lambda: "kernels" in client.get("/readyz").json()["detail"])
            assert client.get("/healthz").status_code == 200
        finally:
            gate.set()
        until_ready(client)
    assert warmed == ["m"]


@pytest.mark.parametrize(
    ("policy", "dim"),
    [("dep", DIM), ("recommended", DIM), ("recommended", None), ("plackett-luce", None)],
)
def test_warming_changes_no_model(engine, caplog, policy, dim):
    settings = {"topics": [[1.0] * DIM, [0.0] * DIM]} if policy == "dep" else {}
    model = make(engine, "w", policy=policy, dim=dim, max_budget=1, settings=settings)
    before, seq = model.state_hash(), model.seq
    warm([model, model])
    assert (model.state_hash(), model.seq, model.stats.decisions) == (before, seq, 0)
    assert caplog.text == ""


def test_a_model_that_cannot_be_warmed_up_does_not_stop_the_start(engine, caplog, monkeypatch):
    monkeypatch.setattr(engine.model("m"), "snapshot", lambda: 1 / 0)
    other = make(engine, "n", policy="rand")
    warm([engine.model("m"), other])
    assert "model m could not be warmed up" in caplog.text


def test_a_store_that_takes_no_writes_is_not_ready(ready, engine, monkeypatch):
    ready()
    assert ready.readiness._written == ready.now

    def full():
        raise StoreFailed("the store could not write: the disk is full")

    monkeypatch.setattr(engine.store, "probe", full)
    ready()  # it worked a moment ago
    ready.now += 2 * FRESH
    with pytest.raises(NotReady, match="the disk is full"):
        ready()


def test_a_store_that_does_not_answer_is_not_ready_and_is_asked_once(ready, engine, monkeypatch):
    gate, asked = threading.Event(), []

    def hang():
        asked.append(1)
        assert gate.wait(120)

    monkeypatch.setattr(engine.store, "probe", hang)
    monkeypatch.setattr(status, "PATIENCE", 0.05)

    async def main():
        for _ in range(3):
            with pytest.raises(NotReady, match="has not taken a write"):
                await ready.readiness.check()
        gate.set()
        while ready.readiness._writing is not None:
            await asyncio.sleep(0.001)
        await ready.readiness.check()

    asyncio.run(main())
    assert len(asked) == 1


def test_upkeep_that_hangs_or_fails_is_not_ready(ready):
    ready.now += STALLED + 1.0
    with pytest.raises(NotReady, match="upkeep has not been round for 11 seconds"):
        ready()
    ready.upkeep.finished = ready.now
    ready()


def test_upkeep_says_when_it_was_last_round(engine, monkeypatch):
    upkeep, rounds = Upkeep(engine), []

    def keep():
        rounds.append(upkeep.finished)
        if len(rounds) > 3:
            raise StoreFailed("away")

    monkeypatch.setattr(upkeep, "keep", keep)
    upkeep.start()
    until(lambda: len(rounds) > 5)
    upkeep.stop()
    assert rounds[0] < rounds[3]
    assert rounds[4] == rounds[5]


def test_a_probe_changes_nothing_but_needs_a_store_that_writes(store):
    store.probe()
    assert store.models() == []
    store.close()
    with pytest.raises(StoreFailed):
        store.probe()
