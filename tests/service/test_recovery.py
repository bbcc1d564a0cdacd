"""Starting again: the same bytes, or a refusal."""

from __future__ import annotations

import pytest
from serving import asked, crash, fresh, make, play, told, until

from longrank.service.engine.engine import Engine
from longrank.service.errors import NotReady, StoreFailed
from longrank.service.store import sqlite
from longrank.service.store.records import DECISION, Draft
from longrank.service.store.sqlite import SqliteStore
from longrank.service.upkeep import Upkeep


@pytest.mark.parametrize("policy", ["recommended", "eps", "gl-cdcm"])
def test_every_policy_of_a_name_comes_back_with_the_same_bytes(engine, reopen, policy):
    model = make(engine, "p", policy=policy)
    answers = play(engine, "p", 10)
    engine.save(model)
    answers += [engine.decide("p", asked(f"e{i}", seed=i)) for i in range(10)]
    state = model.snapshot()
    engine.close()
    again = reopen()
    assert again.model("p").snapshot() == fresh(again, "p").snapshot() == state
    for i, answer in enumerate(answers):
        assert again.decide("p", asked(answer.id, seed=i % 10)) == answer


def test_a_snapshot_is_taken_every_so_often_and_the_first_is_never_deleted(engine, reopen):
    engine.snapshot_every = 3
    upkeep = Upkeep(engine)
    for i in range(14):
        engine.decide("m", asked(f"d{i}"))
        engine.settle("m", f"d{i}", told())
        upkeep.keep()
    seqs = [snapshot.seq for snapshot in engine.store.snapshots(engine.model("m").number)]
    assert seqs == [24, 18, 12, 0]
    state = engine.model("m").snapshot()
    assert fresh(engine).snapshot() == state
    crash(engine)
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


def test_a_file_has_one_process_that_has_started_and_a_sqlite_that_is_not_old(
    engine, path, folder, monkeypatch
):
    with pytest.raises(StoreFailed, match="in use by another process"):
        SqliteStore(path)
    engine.close()
    idle = Engine(SqliteStore(path))
    with pytest.raises(NotReady):
        idle.decide("m", asked())
    idle.close()
    monkeypatch.setattr(sqlite, "MIN_VERSION", (99, 0, 0))
    with pytest.raises(StoreFailed, match=r"99\.0\.0 or newer is needed"):
        SqliteStore(folder / "other.db")


def test_an_entry_that_cannot_be_learned_stops_everything_and_its_model_after_a_start(engine, path):
    """A decision whose rows fit no model of this dimension, as only a fault could write it."""
    other = make(engine, "other", dim=2)
    engine.decide("m", asked("x"))
    entry, _ = engine.store.find(engine.model("m").number, "x")
    engine.store.append(Draft(other.number, DECISION, "x", *entry[4:])).result()
    with pytest.raises(StoreFailed, match="could not learn"):
        engine.settle("other", "x", told())
    with pytest.raises(StoreFailed, match="could not learn"):
        engine.decide("m", asked("y"))
    engine.close()
    with Engine(SqliteStore(path)) as again:
        assert list(again.suspended) == ["other"]
        assert again.decide("m", asked("y")).id == "y"
