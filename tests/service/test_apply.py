"""Learning: what is acknowledged is learned, and nobody waits for a learner who need not."""

from __future__ import annotations

import asyncio
import threading

import apsw
import pytest
from serving import asked, make, told, until

from longrank.service import upkeep
from longrank.service.engine import apply
from longrank.service.engine.apply import Recent
from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.errors import StoreFailed


@pytest.fixture
def stuck(engine):
    """A learner of ``m`` that is busy until it is released, as a long refit would be."""
    observe, busy, release = (
        engine.model("m").policy.learner.observe,
        threading.Event(),
        threading.Event(),
    )

    def slowly(rows, succeeded):
        busy.set()
        assert release.wait(120)
        observe(rows, succeeded)

    engine.model("m").policy.learner.observe = slowly
    slowly.busy, slowly.release = busy, release
    yield slowly
    release.set()


def test_a_learner_that_is_busy_keeps_no_decision_waiting(engine, stuck):
    """Neither of its own model nor of another, nor the outcomes of the other."""
    make(engine, "other")

    async def work():
        for name in "abc":
            await engine.aio.decide("m", asked(name))
        learning = asyncio.create_task(engine.aio.settle("m", "a", told()))
        await asyncio.to_thread(stuck.busy.wait, 120)
        meanwhile = [
            await asyncio.wait_for(engine.aio.decide("m", asked("x")), 120),
            await asyncio.wait_for(engine.aio.decide("other", asked("y")), 120),
        ]
        elsewhere = await asyncio.wait_for(engine.aio.settle("other", "y", told()), 120)
        second = asyncio.create_task(engine.aio.settle("m", "b", told()))
        later = await asyncio.wait_for(engine.aio.decide("other", asked("z")), 120)
        assert not learning.done()
        assert not second.done()
        assert [decision.version for decision in meanwhile] == [0, 0]
        assert (elsewhere.learned, later.version) == (True, 1)
        stuck.release.set()
        assert (await learning).learned
        assert (await second).learned
        return await engine.aio.decide("m", asked("w"))

    assert asyncio.run(asyncio.wait_for(work(), 600)).version == 2
    assert engine.model("m").stats.decisions == 5


def test_a_repeated_outcome_is_acknowledged_when_the_first_is_learned(engine, stuck):
    make(engine, "other")

    async def work():
        await engine.aio.decide("m", asked("x"))
        first = asyncio.create_task(engine.aio.settle("m", "x", told()))
        await asyncio.to_thread(stuck.busy.wait, 120)
        again = asyncio.create_task(engine.aio.settle("m", "x", told()))
        for name in "abc":  # several commits later
            await asyncio.wait_for(engine.aio.decide("other", asked(name)), 120)
        assert not again.done()
        stuck.release.set()
        answers = await asyncio.gather(first, again)
        assert [answer.repeated for answer in answers] == [False, True]
        return await engine.aio.decide("m", asked("y"))

    assert asyncio.run(asyncio.wait_for(work(), 600)).version == 1


def test_a_learner_that_is_busy_keeps_no_reader_waiting(engine, stuck):
    async def work():
        model = engine.model("m")
        await engine.aio.decide("m", asked("x"))
        before = model.snapshot()
        learning = asyncio.create_task(engine.aio.settle("m", "x", told()))
        await asyncio.to_thread(stuck.busy.wait, 120)
        meanwhile = await asyncio.wait_for(asyncio.to_thread(engine.describe, model), 120)
        assert (meanwhile.version, meanwhile.state_hash) == (0, before.state_hash)
        assert (meanwhile.stats.decisions, meanwhile.stats.outcomes) == (1, 0)
        assert await asyncio.wait_for(asyncio.to_thread(model.snapshot), 120) == before
        stuck.release.set()
        await learning
        return engine.describe(model)

    found = asyncio.run(asyncio.wait_for(work(), 600))
    assert (found.version, found.stats.learned, found.stats.pending) == (1, 1, 0)


