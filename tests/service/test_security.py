"""Who is refused, and with which code; what gets into no log line."""

from __future__ import annotations

import socket

import httpx
import msgspec
import pytest
from serving import ADMIN, DIM, asked, bearer, served, service, until_ready

from longrank.service.app import build
from longrank.service.engine.engine import Engine
from longrank.service.store.sqlite import SqliteStore

ROUND = msgspec.to_builtins(asked())
MODEL = "/v1/models/m"
DECISIONS = MODEL + "/decisions"
CALLS = [
    *(("GET", path) for path in ("/v1/models", MODEL, DECISIONS, f"{DECISIONS}/x")),
    *(("GET", path) for path in (f"{MODEL}/export", f"{MODEL}/keys")),
    *(("PUT", path) for path in (MODEL, f"{DECISIONS}/x/outcome")),
    *(("POST", path) for path in (DECISIONS, f"{MODEL}/outcomes", f"{MODEL}/keys")),
    *(("DELETE", path) for path in (MODEL, DECISIONS, f"{MODEL}/keys/x")),
]
ADMINS = {call for call in CALLS if call[1] == "/v1/models" or "keys" in call[1]}
ADMINS |= {("PUT", MODEL), ("DELETE", MODEL), ("DELETE", DECISIONS)}


@pytest.fixture(scope="module")
def http(module_http):
    """One service for all: these tests are refused, and change nothing."""
    return module_http


@pytest.fixture(scope="module")
def keys(http):
    """The keys of three models."""
    return {
        name: http.put(f"/v1/models/{name}", json={"policy": "ind", "dim": DIM}).json()["key"]
        for name in ("m", "other", "third")
    }


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    "wrong", ["", "Bearer", "Bearer wrong", f"Basic {ADMIN}", ADMIN, "Bearer é"]
)
def test_without_a_good_key_nothing_opens(http, wrong):
    for call in CALLS:
        answer = http.request(*call, headers={"Authorization": wrong.encode()})
        assert answer.status_code == 401, call
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_models_key_opens_its_own_and_not_the_administrators_calls(http, keys):
    for call in CALLS:
        assert http.request(*call, headers=bearer(keys["other"])).status_code == 403, call
        refused = http.request(*call, headers=bearer(keys["m"])).status_code == 403
        assert refused == (call in ADMINS), call
    nowhere = http.get("/v1/models/nobody", headers=bearer(keys["m"]))
    assert nowhere.status_code == 403  # it does not tell which other models there are


def test_the_key_of_a_deleted_model_opens_nothing_not_even_a_new_one(http, keys):
    http.delete("/v1/models/third")
    http.put("/v1/models/third", json={"policy": "ind", "dim": DIM})
    assert http.get("/v1/models/third", headers=bearer(keys["third"])).status_code == 401


TRICKS = [
    "/v1/models/..%2Fm",
    "/v1/models/../models/m",
    "/v1/models/m%0A",
    "/v1/models/%C3%A9",
    "/v1/models/m/decisions/..%2f..%2fx",
    "/v1/models/m/decisions/%3Cscript%3E",
    "/v1/models/m/decisions/" + "x" * 129,
    "/v1/models/" + "m" * 65,
    "/static/..%2f..%2fengine.py",
    "/static/../page.py",
    "//v1/models/m",
]


@pytest.mark.usefixtures("keys")
def test_path_tricks_and_odd_ids_are_refused(http):
    for target in TRICKS:
        answer = _raw(http, f"GET {target} HTTP/1.1\r\nAuthorization: Bearer {ADMIN}")
        assert answer in (404, 422), target


def _raw(http, head: str, body: bytes = b"") -> int:
    """The status of a request that is sent as it stands, without a client's corrections."""
    url = http.base_url
    with socket.create_connection((url.host, url.port), timeout=120) as wire:
        wire.sendall(f"{head}\r\nHost: x\r\nConnection: close\r\n\r\n".encode() + body)
        return int(wire.makefile("rb").readline().split()[1])


MALFORMED = [
    (b"", 400),
    (b"{", 400),
    (b"null", 422),
    (b"\xff\xfe", 400),
    (b'{"ids": ["a"], "features": [[NaN]]}', 400),
    (b'{"ids": ["a"], "features": [[Infinity, 0, 0]]}', 400),
    (b'{"ids": ["a"], "features": [[1e999, 0, 0]]}', 422),
    (b'{"ids": ["a"], "features": [["1", 0, 0]]}', 422),
    (b'{"ids": ["a"], "features": {"data": "!!"}}', 422),
    (b'{"ids": ["a"], "features": {"data": "AAAAAAAA+H8AAAAAAAD4fwAAAAAAAPh/"}}', 422),
    (b'{"ids": ["a"], "features": [[0, 0, 0]], "budget": -1}', 422),
    (b'{"ids": ["a"], "features": [[0, 0, 0]], "budget": 1e30}', 422),
    (b'{"ids": ["a"], "features": [[0, 0, 0]], "nobody": 1}', 422),
    (b'{"ids": [""], "features": [[0, 0, 0]]}', 422),
    (b'{"id": "../x", "ids": ["a"], "features": [[0, 0, 0]]}', 422),
    (b'{"features": ' + b"[" * 50_000, 422),
    (b'{"nobody": ' + b"[" * 50_000, 422),
    (b" " * 100_001, 413),
]


@pytest.mark.usefixtures("keys")
def test_malformed_bodies_are_refused_with_the_documented_code(http):
    def pieces():
        for _ in range(200):
            yield b" " * 1000

    kind = {"Content-Type": "application/json"}
    for body, code in (*MALFORMED, (pieces(), 413)):
        answer = http.post(DECISIONS, content=body, headers=kind)
        assert answer.status_code == code, body
        assert answer.headers["content-type"] == "application/problem+json"
    assert http.engine.latest("m").decisions == []
    deep = b'{"dim": 3, "policy": "ind", "settings": {"a": ' + b"[" * 40_000 + b"]" * 40_000 + b"}}"
    assert http.put("/v1/models/n", content=deep, headers=kind).status_code in (400, 422)


def test_an_administrators_key_is_made_once_and_replaced_by_the_environments(path, clock):
    shown: list[str] = []
    for admin, expected in ((None, 1), (None, 1), (ADMIN, 1)):
        engine = Engine(SqliteStore(path), clock=clock)
        app = build(engine, admin=admin, show_key=shown.append)
        with served(app) as url, httpx.Client(base_url=url) as client:
            until_ready(client)
            assert len(shown) == expected
            made = client.get("/v1/models", headers=bearer(shown[0])).status_code
            assert made == (401 if admin else 200)


def test_too_many_at_once_are_turned_away_but_health_is_told(path, clock):
    with service(path, clock=clock, auth=False, max_queued=0) as client:
        shed = client.get("/v1/models")
        assert (shed.status_code, shed.headers["retry-after"]) == (503, "1")
        assert "longrank_shed_total 1.0" in client.get("/metrics").text
