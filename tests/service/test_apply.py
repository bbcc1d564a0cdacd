"""Learning: what is acknowledged is learned, and nobody waits for a learner who need not."""

import asyncio
import threading

import pytest
from msgspec.structs import replace
from serving import DIM, asked, crash, execute, fresh, make, told, until

from longrank.service import messages, upkeep
from longrank.service.engine import apply
from longrank.service.engine.apply import Recent
from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.errors import StoreFailed
from longrank.service.store.records import encode


@pytest.fixture
def stuck(engine):
    """A learner of ``m`` that is busy until it is released, as a long refit would be."""
    learner, busy, release = engine.model("m").policy.learner, threading.Event(), threading.Event()
    observe = learner.observe

    def slowly(rows, succeeded):
        busy.set()
        assert release.wait(120)
        observe(rows, succeeded)

    learner.observe = slowly
    slowly.busy, slowly.release = busy, release
    yield slowly
    release.set()


def run(work):
    return asyncio.run(asyncio.wait_for(work, 600))


async def learning(engine, stuck, *outcomes):
    """Tasks that settle decisions of ``m``, the first of which is being learned."""
    tasks = [asyncio.create_task(engine.aio.settle("m", name, told())) for name in outcomes]
    await asyncio.to_thread(stuck.busy.wait, 120)
    return tasks


def test_a_learner_that_is_busy_keeps_nobody_waiting(engine, stuck):
    """No decision or reader of its own model, nor the decisions and outcomes of another."""
    make(engine, "other")
    model = engine.model("m")

    async def work():
        for name in "abc":
            await engine.aio.decide("m", asked(name))
        before = model.snapshot()
        (first,) = await learning(engine, stuck, "a")
        meanwhile = [await engine.aio.decide(name, asked("x")) for name in ("m", "other")]
        assert (await engine.aio.settle("other", "x", told())).learned
        (again,) = await learning(engine, stuck, "a")
        (second,) = await learning(engine, stuck, "b")
        later = await engine.aio.decide("other", asked("z"))
        read = await asyncio.to_thread(engine.describe, model)
        assert await asyncio.to_thread(model.snapshot) == before
        assert not any(task.done() for task in (first, again, second))
        assert [decision.version for decision in (*meanwhile, later)] == [0, 0, 1]
        assert (read.version, read.state_hash) == (0, before.state_hash)
        assert (read.stats.decisions, read.stats.outcomes) == (3, 0)
        stuck.release.set()
        answers = await asyncio.gather(first, again, second)
        assert [answer.repeated for answer in answers] == [False, True, False]
        return await engine.aio.decide("m", asked("w"))

    assert run(work()).version == 2
    stats = engine.describe(model).stats
    assert (stats.decisions, stats.learned, stats.pending) == (5, 2, 3)


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
            await engine.aio.decide("m", asked("x"))
            await engine.aio.settle("m", "x", told())
        finally:
            release.set()
        await reading

    monkeypatch.setattr(type(model.policy), "to_bytes", slowly)
    run(work())
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
        await asyncio.to_thread(tick)
        assert stuck.busy.is_set()
        while outcomes()[1] < 2:
            await asyncio.to_thread(tick)
        assert outcomes() == [0, 2]
        stuck.release.set()

    run(work())
    until(lambda: tick() or outcomes() == [2, 2])


def test_what_is_learned_late_is_learned_in_the_order_of_the_log(engine, stuck, reopen):
    async def work():
        await asyncio.gather(*(engine.aio.decide("m", asked(f"d{i}", seed=i)) for i in range(20)))
        settling = [
            asyncio.create_task(engine.aio.settle("m", f"d{i}", told(1, i % 3 == 0)))
            for i in range(20)
        ]
        await learning(engine, stuck)
        await asyncio.gather(*(engine.aio.decide("m", asked(f"e{i}", seed=i)) for i in range(20)))
        stuck.release.set()
        await asyncio.gather(*settling)

    run(work())
    until(lambda: engine.model("m").stats.decisions == 40)  # those of meanwhile come after
    state = engine.model("m").snapshot()
    execute(engine.store, "DELETE FROM snapshots WHERE seq > 0")
    crash(engine)
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
        (first,) = await learning(engine, stuck, "a")
        failing = await learning(engine, stuck, "b", "b")
        await engine.aio.decide("m", asked("x"))
        engine.model("m").policy.learner.observe = None
        stuck.release.set()
        return await asyncio.gather(first, *failing, return_exceptions=True)

    first, *failed = run(work())
    assert first.learned
    for error in failed:  # also the repetition of what was not learned
        assert isinstance(error, StoreFailed)
        assert "could not learn the log after entry" in str(error)
    with pytest.raises(StoreFailed, match="could not learn"):
        engine.decide("m", asked("y"))