@pytest.mark.parametrize("read", [Engine.describe, Engine.save])
def test_a_reader_keeps_no_writer_waiting(engine, monkeypatch, read):
    """Packing a long history takes long; meanwhile its model decides and learns."""
    model, packing, release = engine.model("m"), threading.Event(), threading.Event()
    to_bytes = type(model.policy).to_bytes

    def slowly(policy):
        packing.set()
        assert release.wait(120)
        return to_bytes(policy)

    async def work():
        reading = asyncio.create_task(asyncio.to_thread(read, engine, model))
        try:
            await asyncio.to_thread(packing.wait, 120)
            await asyncio.wait_for(engine.aio.decide("m", asked("x")), 120)
            await asyncio.wait_for(engine.aio.settle("m", "x", told()), 120)
        finally:
            release.set()
        await reading

    monkeypatch.setattr(type(model.policy), "to_bytes", slowly)
    asyncio.run(asyncio.wait_for(work(), 600))
    assert (model.version, model.saved) == (1, 0)


def test_a_learner_that_is_busy_keeps_no_upkeep_waiting(engine, clock, stuck, monkeypatch):
    """Neither its snapshots nor its missing outcomes; another model's are logged meanwhile."""
    monkeypatch.setattr(upkeep, "MAX_EXPIRING", 0.5)
    engine.snapshot_every = 0
    for name in ("m", "other"):
        make(engine, name, missing="failed", ttl=10.0)
        for decision in "ab":
            engine.decide(name, asked(decision))
    clock.now += 10.0
    tick = upkeep.Upkeep(engine).keep

    def outcomes():
        return [engine.model(name).stats.outcomes for name in ("m", "other")]

    async def work():
        await asyncio.wait_for(asyncio.to_thread(tick), 120)
        assert stuck.busy.is_set()
        while outcomes()[1] < 2:
            await asyncio.wait_for(asyncio.to_thread(tick), 120)
        assert outcomes() == [0, 2]
        stuck.release.set()

    asyncio.run(asyncio.wait_for(work(), 600))
    until(lambda: tick() or outcomes() == [2, 2])


def test_what_is_learned_late_is_learned_in_the_order_of_the_log(engine, stuck, reopen):
    async def work():
        await asyncio.gather(*(engine.aio.decide("m", asked(f"d{i}", seed=i)) for i in range(20)))
        settling = [
            asyncio.create_task(engine.aio.settle("m", f"d{i}", told(1, i % 3 == 0)))
            for i in range(20)
        ]
        await asyncio.to_thread(stuck.busy.wait, 120)
        await asyncio.gather(*(engine.aio.decide("m", asked(f"e{i}", seed=i)) for i in range(20)))
        stuck.release.set()
        await asyncio.gather(*settling)

    asyncio.run(asyncio.wait_for(work(), 600))
    until(lambda: engine.model("m").stats.decisions == 40)  # those of meanwhile come after
    state = engine.model("m").snapshot()
    engine.store.writer.call(lambda session: session.execute("DELETE FROM snapshots WHERE seq > 0"))
    engine.ready = False  # no last snapshot
    engine.close()
    assert reopen().model("m").snapshot() == state


def test_what_is_being_learned_at_the_end_is_learned(engine, stuck, reopen, monkeypatch):
    engine.decide("m", asked("x"))
    settling = threading.Thread(target=engine.settle, args=("m", "x", told()))
    settling.start()
    assert stuck.busy.wait(120)
    model = engine.model("m")
    close = engine._applier.close  # the last that is closed
    monkeypatch.setattr(engine._applier, "close", lambda: stuck.release.set() or close())
    engine.close()
    assert model.version == 1
    settling.join()
    assert reopen().model("m").version == 1


def test_a_learner_that_fails_stops_everything_and_all_who_wait_are_told(engine, stuck):
    async def work():
        for name in "abc":
            await engine.aio.decide("m", asked(name))
        first = asyncio.create_task(engine.aio.settle("m", "a", told()))
        await asyncio.to_thread(stuck.busy.wait, 120)
        failing = [asyncio.create_task(engine.aio.settle("m", "b", told())) for _ in range(2)]
        await asyncio.wait_for(engine.aio.decide("m", asked("x")), 120)
        engine.model("m").policy.learner.observe = None
        stuck.release.set()
        return await asyncio.gather(first, *failing, return_exceptions=True)

    first, *failed = asyncio.run(asyncio.wait_for(work(), 600))
    assert first.learned
    for error in failed:  # also the repetition of what was not learned
        assert isinstance(error, StoreFailed)
        assert "could not learn the log after entry" in str(error)
    with pytest.raises(StoreFailed, match="could not learn"):
        engine.decide("m", asked("y"))


