"""Who is refused, and with which code; what gets into no log line."""

from __future__ import annotations

import socket

import httpx
import msgspec
import pytest
from serving import ADMIN, DIM, asked, served, service, until_ready

from longrank.service.app import build
from longrank.service.engine.engine import Engine
from longrank.service.store.sqlite import SqliteStore

ROUND = msgspec.to_builtins(asked())
DECISIONS = "/v1/models/m/decisions"
CALLS = [
    ("GET", "/v1/models"),
    ("PUT", "/v1/models/m"),
    ("GET", "/v1/models/m"),
    ("DELETE", "/v1/models/m"),
    ("POST", "/v1/models/m/decisions"),
    ("GET", "/v1/models/m/decisions"),
    ("DELETE", "/v1/models/m/decisions"),
    ("GET", "/v1/models/m/decisions/x"),
    ("PUT", "/v1/models/m/decisions/x/outcome"),
    ("POST", "/v1/models/m/outcomes"),
    ("GET", "/v1/models/m/export"),
    ("POST", "/v1/models/m/keys"),
    ("GET", "/v1/models/m/keys"),
    ("DELETE", "/v1/models/m/keys/x"),
]
ADMINS = {call for call in CALLS if call[1] == "/v1/models" or "keys" in call[1]}
ADMINS |= {("PUT", "/v1/models/m"), ("DELETE", "/v1/models/m"), ("DELETE", DECISIONS)}


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    """One service for all: these tests are refused, and change nothing."""
    path = tmp_path_factory.mktemp("security") / "decisions.db"
    with service(path, max_bytes=100_000) as client:
        yield client


@pytest.fixture(scope="module", autouse=True)
def keys(http):
    """The keys of three models."""
    return {
        name: http.put(f"/v1/models/{name}", json={"policy": "ind", "dim": DIM}).json()["key"]
        for name in ("m", "other", "third")
    }


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize(
    "wrong", ["", "Bearer", "Bearer wrong", f"Basic {ADMIN}", ADMIN, "Bearer é"]
)
def test_without_a_good_key_nothing_opens(http, wrong):
    for call in CALLS:
        answer = http.request(*call, headers={"Authorization": wrong.encode()})
        assert answer.status_code == 401, call
        assert answer.headers["www-authenticate"] == "Bearer"


def test_another_models_key_opens_nothing(http, keys):
    for call in CALLS:
        assert http.request(*call, headers=bearer(keys["other"])).status_code == 403, call


def test_a_models_key_opens_its_own_and_not_the_administrators_calls(http, keys):
    for call in CALLS:
        refused = http.request(*call, headers=bearer(keys["m"])).status_code == 403
        assert refused == (call in ADMINS), call


def test_a_key_does_not_tell_which_other_models_there_are(http, keys):
    there = http.get("/v1/models/other", headers=bearer(keys["m"]))
    nowhere = http.get("/v1/models/nobody", headers=bearer(keys["m"]))
    assert there.status_code == nowhere.status_code == 403


def test_the_key_of_a_deleted_model_opens_nothing_not_even_a_new_one(http, keys):
    http.delete("/v1/models/third")
    http.put("/v1/models/third", json={"policy": "ind", "dim": DIM})
    assert http.get("/v1/models/third", headers=bearer(keys["third"])).status_code == 401


TRICKS = [
    "/v1/models/..%2Fm",
    "/v1/models/%2e%2e/m",
    "/v1/models/../models/m",
    "/v1/models/m%00",
    "/v1/models/m%0A",
    "/v1/models/%C3%A9",
    "/v1/models/m/decisions/..%2f..%2fx",
    "/v1/models/m/decisions/a%20b",
    "/v1/models/m/decisions/%3Cscript%3E",
    "/v1/models/m/decisions/" + "x" * 129,
    "/v1/models/" + "m" * 65,
    "/static/..%2f..%2fengine.py",
    "/static/../page.py",
    "//v1/models/m",
    "/v1//models/m",
]


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
    (b"[]", 422),
    (b'"x"', 422),
    (b"\xff\xfe", 400),
    (b'{"ids": [NaN]}', 400),
    (b'{"ids": ["a"], "features": [[NaN]]}', 400),
    (b'{"ids": ["a"], "features": [[Infinity, 0, 0]]}', 400),
    (b'{"ids": ["a"], "features": [[1e999, 0, 0]]}', 422),
    (b'{"ids": ["a"], "features": [["1", 0, 0]]}', 422),
    (b'{"ids": ["a"], "features": [[null, 0, 0]]}', 422),
    (b'{"ids": ["a"], "features": {"data": "!!"}}', 422),
    (b'{"ids": ["a"], "features": {"data": "AAAAAAAA+H8AAAAAAAD4fwAAAAAAAPh/"}}', 422),
    (b'{"ids": ["a"], "features": [[0, 0, 0]], "budget": -1}', 422),
    (b'{"ids": ["a"], "features": [[0, 0, 0]], "budget": 1e30}', 422),
    (b'{"ids": ["a"], "features": [[0, 0, 0]], "ttl": 0}', 422),
    (b'{"ids": ["a"], "features": [[0, 0, 0]], "nobody": 1}', 422),
    (b'{"ids": [""], "features": [[0, 0, 0]]}', 422),
    (b'{"id": "../x", "ids": ["a"], "features": [[0, 0, 0]]}', 422),
    (b'{"id": "x\\n", "ids": ["a"], "features": [[0, 0, 0]]}', 422),
    (b"[" * 50_000, 422),
    (b'{"features": ' + b"[" * 50_000, 422),
    (b'{"nobody": ' + b"[" * 50_000, 422),
    (b" " * 100_001, 413),
]


def test_malformed_bodies_are_refused_with_the_documented_code(http):
    for body, code in MALFORMED:
        answer = http.post(DECISIONS, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == code, body[:80]
        assert answer.headers["content-type"] == "application/problem+json"
    assert http.engine.latest("m").decisions == []


def test_deep_settings_are_refused(http):
    body = b'{"dim": 3, "policy": "ind", "settings": {"a": ' + b"[" * 40_000
    body += b"]" * 40_000 + b"}}"
    answer = http.put("/v1/models/n", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)


def test_a_body_in_pieces_is_cut_off_at_the_limit(http):
    def pieces():
        for _ in range(200):
            yield b" " * 1000

    kind = {"Content-Type": "application/json"}
    assert http.post(DECISIONS, content=pieces(), headers=kind).status_code == 413


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
    with service(path, clock=clock, max_queued=0) as client:
        shed = client.get("/v1/models")
        assert (shed.status_code, shed.headers["retry-after"]) == (503, "1")
        assert "longrank_shed_total 1.0" in client.get("/metrics").text
