"""PostgreSQL: several processes on one log; one that stops costs the others little."""

import json
import signal
import threading
from contextlib import contextmanager

import msgspec
import psycopg
import pytest
from killing import Load, check, make_model
from process import Server, once
from serving import asked, execute, follow, free_port, make, play, told, until

from longrank.service.engine import catalog, follower
from longrank.service.engine.engine import Engine
from longrank.service.engine.keys import Keys, digest
from longrank.service.errors import StoreDamaged, StoreFailed, Unknown
from longrank.service.store import sql
from longrank.service.store.postgres import PostgresStore

pytestmark = pytest.mark.postgres


@pytest.fixture
def servers(database):
    """Two real servers on one database, with one model."""
    settings = ("--snapshot-every", "50", "--log-level", "warning")
    both = [Server(database, free_port(), *settings) for _ in range(2)]
    try:
        for server in both:
            server.start()
        for server in both:
            server.ready()
        make_model(both[0].port)
        yield both
    finally:
        for server in both:
            server.process.send_signal(signal.SIGCONT)
            server.kill()


def leads(engine):
    """Whether it leads, perhaps since the server has noticed that a connection is gone."""
    engine.renew()
    return engine.leads(engine.model("m"))


def test_each_process_applies_what_all_of_them_have_logged(engines):
    first, second = engines
    decision = second.decide("m", asked("x"))
    assert first.decide("m", asked("x")) == decision
    first.settle("m", "x", told())
    assert second.settle("m", "x", told()).repeated
    follow(engines)
    number = first.model("m").number
    assert [engine.store.lead(number) for engine in engines] == [True, False]
    assert first.model("m").version == second.model("m").version == 1
    assert first.model("m").snapshot() == second.model("m").snapshot()


def test_what_is_logged_just_as_a_slow_model_has_caught_up_is_applied(engines, monkeypatch):
    first, second = engines
    follow(engines)
    model, late, catch_up = second.model("m"), iter("y"), follower.catch_up

    def settle(name):
        first.decide("m", asked(name))
        first.settle("m", name, told())
        second.follow()

    def caught_up(*arguments):
        catch_up(*arguments)
        for name in late:
            settle(name)

    monkeypatch.setattr(follower, "catch_up", caught_up)
    second._applier._costs[model.number] = 60.0
    settle("x")
    until(lambda: not second.learning(model))
    assert model.version == 2


def test_when_a_process_is_gone_another_does_the_upkeep(engines, monkeypatch):
    monkeypatch.setattr(follower, "MAX_ENTRIES", 4)  # which are fewer than there will be
    first, second = engines
    follow(engines)
    for i in range(10):
        engines[i % 2].decide("m", asked(f"d{i}", seed=i))
        engines[i % 2].settle("m", f"d{i}", told(1, i % 3 == 0))
        if i == 4:
            follow(engines)
    first.ready = False
    first.store.close()  # without a word
    second.follow()
    assert second.model("m").version == 10
    until(lambda: leads(second))


def test_who_is_behind_when_another_drops_goes_on_from_a_snapshot(engines, database, clock):
    first, second = engines
    follow(engines)
    play(second, count=10, ttl=10.0)
    clock.now += 1000.0
    with Engine(PostgresStore(database), clock=clock) as third:  # it has replayed all of that
        assert third.drop("m", 500.0) == 10
        follow(engines)
        assert first.model("m").version == 10
        for engine in engines:
            assert engine.model("m").snapshot() == third.model("m").snapshot()


def test_what_the_database_quotes_of_a_row_is_told_to_nobody(engines, caplog):
    first, _ = engines
    execute(first.store, "ALTER TABLE log ADD CHECK (id <> 'x')")
    with pytest.raises(StoreFailed, match="check constraint") as caught:
        first.decide("m", asked("x"))
    assert "check constraint" in caplog.text
    for text in (str(caught.value), caplog.text):
        assert "Failing row" not in text


def test_models_and_keys_that_another_process_made_are_known(engines, clock):
    first, second = engines
    here, there = (Keys(engine.store, None, clock) for engine in engines)
    _, key = here.make(first.model("m").number)
    there.load()
    assert there.known(digest(key)) == first.model("m").number
    make(first, "m", mode="frozen")
    second.follow()
    assert second.model("m").spec.request.mode == "frozen"
    first.delete("m")
    second.follow()
    assert second.models() == []


NEWER = """INSERT INTO models(model, name, created, floor, spec)
SELECT max(model) + 1, 'bad', 0, 0, ? FROM models"""  # as another version does, without a snapshot


def test_a_model_that_cannot_be_loaded_stops_no_other(engines, database, caplog):
    first, second = engines
    execute(first.store, NEWER, json.dumps({"version": 7, "shape": "unheard of"}).encode())
    first.decide("m", asked("x"))
    first.settle("m", "x", told())
    for _ in range(3):
        follow(engines)
    assert first.model("m").version == second.model("m").version == 1
    said = [each.message for each in caplog.records if "'bad'" in each.message]
    assert len(said) == 2  # each process once
    assert "Upgrade longrank" in said[0]
    with pytest.raises(StoreDamaged, match=r"model 'bad' cannot be used.*version 7"):
        first.decide("bad", asked("y"))
    with Engine(PostgresStore(database)) as third:
        assert [model.name for model in third.models()] == ["m"]
    first.delete("bad")
    follow(engines)
    for engine in engines:
        with pytest.raises(Unknown):
            engine.model("bad")