def test_a_model_that_is_deleted_before_it_has_learned_stops_nothing(engine, monkeypatch):
    """Its outcome was found in the log after a failed commit, and its decision no longer."""
    make(engine, "other")
    engine.decide("m", asked("x"))
    writer, deleted, find = engine.store.writer, threading.Event(), engine.store.find
    session = writer._session

    class CommittedAndFailed:
        """A session whose commits reach the disk and fail all the same."""

        close = session.close

        def execute(self, statement, args=()):
            found = session.execute(statement, args)
            if statement == "COMMIT":
                raise apsw.IOError("fsync failed")
            return found

    def later(*which):
        assert deleted.wait(120)
        return find(*which)

    writer._session = CommittedAndFailed()
    with pytest.raises(StoreFailed, match="could not write"):
        engine.settle("m", "x", told())
    engine._recent.clear()
    monkeypatch.setattr(engine.store, "find", later)
    model = engine.model("m")
    engine.delete("m")
    assert engine._applier.learning(model)
    deleted.set()
    until(lambda: not engine._applier.learning(model))
    assert engine.broken is None
    engine.decide("other", asked("y"))
    assert engine.settle("other", "y", told()).learned


def test_a_quick_learner_learns_in_the_writers_thread_and_a_slow_one_in_the_pool(
    engine, monkeypatch
):
    learner, threads = engine.model("m").policy.learner, []
    observe = learner.observe

    def noted(rows, succeeded):
        threads.append(threading.current_thread().name.rstrip("_0123456789"))
        observe(rows, succeeded)

    learner.observe = noted
    for i, limit in enumerate([10.0, 10.0, 0.0]):
        monkeypatch.setattr(apply, "MAX_INLINE", limit)
        engine.decide("m", asked(f"d{i}"))
        engine.settle("m", f"d{i}", told())
    assert threads == ["longrank-writer", "longrank-writer", "longrank-learner"]


def test_who_reads_sees_one_belief_and_the_statistics_of_one_moment(engine):
    """What was published is never written to: its bytes stay, and its answers too."""
    model = engine.model("m")
    engine.decide("m", asked("x"))
    view, stats = model.published()
    shown = stats.shown(0)
    weights, inverse = view.policy.learner.weights.copy(), view.policy.learner.inverse.copy()
    engine.settle("m", "x", told())
    assert model.view is not view
    assert (view.learned, model.version) == (0, 1)
    assert model.stats.outcomes == 1
    assert stats.shown(0) == shown
    assert (view.policy.learner.weights == weights).all()
    assert (view.policy.learner.inverse == inverse).all()
    assert (model.view.policy.learner.inverse != inverse).any()


def test_what_is_applied_is_counted_once_it_is_published(engine):
    """Though somebody reads in between."""
    engine.decide("m", asked("x"))
    (row,), seen = engine.store.models(), []
    behind = Model(
        row.model, "m", 0.0, engine.model("m").spec, engine.store.snapshots(row.model)[-1]
    )
    changes = [Recent(engine.store, 9).read(entry) for entry in engine.store.after(row.model, 0)]
    behind.apply(changes, lambda model: seen.append(model.stats.decisions))
    assert (seen, behind.stats.decisions) == ([0], 1)


def test_only_so_many_are_kept_in_memory_and_the_others_are_found_in_the_store(engine):
    for i in range(5):
        engine.decide("m", asked(f"d{i}", seed=i))
    number = engine.model("m").number
    entries = [engine.store.find(number, f"d{i}")[0] for i in range(5)]
    recent = Recent(engine.store, 3)
    for entry in entries:
        recent.read(entry)
    asked_for = []
    find = engine.store.find
    engine.store.find = lambda model, name: asked_for.append(name) or find(model, name)
    found = [recent.find(number, f"d{i}") for i in range(5)]
    assert found == [(entry.decision(), None) for entry in entries]
    assert asked_for == ["d0", "d1"]
