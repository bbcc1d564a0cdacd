"""Starting and stopping: alive while it replays, and what is in flight is answered."""

import signal
import socket
import threading

import httpx
import msgspec
import pytest
from process import Server, once
from serving import (
    ADMIN,
    MODEL,
    asked,
    bearer,
    crash,
    execute,
    free_port,
    fresh,
    play,
    served,
    service,
    told,
    until,
    until_ready,
)

from longrank.service.app import build
from longrank.service.engine import apply, catalog
from longrank.service.engine.apply import replay
from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.errors import Stopped, StoreDamaged, StoreFailed
from longrank.service.store.sqlite import SqliteStore

ROUND = msgspec.to_builtins(asked())
DECISIONS = "/v1/models/m/decisions"


def test_it_is_alive_and_not_ready_while_it_replays(engine, path, clock, monkeypatch):
    engine.decide("m", asked("x"))
    engine.close()
    gate = threading.Event()

    def slowly(store, row, **more):
        assert gate.wait(120)
        return replay(store, row, **more)

    monkeypatch.setattr(catalog, "replay", slowly)
    app = build(Engine(SqliteStore(path), clock=clock), admin=ADMIN)
    with (
        served(app) as url,
        httpx.Client(base_url=url, headers=bearer(ADMIN), timeout=120.0) as client,
    ):
        try:
            assert client.get("/healthz").status_code == 200
            for target in ("/readyz", "/v1/models", "/v1/models/m/decisions/x"):
                waiting = client.get(target)
                assert (waiting.status_code, waiting.headers["retry-after"]) == (503, "1")
                assert "being replayed" in waiting.json()["detail"]
            assert "longrank_ready 0.0" in client.get("/metrics").text
        finally:
            gate.set()
        until_ready(client)
        assert client.get("/v1/models/m/decisions/x").status_code == 200


def test_a_start_that_fails_is_told_and_it_is_never_ready(engine, path, clock):
    engine.decide("m", asked("x"))
    execute(engine.store, "UPDATE log SET at = 1.0")
    engine.close()
    failures = []
    app = build(Engine(SqliteStore(path), clock=clock), admin=ADMIN, failed=failures.append)
    with served(app) as url, httpx.Client(base_url=url, timeout=120.0) as client:
        until(lambda: failures)
        answer = client.get("/readyz")
    assert isinstance(failures[0], StoreDamaged)
    assert (answer.status_code, "could not start" in answer.json()["detail"]) == (503, True)


def test_what_is_in_flight_when_it_is_told_to_stop_is_answered_first_and_then_saved(tmp_path):
    path = tmp_path / "d.db"
    server = Server(str(path), free_port(), "--log-level", "warning")
    body = msgspec.json.encode({**ROUND, "id": "y"})
    head = (
        f"POST {DECISIONS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    try:
        server.start().ready()
        once(server.port, "PUT", "/v1/models/m", MODEL)
        once(server.port, "POST", DECISIONS, {**ROUND, "id": "x"})
        once(server.port, "PUT", f"{DECISIONS}/x/outcome", {"tried": 1, "succeeded": True})
        _, before = once(server.port, "GET", "/v1/models/m")
        with socket.create_connection(("127.0.0.1", server.port), timeout=120) as wire:
            wire.sendall(head.encode() + body[:20])
            until(lambda: b"in_flight 2.0" in once(server.port, "GET", "/metrics")[1])
            server.process.send_signal(signal.SIGTERM)
            until(lambda: not listens(server.port))
            wire.sendall(body[20:])
            assert wire.makefile("rb").readline().split()[1] == b"201"
        assert server.process.wait(120) in (0, -signal.SIGTERM)
    finally:
        server.kill()
    with Engine(SqliteStore(path)) as engine:
        assert engine.read("m", "y").status == "pending"
        assert engine.model("m").state_hash() == before["state_hash"]
        assert engine.model("m").saved == 1  # from a snapshot


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=120).close()
    except ConnectionRefusedError:
        return False
    return True


def test_a_last_snapshot_that_fails_keeps_nothing_open(path, clock, caplog, monkeypatch):
    def full(*_):
        raise StoreFailed("the disk is full")

    with service(path, clock=clock, models=("m",)) as client:
        client.post("/v1/models/m/decisions", json={**ROUND, "id": "x"})
        client.engine.settle("m", "x", told())
        monkeypatch.setattr(client.engine.store, "save_snapshot", full)
    assert "stopped without a last snapshot: the disk is full" in caplog.text
    with Engine(SqliteStore(path), clock=clock) as again:
        assert again.model("m").version == 1


OUTCOMES = 30


@pytest.fixture
def log(engine, path):
    """The path of a store whose log has to be replayed from the beginning."""
    play(engine, count=OUTCOMES)
    crash(engine)
    return path


@pytest.fixture
def slow(monkeypatch):
    """Set once a replay has learned ten outcomes; it goes on when ``go_on`` is set."""
    learn, half, go_on, count = Model.settle, threading.Event(), threading.Event(), []

    def slowly(self, *args):
        count.append(1)
        learn(self, *args)
        if len(count) == 10:
            half.set()
            go_on.wait(120)

    monkeypatch.setattr(Model, "settle", slowly)
    half.go_on, half.count = go_on, count
    return half


def test_a_service_that_is_stopped_while_it_replays_stops_and_goes_on_from_there(log, slow, clock):
    engine, failures = Engine(SqliteStore(log), clock=clock), []
    with served(build(engine, admin=ADMIN, failed=failures.append)):
        assert slow.wait(120)
        stopping = threading.Thread(
            target=lambda: until(engine.stopping.is_set) or slow.go_on.set()
        )
        stopping.start()
    stopping.join()
    assert len(slow.count) == 10  # and not all of them
    assert failures == []
    with Engine(SqliteStore(log), clock=clock) as again:
        assert len(slow.count) == OUTCOMES  # none of them twice
        assert again.model("m").snapshot() == fresh(again).snapshot()


def test_a_replay_that_is_killed_again_and_again_comes_to_an_end(log, clock, monkeypatch):
    monkeypatch.setattr(apply, "SAVING", 0.0)
    learn = Model.settle
    left = [0]

    def killed(self, *args):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        learn(self, *args)

    monkeypatch.setattr(Model, "settle", killed)
    starts = 0
    while True:
        starts += 1
        left[0] = 10
        engine = Engine(SqliteStore(log), clock=clock)
        try:
            engine.start()
        except KeyboardInterrupt:
            engine.close()
            assert starts < 10
            continue
        break
    assert (engine.model("m").stats.outcomes, starts) == (OUTCOMES, 3)
    engine.close()


def test_reading_the_whole_store_stops_as_well(log):
    store = SqliteStore(log)
    try:
        with pytest.raises(Stopped):
            store.verify(lambda: True)
    finally:
        store.close()
