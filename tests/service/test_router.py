"""Which endpoint a request means, and one write per answer."""

from __future__ import annotations

import asyncio
import socket

import pytest
from serving import served

from longrank.service.http.application import endpoints, find
from longrank.service.http.connections import GatheringTransport
from longrank.service.http.problems import Refused

TABLE = endpoints()


def test_a_path_and_a_method_name_one_endpoint_and_its_values():
    endpoint, values = find(TABLE, "PUT", "/v1/models/m/decisions/x:1/outcome")
    assert endpoint.route.name == "settle"
    assert endpoint.handler.__name__ == "settle"
    assert values == {"name": "m", "id": "x:1"}
    assert find(TABLE, "HEAD", "/healthz")[0].route.name == "health"


def test_any_other_request_is_refused():
    for method, path, status in (
        ("GET", "/v1/models/m/", 404),
        ("GET", "/openapi_json", 404),
        ("GET", "/healthz\n", 404),
        ("GET", "/v1/models/m\n", 404),
        ("PATCH", "/v1/models/m", 405),
        ("HEAD", "/v1/models/m/outcomes", 405),
    ):
        with pytest.raises(Refused) as caught:
            find(TABLE, method, path)
        assert caught.value.status == status, path


class Transport:
    """Remembers what it was told."""

    def __init__(self):
        self.told = []
        self.closing = False

    def write(self, data):
        self.told.append(data)

    def close(self):
        self.told.append("closed")
        self.closing = True

    def is_closing(self):
        return self.closing


def gathered(work):
    """What a transport is told when this is done with one that gathers, in a turn of a loop."""

    async def turn():
        transport = Transport()
        work(GatheringTransport(transport, asyncio.get_running_loop()))
        before = list(transport.told)
        await asyncio.sleep(0)
        return before, transport.told

    return asyncio.run(turn())


def test_what_is_written_in_a_turn_goes_out_as_one_at_its_end():
    def work(transport):
        transport.write(b"head, ")
        transport.write(b"body")

    assert gathered(work) == ([], [b"head, body"])


def test_what_is_whole_goes_out_at_once_and_only_once():
    def work(transport):
        transport.write(b"head, ")
        transport.write(b"body")
        transport.flush()
        transport.write(b"more")

    assert gathered(work) == ([b"head, body"], [b"head, body", b"more"])


def test_closing_writes_first_and_nothing_is_written_after():
    def work(transport):
        transport.write(b"last")
        transport.close()
        transport.write(b"too late")
        assert transport.is_closing()

    assert gathered(work)[1] == [b"last", "closed"]


async def app(scope, receive, send):  # noqa: ARG001
    if scope["type"] != "http":
        return
    if scope["path"] == "/slow":
        await asyncio.sleep(0.01)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
    await send({"type": "http.response.body", "body": b"first ", "more_body": True})
    await send({"type": "http.response.body", "body": b"second"})


@pytest.mark.parametrize("asked", ["/", "/slow"])
def test_one_read_gets_a_whole_answer_and_the_connection_lives_on(asked):
    with served(app) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=120) as client:
            for _ in range(3):
                client.sendall(f"GET {asked} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                answer = client.recv(10_000)
                assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
                assert answer.endswith(b"6\r\nfirst \r\n6\r\nsecond\r\n0\r\n\r\n")