def test_once_a_model_has_failed_to_learn_no_outcome_is_acknowledged(engine, stuck, monkeypatch):
    """Neither its own, in the writer's thread, nor another's that waits in the pool."""
    make(engine, "other")

    async def work():
        for model, name in (("m", "a"), ("m", "b"), ("other", "x")):
            await engine.aio.decide(model, asked(name))
        await learning(engine, stuck, "a")
        (waiting,) = await learning(engine, stuck, "b")
        monkeypatch.setattr(apply, "MAX_INLINE", 10.0)
        engine.model("other").policy.learner.observe = None
        with pytest.raises(StoreFailed, match="'other' could not learn"):
            await engine.aio.settle("other", "x", told())
        stuck.release.set()
        with pytest.raises(StoreFailed, match="'other' could not learn"):
            await waiting

    run(work())


def test_a_model_that_is_deleted_before_it_has_learned_stops_nothing(engine):
    make(engine, "other")
    engine.decide("m", asked("x"))
    busy, deleted = threading.Event(), threading.Event()

    def fail(*_):
        busy.set()
        assert deleted.wait(120)
        raise ValueError("its decision is gone")

    engine.model("m").policy.learner.observe = fail
    settling = threading.Thread(target=engine.settle, args=("m", "x", told()))
    settling.start()
    assert busy.wait(120)
    engine.delete("m")
    deleted.set()
    settling.join()
    assert engine.broken is None
    engine.decide("other", asked("y"))
    assert engine.settle("other", "y", told()).learned


def test_quick_learners_learn_in_the_writers_thread_and_slow_ones_in_the_pool(engine, monkeypatch):
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


def test_an_entry_that_comes_twice_is_applied_once(engine):
    """As where a process has followed the log past a commit that the writer then reports."""
    model, seen = engine.model("m"), []
    committed = engine.store.writer.committed
    engine.store.writer.committed = lambda appends: committed(seen.append(appends) or appends)
    engine.decide("m", asked("x"))
    engine.settle("m", "x", told())
    state = model.snapshot()
    for appends in seen:
        committed(appends)
    until(lambda: not engine.learning(model))
    assert model.snapshot() == state
    assert (model.stats.decisions, model.stats.outcomes, model.policy.learner.updates) == (1, 1, 1)


def test_what_is_applied_is_counted_once_it_is_published(engine):
    """Though somebody reads in between."""
    engine.decide("m", asked("x"))
    (row,), seen = engine.store.models(), []
    first = engine.store.snapshots(row.model)[-1]
    behind = Model(row.model, "m", 0.0, engine.model("m").spec, first)
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


@pytest.mark.parametrize("dim", [DIM, None])
def test_the_candidates_that_a_model_stores_are_not_kept_in_memory(engine, dim):
    make(engine, "full", policy="recommended", dim=dim, store_candidates=True)
    if dim is None:
        request = messages.DecisionRequest("x", candidates=[{"id": str(i)} for i in range(2000)])
    else:
        request = asked("x", costs=[0.1] * 5)
    engine.decide("full", request)
    model = engine.model("full")
    entry, _ = engine.store.find(model.number, "x")
    whole, (kept, _) = entry.decision(), engine._recent.known(model.number, "x")
    assert whole.candidates
    offered = ("candidates", "items", "costs", "success_values", "records")
    assert encode(kept) == encode(replace(whole, **dict.fromkeys(offered)))
    engine.settle("full", "x", told())
    assert fresh(engine, "full").state_hash() == model.state_hash()
