"""The clock: where it is set, nothing expires at once, and expiry does not stop."""

from __future__ import annotations

from itertools import pairwise

import pytest
from serving import Clock, asked, make, until

from longrank.service import upkeep
from longrank.service.engine.engine import Engine, SteadyClock
from longrank.service.store.sqlite import SqliteStore
from longrank.service.upkeep import Upkeep

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
