"""Starting again: the same bytes, or a refusal."""

from __future__ import annotations

import pytest
from serving import asked, fresh, make, told, until

from longrank.service import messages
from longrank.service.engine.apply import replay
from longrank.service.engine.engine import Engine
from longrank.service.errors import NotReady, StoreDamaged, StoreFailed
from longrank.service.store import sqlite
from longrank.service.store.records import DECISION, Draft
from longrank.service.store.sqlite import SqliteStore
from longrank.service.upkeep import Upkeep


@pytest.mark.parametrize("policy", ["recommended", "eps", "gl-cdcm"])
def test_every_policy_of_a_name_comes_back_with_the_same_bytes(engine, reopen, policy):
    model = make(engine, "p", policy=policy)
    answers = []
    for i in range(30):
        decision = engine.decide("p", asked(f"d{i}", seed=i))
        answers.append(decision)
        if decision.sequence:
            engine.settle("p", f"d{i}", told(1, i % 2 == 0))
        if i == 10:
            engine.save(model)
    state = model.snapshot()
    engine.close()
    again = reopen()
    assert again.model("p").snapshot() == state
    row = next(row for row in again.store.models() if row.name == "p")
    assert replay(again.store, row, fresh=True).snapshot() == state
    for i, answer in enumerate(answers):
        assert again.decide("p", asked(f"d{i}", seed=i)) == answer


def test_a_snapshot_is_taken_every_so_often(engine, reopen):
    engine.snapshot_every = 3
    upkeep = Upkeep(engine)
    for i in range(7):
        engine.decide("m", asked(f"d{i}"))
        engine.settle("m", f"d{i}", told())
        upkeep.keep()
    assert len(list(engine.store.snapshots(engine.model("m").number))) == 3
    state = fresh(engine).snapshot()
    engine.close()
    assert reopen().model("m").snapshot() == state


def test_upkeep_goes_on_after_a_failure(engine):
    upkeep = Upkeep(engine)
    engine.snapshot_every = 1
    engine.decide("m", asked("x"))
    engine.store.writer.max_queued = 0
    upkeep.start()
    try:
        engine.store.writer.max_queued = 100
        engine.settle("m", "x", told())
        until(lambda: engine.model("m").saved == 1)
    finally:
        upkeep.stop()


def test_it_does_nothing_before_it_has_started(path):
    engine = Engine(SqliteStore(path))
    with pytest.raises(NotReady):
        engine.decide("m", asked())
    engine.close()


def test_a_second_process_cannot_open_the_same_file(engine, path):  # noqa: ARG001
    with pytest.raises(StoreFailed, match="in use by another process"):
        SqliteStore(path)


def test_an_old_sqlite_is_refused(path, monkeypatch):
    monkeypatch.setattr(sqlite, "MIN_VERSION", (99, 0, 0))
    with pytest.raises(StoreFailed, match=r"99\.0\.0 or newer is needed"):
        SqliteStore(path)


def test_an_entry_that_cannot_be_learned_stops_everything_and_its_model_after_a_start(engine, path):
    """A decision whose rows fit no model of this dimension, as only a fault could write it."""
    other = engine.create("other", messages.ModelRequest(dim=2, policy="ind"))[0]
    engine.decide("m", asked("x"))
    entry, _ = engine.store.find(engine.model("m").number, "x")
    engine.store.writer.append(Draft(other.number, DECISION, "x", *entry[4:])).result()
    with pytest.raises(StoreFailed, match="could not learn"):
        engine.settle("other", "x", told())
    with pytest.raises(StoreFailed, match="could not learn"):
        engine.decide("m", asked("y"))
    engine.close()
    with Engine(SqliteStore(path)) as again:
        assert list(again.suspended) == ["other"]
        assert again.decide("m", asked("y")).id == "y"


def test_an_outcome_whose_decision_is_gone_is_not_passed_over(engine, path):
    engine.decide("m", asked("x"))
    engine.settle("m", "x", told())
    change = "DELETE FROM log WHERE kind = 0"
    engine.store.writer.call(lambda session: session.execute(change))
    engine.ready = False
    engine.close()
    again = Engine(SqliteStore(path))
    with pytest.raises(StoreDamaged, match="has lost its decision"):
        again.start()
    again.close()
