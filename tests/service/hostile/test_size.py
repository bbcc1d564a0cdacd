"""Size and reads: large states, long logs and many reads cost what they must, and no more."""

from __future__ import annotations

import asyncio
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from serving import MODEL, asked, execute, follow, make, told, until

from longrank.service import export, messages
from longrank.service.engine import readers
from longrank.service.engine.readers import Readers
from longrank.service.errors import Busy, Conflict, NotReady, Unknown
from longrank.service.store import sql, store
from longrank.service.store import store as stores
from longrank.service.store.postgres import PostgresSession


@pytest.mark.postgres
def test_idle_models_cost_no_statements(engines, monkeypatch):
    first, _ = engines
    counted, execute = [], PostgresSession.execute

    def counting(self, *args):
        counted.append(args[0])
        return execute(self, *args)

    def statements():
        counts = []
        for _ in range(5):  # something is new in the first, and may be due in another
            counted.clear()
            follow(engines)
            counts.append(len(counted))
        return min(counts)

    monkeypatch.setattr(PostgresSession, "execute", counting)
    make(first, "m0")
    few = statements()
    for i in range(1, 30):
        make(first, f"m{i}")
    assert statements() == few < 10


@pytest.mark.postgres
def test_the_state_of_a_large_model_is_not_written_with_every_outcome(engines):
    first, _ = engines
    dim, outcomes = 200, 20
    request = messages.ModelRequest(dim=dim, policy="c-ucb1", max_budget=1)
    state = len(first.create("large", request)[0].snapshot().policy)

    def written():
        current = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
        return int(execute(first.store, current)[0][0])

    before = written()
    for i in range(outcomes):
        row = np.full((1, dim), 1.0 / dim).tolist()
        decision = messages.DecisionRequest(id=f"d{i}", ids=["a"], features=row)
        first.decide("large", decision)
        first.settle("large", f"d{i}", told())
        follow(engines)
    until(lambda: [engine.model("large").version for engine in engines] == [outcomes, outcomes])
    assert written() - before < outcomes * state / 4


def test_decisions_are_dropped_a_part_at_a_time_and_writes_go_on_between(
    engine, clock, monkeypatch
):
    monkeypatch.setattr(store, "BATCH", 10)
    drop, sizes = sql.drop, []
    between = threading.Thread(target=engine.decide, args=("m", asked("between")))

    def recorded(session, model, ids, upto):
        sizes.append(len(ids))
        if len(sizes) == 1:  # somebody else writes meanwhile
            between.start()
        return drop(session, model, ids, upto)

    monkeypatch.setattr(sql, "drop", recorded)
    for i in range(35):
        engine.decide("m", asked(f"d{i}", ttl=10.0))
    clock.now += 1000.0
    assert engine.drop("m", 500.0) == 35
    between.join()
    assert sizes == [10, 10, 10, 5]


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_model_is_deleted_a_part_at_a_time_and_wholly(engine, reopen, monkeypatch, interrupted):
    monkeypatch.setattr(store, "BATCH", 10)
    for i in range(25):
        engine.decide("m", asked(f"d{i}"))
    number = engine.model("m").number
    with monkeypatch.context() as patch:
        if interrupted:
            patch.setattr(sql, "delete_log", lambda *_: 0)
        engine.delete("m")
    assert len(engine.store.after(number, 0)) == (25 if interrupted else 0)
    engine.close()
    again = reopen()
    assert again.models() == []
    assert again.store.after(number, 0) == []


def test_an_export_is_read_by_bytes_and_sent_from_a_file(http, monkeypatch):
    http.put("/v1/models/m", json={**MODEL, "store_candidates": True})
    for i in range(40):
        http.post("/v1/models/m/decisions", json=msgspec.to_builtins(asked(f"d{i}")))
    oldest, limits = http.engine.store.oldest, []

    def recorded(model, after, limit):
        limits.append(limit)
        return oldest(model, after, limit)

    monkeypatch.setattr(http.engine.store, "oldest", recorded)
    monkeypatch.setattr(export, "BYTES", 4000)  # about five decisions
    answer = http.get("/v1/models/m/export?format=parquet")
    assert answer.status_code == 200
    rows = pq.read_table(io.BytesIO(answer.content)).to_pylist()
    assert [row["id"] for row in rows] == [f"d{i}" for i in range(40)]
    assert limits[0] == export.FIRST
    assert 1 <= max(limits[1:]) < 10


@pytest.fixture
def pool():
    readers = Readers()
    yield readers
    readers.close()


def test_what_must_read_the_store_leaves_the_event_loop(engine, monkeypatch):
    engine.decide("m", asked("x"))
    engine._recent.clear()  # as after a restart, or many other decisions
    threads, find = [], engine.store.find
    monkeypatch.setattr(
        engine.store, "find", lambda *w: threads.append(threading.current_thread()) or find(*w)
    )

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


def test_reads_that_wait_share_a_change_of_threads_and_an_error_is_the_callers(pool, monkeypatch):
    submit, trips = pool._pool.submit, []

    def counted(*work):
        trips.append(work)
        return submit(*work)

    monkeypatch.setattr(pool._pool, "submit", counted)

    async def main():
        gone = asyncio.ensure_future(pool.read(abs, 1))
        reads = (pool.read(divmod, i, 7 * (i != 50)) for i in range(100))
        reading = asyncio.gather(*reads, return_exceptions=True)
        await asyncio.sleep(0.0)
        gone.cancel()
        return await reading

    results = asyncio.run(main())
    assert isinstance(results.pop(50), ZeroDivisionError)
    assert results == [divmod(i, 7) for i in range(100) if i != 50]
    assert len(trips) == 1
    pool.close()
    with pytest.raises(NotReady):
        asyncio.run(pool.read(abs, 1))


def test_each_event_loop_has_its_own_reads(pool):
    def run(_):
        async def main():
            return [await pool.read(abs, -i) for i in range(50)]

        return asyncio.run(main())

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(run, range(4))) == [list(range(50))] * 4


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
