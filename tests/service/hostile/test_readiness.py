"""Upkeep and readiness: clocks that are wrong, a store that takes no writes, cold kernels."""

from __future__ import annotations

import asyncio
import threading
from itertools import pairwise

import httpx
import pytest
from serving import ADMIN, DIM, Clock, asked, make, served, until, until_ready

from longrank.service import app, upkeep
from longrank.service.app import build
from longrank.service.engine.engine import Engine, SteadyClock
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
def ready(engine, monkeypatch):
    monkeypatch.setattr(status, "PATIENCE", 120.0)
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


def test_a_store_that_takes_no_writes_or_upkeep_that_hangs_is_not_ready(ready, engine, monkeypatch):
    ready()
    assert ready.readiness._written == ready.now

    def full():
        raise StoreFailed("the store could not write: the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(engine.store, "probe", full)
        ready()  # it worked a moment ago
        ready.now += 2 * FRESH
        with pytest.raises(NotReady, match="the disk is full"):
            ready()
    ready.now += STALLED + 1.0 - 2 * FRESH
    with pytest.raises(NotReady, match="upkeep has not been round for 11 seconds"):
        ready()
    ready.upkeep.finished = ready.now
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


DAY = 86400.0


class Times:
    """The clocks of a machine: ``wall`` can be set, ``elapsed`` cannot."""

    def __init__(self) -> None:
        self.wall, self.elapsed = Clock(), Clock()
        self.steady = SteadyClock(self.wall, self.elapsed)

    def go_on(self, seconds: float) -> None:
        self.wall.now += seconds
        self.elapsed.now += seconds


@pytest.fixture
def times():
    return Times()


@pytest.fixture
def strict(path, times):
    """An engine with 100 decisions that wait, and whose missing outcomes are failures."""
    with Engine(SqliteStore(path), clock=times.steady) as engine:
        make(engine, "m", missing="failed", ttl=60.0, keep=DAY)
        for i in range(100):
            engine.decide("m", asked(f"d{i}"))
        yield engine


def outcomes(engine):
    return engine.model("m").stats.outcomes


def test_a_clock_that_is_wrong_for_a_moment_lets_nothing_expire_and_does_not_stop_expiry(
    strict, times
):
    keeping = Upkeep(strict)
    times.wall.now += 2 * DAY
    keeping.keep()
    times.wall.now -= 2 * DAY
    times.go_on(59.0)
    keeping.keep()
    assert outcomes(strict) == 0
    assert strict.store.count(strict.model("m").number) == 100
    times.wall.now -= 3600.0
    times.go_on(65.0)
    until(lambda: keeping.keep() or outcomes(strict) > 0)


def test_of_all_that_look_expired_at_a_start_only_a_share_is_learned(
    strict, path, times, monkeypatch
):
    """As where the machine's clock was wrong when the process started."""
    strict.close()
    times.wall.now += 2 * DAY
    with Engine(SqliteStore(path), clock=SteadyClock(times.wall, times.elapsed)) as engine:
        keeping = Upkeep(engine)
        monkeypatch.setattr(upkeep, "MAX_EXPIRING", 30.0)
        for _ in range(3):
            keeping.keep()
        assert outcomes(engine) == upkeep.MIN_EXPIRING == 10
        monkeypatch.setattr(upkeep, "PERIOD", 0.0)
        until(lambda: keeping.keep() or outcomes(engine) == 100)  # in the end all of them


def test_retention_drops_a_share_at_a_time(strict, times, monkeypatch):
    monkeypatch.setattr(upkeep, "MIN_DROPPED", 5)
    monkeypatch.setattr(upkeep, "PERIOD", 0.0)
    keeping = Upkeep(strict)
    times.go_on(2 * DAY)
    number = strict.model("m").number
    keeping.keep()
    assert strict.store.count(number) == 90
    keeping.keep()  # not before a minute has passed
    assert strict.store.count(number) == 90
    times.go_on(upkeep.RETENTION)
    keeping.keep()
    assert strict.store.count(number) == 81


def test_the_clock_never_goes_back_and_meets_the_systems_again(times, caplog):
    seen = [times.steady()]
    times.wall.now -= 3600.0
    for _ in range(3 * 24):
        times.go_on(3600.0)
        seen.append(times.steady())
    assert all(0.95 <= (b - a) / 3600.0 <= 1.05 for a, b in pairwise(seen))
    assert seen[-1] == pytest.approx(times.wall.now)
    assert "the system's clock is -3600 seconds" in caplog.text
