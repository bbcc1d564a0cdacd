"""Starting again, from snapshots, after dropping: the same bytes, or a refusal."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from serving import asked, crash, fresh, make, play, told, until

from longrank.policies import default, registry
from longrank.service.engine.apply import Recent, catch_up
from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.errors import Conflict, NotReady, StoreDamaged, StoreFailed, Unknown
from longrank.service.store import sql, sqlite, writer
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


def test_an_outcome_that_reached_the_log_although_its_commit_failed_is_learned(engine, monkeypatch):
    engine.decide("m", asked("x"))
    transact = writer._transact

    def in_silence(*arguments):
        transact(*arguments)
        raise OSError("written, but nobody was told")

    with monkeypatch.context() as patch:
        patch.setattr(writer, "_transact", in_silence)
        with pytest.raises(StoreFailed, match="nobody was told"):
            engine.settle("m", "x", told())
    assert engine.settle("m", "x", told()).repeated
    assert engine.model("m").version == 1


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
    engine.store.writer.append(Draft(other.number, DECISION, "x", *entry[4:])).result()
    with pytest.raises(StoreFailed, match="could not learn"):
        engine.settle("other", "x", told())
    with pytest.raises(StoreFailed, match="could not learn"):
        engine.decide("m", asked("y"))
    engine.close()
    with Engine(SqliteStore(path)) as again:
        assert list(again.suspended) == ["other"]
        assert again.decide("m", asked("y")).id == "y"


@pytest.mark.parametrize("policy", ["recommended", "eps"])
def test_another_default_and_other_names_change_no_replay(engine, reopen, monkeypatch, policy):
    model = make(engine, "p", policy=policy)
    play(engine, "p")
    crash(engine)
    monkeypatch.setattr(default, "PENALTY", 5.0)
    monkeypatch.setattr(default, "EXPLORATION", 2.0)
    monkeypatch.setattr(registry, "_OWN", {})
    assert reopen().model("p").snapshot() == model.snapshot()


def test_a_model_is_created_with_its_first_snapshot_or_not_at_all(engine, reopen, monkeypatch):
    def full(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(sql, "_insert_snapshot", full)
    with pytest.raises(Exception, match="disk is full"):
        make(engine, "p")
    monkeypatch.undo()
    crash(engine)
    assert [model.name for model in reopen().models()] == ["m"]


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM snapshots", "UPDATE snapshots SET body = x'00'"],
    ids=["lost", "damaged"],
)
def test_a_log_without_its_beginning_is_refused(engine, path, statement):
    play(engine)
    crash(engine)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    again = Engine(SqliteStore(path))
    with pytest.raises(StoreDamaged, match="model 'm' has no good snapshot"):
        again.start()
    again.close()


def test_dropping_old_decisions_keeps_the_state_also_of_who_is_behind(engine, clock, reopen):
    behind = fresh(engine)  # as in another process, which has not seen what follows
    play(engine, count=10, ttl=10.0)
    clock.now += 1000.0
    engine.decide("m", asked("young"))
    assert engine.drop("m", 500.0) == 10
    catch_up(engine.store, behind, Recent(engine.store, 5))
    assert behind.snapshot() == engine.model("m").snapshot()
    with pytest.raises(Unknown):
        engine.read("m", "d1")
    with pytest.raises(Unknown):
        engine.settle("m", "d1", told())
    assert engine.settle("m", "young", told()).learned
    catch_up(engine.store, behind, Recent(engine.store, 5))
    after = engine.model("m").snapshot()
    assert behind.snapshot() == after
    engine.close()
    assert reopen().model("m").snapshot() == after


def test_a_model_drops_by_itself_what_it_does_not_keep(engine, clock):
    make(engine, "short", keep=100.0, ttl=10.0)
    upkeep = Upkeep(engine)
    engine.decide("short", asked("x"))
    clock.now += 200.0
    upkeep.keep()
    assert engine.latest("short").decisions == []


def test_a_replay_from_any_snapshot_that_is_kept_gives_the_same_bytes(engine, clock):
    """Outcomes come late and out of order, while old decisions are dropped again and again."""
    rng = np.random.default_rng(0)
    refused = 0
    for i in range(120):
        engine.decide("m", asked(f"d{i}", seed=i, ttl=20.0))
        name = f"d{rng.integers(max(0, i - 40), i + 1)}"
        try:
            engine.settle("m", name, told(1, bool(rng.random() < 0.5)))
        except (Conflict, Unknown):
            refused += 1
        clock.now += 1.0
        if i % 15 == 14:
            engine.drop("m", 10.0)
    model = engine.model("m")
    (row,) = engine.store.models()
    assert 0 < refused < 100
    *kept, first = engine.store.snapshots(model.number)
    assert (len(kept), first.seq) == (3, 0)
    assert 0 < row.floor <= min(snapshot.seq for snapshot in kept)
    for snapshot in kept:
        again = Model(model.number, "m", model.created, model.spec, snapshot)
        catch_up(engine.store, again, Recent(engine.store, 5))
        assert again.snapshot() == model.snapshot()
