"""Reads of the store: not in the event loop, many at once, and not without a limit."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack

import pytest
from serving import asked, told

from longrank.service.engine import readers
from longrank.service.engine.readers import Readers
from longrank.service.errors import Busy, Conflict, NotReady, Unknown
from longrank.service.store import store as stores


@pytest.fixture
def pool():
    readers = Readers()
    yield readers
    readers.close()


def test_what_must_read_the_store_leaves_the_event_loop(engine, monkeypatch):
    engine.decide("m", asked("x"))
    engine._recent.clear()  # as after a restart, or many other decisions
    threads, find = [], engine.store.find

    def watched(*which):
        threads.append(threading.current_thread())
        return find(*which)

    monkeypatch.setattr(engine.store, "find", watched)

    async def main():
        verbs = engine.aio
        assert (await verbs.decide("m", asked("x"))).id == "x"  # a duplicate
        with pytest.raises(Conflict):
            await verbs.decide("m", asked("x", budget=1))
        assert (await verbs.settle("m", "x", told())).learned
        assert (await verbs.settle("m", "x", told())).repeated
        with pytest.raises(Unknown):
            await verbs.settle("m", "y", told())

    asyncio.run(main())
    assert len(threads) >= 5
    assert threading.main_thread() not in threads


def test_reads_that_wait_share_a_change_of_threads(pool, monkeypatch):
    submit, trips = pool._pool.submit, []

    def counted(*work):
        trips.append(work)
        return submit(*work)

    monkeypatch.setattr(pool._pool, "submit", counted)

    async def main():
        return await asyncio.gather(*(pool.read(divmod, i, 7) for i in range(100)))

    assert asyncio.run(main()) == [divmod(i, 7) for i in range(100)]
    assert len(trips) == 1


def test_slow_reads_leave_a_thread_to_others_until_all_are_slow(pool):
    gate, entered = threading.Event(), threading.Semaphore(0)

    def slow():
        entered.release()
        return gate.wait(120)

    async def main():
        async def begin():
            reading = asyncio.ensure_future(pool.read(slow))
            assert await asyncio.to_thread(entered.acquire, timeout=120)
            return reading

        reading = [await begin() for _ in range(readers.MAX_READERS - 1)]
        assert await pool.read(abs, -1) == 1
        reading.append(await begin())
        rest = [asyncio.ensure_future(pool.read(abs, i)) for i in range(50)]
        await asyncio.sleep(0.0)
        assert not any(task.done() for task in (*reading, *rest))
        gate.set()
        assert await asyncio.gather(*rest) == list(range(50))
        assert all(await asyncio.gather(*reading))

    asyncio.run(main())


def test_an_error_is_the_callers_and_nobody_elses(pool):
    async def main():
        gone = asyncio.ensure_future(pool.read(abs, 1))
        found = asyncio.gather(pool.read(divmod, 1, 0), pool.read(abs, -2), return_exceptions=True)
        await asyncio.sleep(0.0)
        gone.cancel()
        return await found

    error, good = asyncio.run(main())
    assert isinstance(error, ZeroDivisionError)
    assert good == 2


def test_each_event_loop_has_its_own_reads(pool):
    results = []

    def run():
        async def main():
            return [await pool.read(abs, -i) for i in range(50)]

        results.append(asyncio.run(main()))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert results == [list(range(50))] * 4


def test_a_service_that_stops_reads_no_more(pool):
    pool.close()
    with pytest.raises(NotReady):
        asyncio.run(pool.read(abs, 1))


def test_connections_that_read_have_a_limit(engine, monkeypatch):
    monkeypatch.setattr(stores, "PATIENCE", 0.0)
    with ExitStack() as stack:
        for _ in range(stores.MAX_READING - 1):
            stack.enter_context(engine.store.reading())
        assert engine.store.models()
        with engine.store.reading(), pytest.raises(Busy, match="connections that read"):
            engine.store.models()
        assert engine.store.models()
    assert len(engine.store._pool._free) <= stores.MAX_READING