def test_a_model_that_one_process_cannot_follow_is_left_to_another(engines, monkeypatch, caplog):
    first, second = engines
    make(first, "other")
    follow(engines)
    for name in ("m", "other"):
        first.decide(name, asked("x"))
        first.settle(name, "x", told())

    def fail(*_):
        raise StoreDamaged("log entry 1 is of version 7: upgrade longrank")

    monkeypatch.setattr(first.model("m"), "settle", fail)
    follow(engines)
    assert first.model("other").version == second.model("m").version == 1
    assert "model 'm' cannot be used by this process" in caplog.text
    with pytest.raises(StoreDamaged, match="model 'm' cannot be used"):
        first.model("m")
    monkeypatch.setattr(catalog.time, "monotonic", lambda: 1e12)
    assert first.model("m").version == 1


def test_a_model_that_cannot_be_read_now_is_not_suspended(engines, monkeypatch):
    first, second = engines
    follow(engines)
    first.decide("m", asked("x"))

    def away(*_):
        raise StoreFailed("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr(second.store, "between", away)
        with pytest.raises(StoreFailed):
            second.follow()
    second.follow()
    assert second.model("m").stats.decisions == 1


def test_two_servers_and_a_restarted_database_under_load_lose_nothing(cluster, database, servers):
    with Load([server.port for server in servers]) as load:
        for _ in range(2):
            load.more(60)
            cluster.stop("immediate")
            cluster.start()
        load.more(60)
        servers[0].kill()
        load.more(60)
        servers[0].start().ready()
        load.more(60)
    versions = {}

    def agree() -> bool:
        for server in servers:
            status, model = once(server.port, "GET", "/v1/models/m")
            assert status in (200, 503)
            versions[server.port] = model.get("state_hash")
        learned = model["stats"]["outcomes"] if status == 200 else -1
        return len(set(versions.values())) == 1 and learned >= len(load.outcomes)

    until(agree)
    for server in servers:
        server.kill()
    with Engine(PostgresStore(database)) as engine:
        engine.follow()
        check(engine, load)
        assert engine.model("m").state_hash() in versions.values()


@contextmanager
def stopped_within(store, *statements):
    """A session of a process that was stopped within a transaction."""
    session = store.connect(write=True)
    session.execute(sql.BEGIN)
    for statement in statements:
        session.execute(statement)
    yield session
    session.close()


def within(work, seconds=120.0):
    """The result of work in another thread; it fails if that takes too long, on a busy machine.

    How long it takes is measured by benchmarks/service/hostile_cluster.py.
    """
    results = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, f"it took more than {seconds} seconds"
    return results[0]


@pytest.mark.usefixtures("hurried")
def test_a_process_stopped_within_a_transaction_holds_up_no_write(engines):
    first, second = engines
    with stopped_within(first.store, "UPDATE counter SET seq = seq + 1") as session:
        assert within(lambda: second.decide("m", asked("x"))).id == "x"
        with pytest.raises(psycopg.Error):  # when it is woken
            session.execute("COMMIT")
    second.follow()
    assert second.model("m").stats.decisions == 1


@pytest.mark.usefixtures("hurried")
def test_no_write_waits_forever_for_a_lock(engines, database):
    """The holder is no process of ours, so that nothing ends its session."""
    _, second = engines
    with psycopg.connect(database) as other:
        other.execute("UPDATE counter SET seq = seq")

        def refused():
            with pytest.raises(StoreFailed, match="timeout"):
                second.decide("m", asked("x"))
            return True

        assert within(refused)
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
        within(lambda: PostgresStore(database)).close()


@pytest.mark.usefixtures("hurried")
def test_a_stopped_process_loses_its_lease_and_can_save_nothing_when_it_is_woken(engines):
    first, second = engines
    model = first.model("m")
    first.renew()
    first.decide("m", asked("x"))
    first.settle("m", "x", told())
    for engine in engines:
        engine.follow()
    until(lambda: leads(second))
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


def test_a_real_process_that_is_stopped_costs_the_others_nothing_they_notice(servers):
    stopped, (first, second) = servers[0].process, (server.port for server in servers)
    until(lambda: once(second, "GET", "/v1/models/m")[0] == 200)
    stopped.send_signal(signal.SIGSTOP)
    decision = msgspec.to_builtins(asked("x"))
    assert once(second, "POST", "/v1/models/m/decisions", decision)[0] == 201
    outcome = {"tried": 1, "succeeded": True}
    assert once(second, "PUT", "/v1/models/m/decisions/x/outcome", outcome)[0] == 200
    until(lambda: once(second, "GET", "/v1/models/m")[1]["version"] == 1)
    stopped.send_signal(signal.SIGCONT)
    until(lambda: once(first, "GET", "/v1/models/m")[1].get("version") == 1)
    until(lambda: once(first, "GET", "/readyz")[0] == 200)
