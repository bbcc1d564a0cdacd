"""Who is refused, and with which code: bad keys, bad bodies, and web pages of elsewhere."""

import socket
from contextlib import contextmanager

import httpx
import msgspec
import pytest
from prometheus_client import Histogram, generate_latest
from serving import ADMIN, DIM, MODEL, asked, bearer, served, service, until_ready

from longrank.service.app import build
from longrank.service.engine.engine import Engine
from longrank.service.http.application import count
from longrank.service.http.metrics import BUCKETS, OTHERS, Metrics
from longrank.service.server import _hosts
from longrank.service.store.sqlite import SqliteStore

ROUND = msgspec.to_builtins(asked())
BASE = "/v1/models/m"
DECISIONS = BASE + "/decisions"
CALLS = [
    *(("GET", path) for path in ("/v1/models", BASE, DECISIONS, f"{DECISIONS}/x")),
    *(("GET", path) for path in (f"{BASE}/export", f"{BASE}/keys")),
    *(("PUT", path) for path in (BASE, f"{DECISIONS}/x/outcome")),
    *(("POST", path) for path in (DECISIONS, f"{BASE}/outcomes", f"{BASE}/keys")),
    *(("DELETE", path) for path in (BASE, DECISIONS, f"{BASE}/keys/x")),
]
ADMINS = {call for call in CALLS if call[1] == "/v1/models" or "keys" in call[1]}
ADMINS |= {("PUT", BASE), ("DELETE", BASE), ("DELETE", DECISIONS)}


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
    (b"[" * 100_000, 400),
    (b'{"features": ' + b"[" * 50_000, 400),
    (b'{"nobody": ' + b"[" * 50_000, 400),
    (b'{"costs": [-1], "ids": [}', 400),  # breaks a rule as well
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
        with served(app) as url, httpx.Client(base_url=url, timeout=120.0) as client:
            until_ready(client)
            assert len(shown) == expected
            made = client.get("/v1/models", headers=bearer(shown[0])).status_code
            assert made == (401 if admin else 200)


def test_too_many_at_once_are_turned_away_but_health_is_told(path, clock):
    with service(path, clock=clock, auth=False, max_queued=0) as client:
        shed = client.get("/v1/models")
        assert (shed.status_code, shed.headers["retry-after"]) == (503, "1")
        assert "longrank_shed_total 1.0" in client.get("/metrics").text


KEY = bearer(ADMIN)


