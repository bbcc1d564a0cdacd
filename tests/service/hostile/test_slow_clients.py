"""Clients that send slowly, endlessly or nothing: they are cut off, and others are served."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import ExitStack, suppress

import httpx
import pytest
from serving import ADMIN, service, until

from longrank.service import server
from longrank.service.engine.keys import digest
from longrank.service.http.access import KeyLookup
from longrank.service.http.body import BodyReader
from longrank.service.http.connections import Connections, GuardedProtocol
from longrank.service.http.problems import Refused
from longrank.service.http.service import Load
from longrank.service.http.workers import Turn, Workers

KEY = {"Authorization": f"Bearer {ADMIN}"}
HEAD = f"Host: 127.0.0.1\r\nAuthorization: Bearer {ADMIN}\r\nContent-Type: application/json\r\n"
PUT = f"PUT /v1/models/m HTTP/1.1\r\n{HEAD}".encode()


@pytest.fixture
def later(monkeypatch):
    """Lets the server look after its connections now, and again when every limit has passed."""
    made = []

    class Noted(Connections):
        def __init__(self, limits):
            super().__init__(limits)
            made.append(self)

    def check(count):
        """Wait for so many connections, that of ``client`` included."""
        (connections,) = made
        until(lambda: len(connections.open) == count)
        loop, done = next(iter(connections.open)).loop, threading.Event()

        def twice():
            for seconds in (0.0, 1e6):
                connections.check(loop.time() + seconds)
            done.set()

        loop.call_soon_threadsafe(twice)
        assert done.wait(120)

    monkeypatch.setattr(server, "Connections", Noted)
    check.made = made
    return check


def connect(client):
    return socket.create_connection(("127.0.0.1", client.base_url.port), timeout=120)


def answer(wire):
    """The status of the answer, and whether the connection was closed after it."""
    data = b""
    try:
        while piece := wire.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return int(data.split()[1]) if data else None


def send(wire, data):
    """Send as much as the other side takes."""
    with suppress(OSError):
        wire.sendall(data)


def test_a_head_without_end_is_cut_off(path):
    with service(path, models=("m",)) as client, connect(client) as wire:
        send(wire, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ")
        for _ in range(20):
            send(wire, b"x" * 10_000)
        assert answer(wire) in (431, None)  # None: what was sent after it reset the connection
        assert client.get("/healthz").status_code == 200


def test_a_long_head_in_one_piece_is_refused(path):
    with service(path, models=("m",), max_header_bytes=2000) as client:
        with connect(client) as wire:
            send(wire, b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * 2000 + b"\r\n\r\n")
            assert answer(wire) == 431
        with connect(client) as wire:  # a long body does not count
            body = b'{"policy": "ind", "dim": 3, "max_budget": 5}' + b" " * 3000
            send(wire, PUT + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            assert answer(wire) == 200


def test_a_head_that_never_ends_is_given_up(path, later):
    with service(path, models=("m",)) as client, ExitStack() as stack:
        sent = (b"", b"GET / HTTP", b"\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n")
        wires = [stack.enter_context(connect(client)) for _ in sent]
        for wire, head in zip(wires, sent, strict=True):
            wire.sendall(head)
        later(1 + len(sent))
        assert [answer(wire) for wire in wires] == [408] * len(sent)


def test_a_body_that_never_ends_is_given_up_and_is_no_error_of_the_service(path, later):
    with service(path, models=("m",)) as client, connect(client) as wire:
        wire.sendall(PUT + b"Content-Length: 100\r\n\r\n{")
        until(lambda: "longrank_in_flight 2.0" in client.get("/metrics").text)
        later(2)
        assert answer(wire) == 408
        counted = 'longrank_requests_total{call="createModel",status="499"} 1.0'
        until(lambda: counted in client.get("/metrics").text)


def test_an_upload_that_is_aborted_is_no_error_of_the_service(path, caplog):
    with service(path, models=("m",)) as client:
        with connect(client) as wire:
            wire.sendall(PUT + b"Content-Length: 100\r\n\r\n{")
            until(lambda: "longrank_in_flight 2.0" in client.get("/metrics").text)
        counted = 'longrank_requests_total{call="createModel",status="499"} 1.0'
        until(lambda: counted in client.get("/metrics").text)
    assert "Exception in ASGI application" not in caplog.text


def test_a_body_that_nobody_waits_for_is_not_received_forever(path, later):
    head = PUT.replace(ADMIN.encode(), b"nobody")
    with service(path, models=("m",)) as client, connect(client) as wire:
        wire.sendall(head + b"Content-Length: 1000000\r\n\r\n{")
        assert wire.recv(65536).split()[1] == b"401"
        later(2)
        assert answer(wire) is None


def test_unfinished_bodies_keep_nobody_out(path):
    with service(path, models=("m",), max_queued=2) as client, ExitStack() as stack:
        for _ in range(5):
            wire = stack.enter_context(connect(client))
            wire.sendall(PUT + b"Content-Length: 100\r\n\r\n{")
        until(lambda: "longrank_in_flight 6.0" in client.get("/metrics").text)
        assert client.get("/v1/models").status_code == 200


def test_idle_connections_give_way_to_new_ones(path, monkeypatch):
    at_once = property(lambda _: 0.0, lambda *_: None)  # as the event loop's clock may tell
    monkeypatch.setattr(GuardedProtocol, "since", at_once, raising=False)
    with service(path, models=("m",), max_connections=5) as client, ExitStack() as stack:
        client.close()
        idle = [stack.enter_context(connect(client)) for _ in range(20)]
        url = str(client.base_url)
        assert httpx.get(f"{url}/v1/models", headers=KEY, timeout=120.0).status_code == 200
        assert [answer(each) for each in idle[:16]] == [None] * 16  # the oldest


def test_where_all_connections_work_a_new_one_is_told_to_wait(path):
    with service(path, models=("m",), max_connections=2) as client, ExitStack() as stack:
        url = str(client.base_url)
        for _ in range(2):
            wire = stack.enter_context(connect(client))
            wire.sendall(PUT + b"Expect: 100-continue\r\nContent-Length: 100\r\n\r\n")
            assert wire.recv(100).startswith(b"HTTP/1.1 100")
        refused = httpx.get(f"{url}/healthz", timeout=120.0)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")


def test_a_key_has_its_share_of_the_connections(path):
    with service(path, models=("m",), max_connections_per_key=1) as client:
        assert client.get("/v1/models").status_code == 200
        key = client.post("/v1/models/m/keys").json()["key"]
        with httpx.Client(base_url=client.base_url, timeout=120.0) as other:
            refused = other.get("/v1/models", headers=KEY)
            assert (refused.status_code, refused.headers["connection"]) == (429, "close")
            mine = {"Authorization": f"Bearer {key}"}
            assert other.get("/v1/models/m", headers=mine).status_code == 200
        client.close()
        url = f"{client.base_url}/v1/models"
        until(lambda: httpx.get(url, headers=KEY, timeout=120.0).status_code == 200)


def test_an_answer_that_nobody_takes_is_given_up(path, later):
    requests = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 10_000
    with service(path, models=("m",)) as client, connect(client) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.setblocking(False)
        sent = 0

        def stuck():
            nonlocal sent
            with suppress(BlockingIOError):
                sent += wire.send(requests[sent : sent + 4096])
            return any(each.flow.write_paused for each in later.made[0].open)

        until(stuck)
        later(2)
        assert len(later.made[0].open) == 1


def test_bodies_that_are_received_have_a_limit_together():
    reader = BodyReader(100, 150, Workers(1, 1))
    body, headers = b'"' + b"x" * 88 + b'"', {b"content-type": b"application/json"}

    async def read(*gates):
        """Read a body whose end waits for gates."""
        parts = [(body, bool(gates)), *((b"", False) for _ in gates)]

        async def receive():
            if len(parts) == len(gates):
                await gates[0].wait()
            part, more = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": more}

        return await reader.read(str, headers, receive, Load(Turn(b"", "")))

    async def main():
        gate = asyncio.Event()
        first = asyncio.ensure_future(read(gate))
        await asyncio.sleep(0)
        with pytest.raises(Refused) as refused:
            await read(asyncio.Event())
        assert (refused.value.status, reader.receiving) == (503, 1)
        gate.set()
        assert await first == await read() == "x" * 88

    asyncio.run(asyncio.wait_for(main(), 120))


class FakeKeys:
    """Keys of which some are in the store only; it says which thread asked."""

    def __init__(self):
        self.stored, self.rows, self.threads = set(), set(), []

    def known(self, key):
        return 7 if key in self.rows else None

    def load(self):
        self.threads.append(threading.current_thread())
        self.rows = set(self.stored)


def test_an_unknown_key_costs_no_query_in_the_event_loop_and_is_unknown_for_a_moment():
    now, keys = [0.0], FakeKeys()
    lookup = KeyLookup(keys, False, lambda: now[0])

    async def main():
        first = await asyncio.gather(*(lookup.owner(b"k%d" % i) for i in range(100)))
        assert set(first) == {None}
        assert len(keys.threads) <= 2
        assert threading.main_thread() not in keys.threads
        now[0] += 0.5
        before = len(keys.threads)
        keys.stored.add(b"k1")
        assert await lookup.owner(b"k1") is None
        assert len(keys.threads) == before
        now[0] += 1.0
        assert await lookup.owner(b"k1") == 7
        assert await lookup.owner(b"k1") == 7
        assert len(keys.threads) == before + 1

    asyncio.run(main())
    assert len(digest("k1")) == 32


def test_where_no_other_process_writes_an_unknown_key_costs_nothing():
    keys = FakeKeys()
    assert asyncio.run(KeyLookup(keys, True).owner(b"k")) is None
    assert keys.threads == []


def test_only_the_latest_unknown_keys_are_remembered(monkeypatch):
    from longrank.service.http import access

    monkeypatch.setattr(access, "_MAX_UNKNOWN", 2)
    monkeypatch.setattr(access, "PAUSE", 0.0)
    found = KeyLookup(FakeKeys(), False, lambda: 0.0)

    async def main():
        for i in range(5):
            await found.owner(b"k%d" % i)

    asyncio.run(main())
    assert len(found._unknown) <= 2
