"""A process that is stopped or cut off costs the others a few seconds, and does no harm later."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager

import msgspec
import psycopg
import pytest
from process import Server, once
from serving import MODEL, asked, free_port, told, until

from longrank.service.errors import StoreFailed
from longrank.service.store import sql
from longrank.service.store.postgres import PostgresStore

pytestmark = pytest.mark.postgres
PATIENCE = 60.0  # seconds, on a busy machine; benchmarks/service/hostile_cluster.py measures


@contextmanager
def stopped_within(store, *statements):
    """A session of a process that was stopped within a transaction."""
    session = store.connect(write=True)
    session.execute(sql.BEGIN)
    for statement in statements:
        session.execute(statement)
    yield session
    session.close()


def within(seconds, work):
    """The result of work in another thread; it fails if that takes too long."""
    results = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, f"it took more than {seconds} seconds"
    return results[0]


def test_a_process_stopped_within_a_transaction_holds_up_no_write(engines):
    first, second = engines
    with stopped_within(first.store, "UPDATE counter SET seq = seq + 1") as session:
        assert within(PATIENCE, lambda: second.decide("m", asked("x"))).id == "x"
        with pytest.raises(psycopg.Error):  # when it is woken
            session.execute("COMMIT")
    second.follow()
    assert second.model("m").stats.decisions == 1


def test_no_write_waits_forever_for_a_lock(engines, database):
    """The holder is no process of ours, so that nothing ends its session."""
    _, second = engines
    with psycopg.connect(database) as other:
        other.execute("UPDATE counter SET seq = seq")

        def refused():
            with pytest.raises(StoreFailed, match="timeout"):
                second.decide("m", asked("x"))
            return True

        assert within(PATIENCE, refused)
        assert "lock timeout" in second.trouble
        other.rollback()
    second.store.probe()
    second.renew()
    second.follow()
    assert second.trouble is None


@pytest.mark.usefixtures("engines")
def test_a_starting_process_takes_no_lock_that_writers_wait_for(database):
    with psycopg.connect(database) as other:
        other.execute("LOCK TABLE log IN ROW EXCLUSIVE MODE")
        within(PATIENCE, lambda: PostgresStore(database)).close()


def test_a_stopped_process_loses_its_lease_and_can_save_nothing_when_it_is_woken(engines):
    first, second = engines
    model = first.model("m")
    first.renew()
    first.decide("m", asked("x"))
    first.settle("m", "x", told())
    for engine in engines:
        engine.follow()

    def taken_over():
        second.renew()
        return second.leads(second.model("m"))

    until(taken_over, PATIENCE)
    assert not first.leads(model)
    with pytest.raises(psycopg.Error):  # as it believed a moment ago
        first.store._leases.write(lambda session: session.execute("SELECT 1"))
    assert first.model("m").snapshot() == second.model("m").snapshot()


def test_a_database_that_is_away_is_told_and_comes_back(engines, cluster, monkeypatch):
    first, _ = engines
    first.decide("m", asked("before"))
    first.renew()
    first.follow()
    assert first.trouble is None
    cluster.stop("immediate")
    try:
        for call in (first.renew, first.follow, lambda: first.read("m", "before")):
            with pytest.raises(StoreFailed):
                call()
        monkeypatch.setattr("longrank.service.engine.engine.MAX_WAIT", 0.0)
        assert "the database has not answered" in first.trouble
        for _ in range(2):
            with pytest.raises(StoreFailed):
                first.decide("m", asked("during"))
    finally:
        cluster.start()
    monkeypatch.undo()
    first.decide("m", asked("after"))
    assert first.read("m", "before").id == "before"

    def recovered():
        try:
            first.renew()
            first.follow()
        except StoreFailed:
            return False
        return first.trouble is None

    until(recovered)
    assert first.model("m").stats.decisions == 2


def test_a_real_process_that_is_stopped_costs_the_others_nothing_they_notice(database):
    servers = [Server(database, free_port(), "--log-level", "warning") for _ in range(2)]
    try:
        for server in servers:
            server.start()
        for server in servers:
            server.ready()
        first, second = (server.port for server in servers)
        assert once(first, "PUT", "/v1/models/m", MODEL)[0] == 201
        until(lambda: once(second, "GET", "/v1/models/m")[0] == 200)
        servers[0].process.send_signal(signal.SIGSTOP)
        decision = msgspec.to_builtins(asked("x"))
        assert once(second, "POST", "/v1/models/m/decisions", decision)[0] == 201
        outcome = {"tried": 1, "succeeded": True}
        assert once(second, "PUT", "/v1/models/m/decisions/x/outcome", outcome)[0] == 200
        until(lambda: once(second, "GET", "/v1/models/m")[1]["version"] == 1, PATIENCE)
        servers[0].process.send_signal(signal.SIGCONT)
        until(lambda: once(first, "GET", "/v1/models/m")[1].get("version") == 1)
        until(lambda: once(first, "GET", "/readyz")[0] == 200)
    finally:
        for server in servers:
            server.process.send_signal(signal.SIGCONT)
            server.kill()