@contextmanager
def serving(path, **settings):
    """A client without a key."""
    with service(path, **settings) as client:
        client.headers.pop("Authorization", None)
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A client of a service that asks for no key, and has no models unless a test succeeds."""
    with serving(tmp_path_factory.mktemp("pages") / "decisions.db", auth=False) as client:
        yield client


def test_only_a_name_of_this_machine_reads_anything_but_health(client):
    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", ""):
        for target in ("/v1/models", "/metrics", "/", "/openapi.json", "/docs"):
            answer = client.get(target, headers={"Host": host})
            assert (answer.status_code, "Host" in answer.json()["detail"]) == (403, True), target
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:8000"):
        assert client.get("/v1/models", headers={"Host": host}).status_code == 200, host
    for target in ("/healthz", "/readyz"):
        assert client.get(target, headers={"Host": "evil.example"}).status_code == 200


def test_a_page_of_another_origin_or_site_does_nothing(client):
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://["):
        for method, target in (("PUT", BASE), ("POST", f"{BASE}/keys"), ("GET", "/")):
            body = MODEL if method == "PUT" else None
            answer = client.request(method, target, json=body, headers={"Origin": origin})
            assert (answer.status_code, "Origin" in answer.json()["detail"]) == (403, True)
    for site in ("cross-site", "same-site"):
        headers = {"Sec-Fetch-Site": site}
        assert client.put("/v1/models/m", json=MODEL, headers=headers).status_code == 403
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200  # a link
    for kind in (None, "", "text/plain", "application/xml", "application/x-www-form-urlencoded"):
        headers = {} if kind is None else {"Content-Type": kind}
        answer = client.put("/v1/models/m", content=b'{"dim": 3}', headers=headers)
        assert answer.status_code == 415, kind
    assert client.get("/v1/models").json() == {"models": []}


def test_our_own_page_and_programs_go_on(client):
    own = {"Origin": f"http://127.0.0.1:{client.base_url.port}", "Sec-Fetch-Site": "same-origin"}
    assert client.put("/v1/models/m", json=MODEL, headers=own).status_code == 201
    assert client.put("/v1/models/n", json=MODEL).status_code == 201


def test_with_a_key_the_origin_does_not_matter_but_metrics_need_a_good_host(path):
    with serving(path, hosts=["localhost", "127.0.0.1"]) as client:
        away = {"Host": "api.example", "Origin": "https://shop.example"}
        assert client.get("/v1/models", headers=away | KEY).status_code == 200
        assert client.get("/v1/models", headers=away).status_code == 401
        assert client.get("/metrics", headers={"Host": "evil.example"}).status_code == 403
        assert client.get("/metrics").status_code == 200


def test_on_loopback_the_names_of_loopback_are_allowed_and_elsewhere_those_that_are_given():
    assert set(_hosts("127.0.0.1", ["a"])) == {"localhost", "127.0.0.1", "::1", "a"}
    assert _hosts("0.0.0.0", []) is None
    assert set(_hosts("10.0.0.1", ["a"])) == {"localhost", "127.0.0.1", "::1", "10.0.0.1", "a"}


def test_answers_say_what_they_are_and_the_page_is_in_no_frame(client):
    for target, kind in (
        ("/", "text/html; charset=utf-8"),
        ("/static/console.css", "text/css; charset=utf-8"),
        ("/static/console.js", "text/javascript; charset=utf-8"),
        ("/openapi.json", "application/json"),
        ("/metrics", "text/plain; version=0.0.4; charset=utf-8"),
        ("/nowhere", "application/problem+json"),
    ):
        answer = client.get(target)
        assert answer.headers["content-type"] == kind
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        policy = answer.headers.get("content-security-policy", "")
        assert ("default-src 'self'" in policy) == (target not in ("/metrics", "/nowhere"))
    page = client.get("/").headers
    assert page["x-frame-options"] == "DENY"
    for part in ("frame-ancestors 'none'", "form-action 'none'"):
        assert part in page["content-security-policy"]


def test_metrics_are_behind_a_key_where_there_is_one(path):
    with serving(path, metrics_key="of-the-scraper") as client:
        made = client.put("/v1/models/m", json=MODEL, headers=KEY).json()["key"]
        for key, code in (("of-the-scraper", 200), (ADMIN, 200), (made, 401), ("x", 401)):
            assert client.get("/metrics", headers=bearer(key)).status_code == code
        assert client.get("/metrics").status_code == 401
        assert client.get("/v1/models", headers=bearer("of-the-scraper")).status_code == 401


def test_metrics_have_few_labels_however_many_models_there_are(path):
    with serving(path, max_metric_models=2) as client:
        for name in ("z", "y", "x", "w"):
            client.put(f"/v1/models/{name}", json=MODEL, headers=KEY)
            body = {"ids": ["a"], "features": [[0.1] * DIM]}
            client.post(f"/v1/models/{name}/decisions", json=body, headers=KEY)
        lines = client.get("/metrics").text.splitlines()
    counted = [line for line in lines if line.startswith("longrank_model_decisions_total")]
    assert counted == [
        'longrank_model_decisions_total{model="z"} 1.0',
        'longrank_model_decisions_total{model="y"} 1.0',
        f'longrank_model_decisions_total{{model="{OTHERS}"}} 2.0',
    ]
    assert "longrank_models 4.0" in lines


def test_requests_are_counted_as_prometheus_own_histogram_counts_them(engine):
    metrics = Metrics(engine, 1)
    theirs = Histogram("longrank_request_seconds", "", ["call"], buckets=BUCKETS, registry=None)
    for seconds in (0.001, 0.3, 9.0):  # on a bound, between two and above all
        count(metrics, "decide", 201, seconds)
        theirs.labels("decide").observe(seconds)

    def lines(registry):
        told = generate_latest(registry).decode().splitlines()
        return [line for line in told if line.startswith("longrank_request") and "_cr" not in line]

    total, *buckets = lines(metrics.registry)
    assert total == 'longrank_requests_total{call="decide",status="201"} 3.0'
    assert buckets == lines(theirs)
