"""Size: many models, large states, long logs and large exports cost what they must, no more."""

from __future__ import annotations

import io
import threading

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from serving import DIM, asked, make, told, until

from longrank.service import export, messages
from longrank.service.engine.engine import Engine
from longrank.service.store import sql, store
from longrank.service.store.postgres import PostgresSession, PostgresStore


@pytest.fixture
def engines(database, clock):
    both = [Engine(PostgresStore(database), clock=clock).start() for _ in range(2)]
    yield both
    for engine in both:
        engine.close()


def round_(engines):
    for engine in engines:
        engine.renew()
        engine.follow()


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
            round_(engines)
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
        return int(first.store.writer.call(lambda session: session.execute(current))[0][0])

    before = written()
    for i in range(outcomes):
        row = np.full((1, dim), 1.0 / dim).tolist()
        decision = messages.DecisionRequest(id=f"d{i}", ids=["a"], features=row)
        first.decide("large", decision)
        first.settle("large", f"d{i}", told())
        round_(engines)
    until(lambda: [engine.model("large").version for engine in engines] == [outcomes, outcomes])
    assert written() - before < outcomes * state / 4


def test_decisions_are_dropped_a_part_at_a_time_and_writes_go_on_between(
    engine, clock, monkeypatch
):
    monkeypatch.setattr(store, "BATCH", 10)
    drop, sizes = sql.drop, []

    def recorded(session, model, ids, upto):
        sizes.append(len(ids))
        if len(sizes) == 1:  # somebody else writes meanwhile
            threading.Thread(target=engine.decide, args=("m", asked("between"))).start()
        return drop(session, model, ids, upto)

    monkeypatch.setattr(sql, "drop", recorded)
    for i in range(35):
        engine.decide("m", asked(f"d{i}", ttl=10.0))
    clock.now += 1000.0
    assert engine.drop("m", 500.0) == 35
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
    settings = {"policy": "ind", "dim": DIM, "max_budget": 5, "store_candidates": True}
    http.put("/v1/models/m", json=settings)
    for i in range(40):
        http.post("/v1/models/m/decisions", json=msgspec.to_builtins(asked(f"d{i}")))
    oldest, limits = http.engine.store.oldest, []

    def recorded(model, after, limit):
        limits.append(limit)
        return oldest(model, after, limit)

    monkeypatch.setattr(http.engine.store, "oldest", recorded)
    monkeypatch.setattr(export, "BYTES", 4000)  # about five decisions
    answer = http.get("/v1/models/m/export")
    assert answer.status_code == 200
    rows = pq.read_table(io.BytesIO(answer.content)).to_pylist()
    assert [row["id"] for row in rows] == [f"d{i}" for i in range(40)]
    assert limits[0] == export.FIRST
    assert 1 <= max(limits[1:]) < 10
