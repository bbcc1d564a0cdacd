"""A long replay: it stops at once when it is told to, and keeps what it did."""

from __future__ import annotations

import threading

import pytest
from serving import ADMIN, crash, fresh, play, served, until

from longrank.service.app import build
from longrank.service.engine import apply
from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.errors import Stopped
from longrank.service.store.sqlite import SqliteStore

OUTCOMES = 30


@pytest.fixture
def log(engine, path):
    """The path of a store whose log has to be replayed from the beginning."""
    play(engine, count=OUTCOMES)
    crash(engine)
    return path


@pytest.fixture
def slow(monkeypatch):
    """Set once a replay has learned ten outcomes; it goes on when ``go_on`` is set."""
    learn, half, go_on, count = Model.settle, threading.Event(), threading.Event(), []

    def slowly(self, *args):
        count.append(1)
        learn(self, *args)
        if len(count) == 10:
            half.set()
            go_on.wait(120)

    monkeypatch.setattr(Model, "settle", slowly)
    half.go_on, half.count = go_on, count
    return half


def test_a_service_that_is_stopped_while_it_replays_stops_and_goes_on_from_there(log, slow, clock):
    engine, failures = Engine(SqliteStore(log), clock=clock), []
    with served(build(engine, admin=ADMIN, failed=failures.append)):
        assert slow.wait(120)
        stopping = threading.Thread(
            target=lambda: until(engine.stopping.is_set) or slow.go_on.set()
        )
        stopping.start()
    stopping.join()
    assert len(slow.count) == 10  # and not all of them
    assert failures == []
    with Engine(SqliteStore(log), clock=clock) as again:
        assert len(slow.count) == OUTCOMES  # none of them twice
        assert again.model("m").snapshot() == fresh(again).snapshot()


def test_a_replay_that_is_killed_again_and_again_comes_to_an_end(log, clock, monkeypatch):
    monkeypatch.setattr(apply, "SAVING", 0.0)
    learn = Model.settle
    left = [0]

    def killed(self, *args):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        learn(self, *args)

    monkeypatch.setattr(Model, "settle", killed)
    starts = 0
    while True:
        starts += 1
        left[0] = 10
        engine = Engine(SqliteStore(log), clock=clock)
        try:
            engine.start()
        except KeyboardInterrupt:
            engine.close()
            assert starts < 10
            continue
        break
    assert (engine.model("m").stats.outcomes, starts) == (OUTCOMES, 3)
    engine.close()


def test_reading_the_whole_store_stops_as_well(log):
    store = SqliteStore(log)
    try:
        with pytest.raises(Stopped):
            store.verify(lambda: True)
    finally:
        store.close()
