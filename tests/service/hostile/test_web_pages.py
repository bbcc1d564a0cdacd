"""Web pages of elsewhere: a service that asks for no key does nothing for them."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from serving import ADMIN, DIM, service

from longrank.service.http.metrics import OTHERS
from longrank.service.server import _hosts

MODEL = {"policy": "ind", "dim": DIM}
KEY = {"Authorization": f"Bearer {ADMIN}"}


@contextmanager
def serving(path, **settings):
    """A client without a key."""
    with service(path, **settings) as client:
        client.headers.pop("Authorization", None)
        yield client


@pytest.fixture(scope="module")
def unlocked(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "decisions.db"
    with serving(path, auth=False) as client:
        yield client


@pytest.fixture
def client(unlocked):
    """A client of a service that asks for no key."""
    yield unlocked
    for model in unlocked.engine.models():
        unlocked.engine.delete(model.name)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", ""]
)
def test_a_name_that_was_made_to_point_here_reads_nothing(client, host):
    for target in ("/v1/models", "/metrics", "/", "/openapi.json", "/docs"):
        answer = client.get(target, headers={"Host": host})
        assert answer.status_code == 403, target
        assert "Host" in answer.json()["detail"]


def test_loopback_has_several_names(client):
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:8000"):
        assert client.get("/v1/models", headers={"Host": host}).status_code == 200, host


def test_health_is_told_under_any_name(client):
    for target in ("/healthz", "/readyz"):
        assert client.get(target, headers={"Host": "evil.example"}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://["]
)
def test_a_page_of_another_origin_does_nothing(client, origin):
    for method, target in (("PUT", "/v1/models/m"), ("POST", "/v1/models/m/keys"), ("GET", "/")):
        body = MODEL if method == "PUT" else None
        answer = client.request(method, target, json=body, headers={"Origin": origin})
        assert (answer.status_code, "Origin" in answer.json()["detail"]) == (403, True)
    assert client.get("/v1/models").json() == {"models": []}


def test_a_page_of_another_site_does_nothing_without_an_origin_either(client):
    for site in ("cross-site", "same-site"):
        headers = {"Sec-Fetch-Site": site}
        assert client.put("/v1/models/m", json=MODEL, headers=headers).status_code == 403
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200  # a link


def test_our_own_page_and_programs_go_on(client):
    own = {"Origin": f"http://127.0.0.1:{client.base_url.port}", "Sec-Fetch-Site": "same-origin"}
    assert client.put("/v1/models/m", json=MODEL, headers=own).status_code == 201
    assert client.put("/v1/models/n", json=MODEL).status_code == 201


def test_a_body_must_say_what_it_is(client):
    for kind in (None, "", "text/plain", "application/x-www-form-urlencoded"):
        headers = {} if kind is None else {"Content-Type": kind}
        answer = client.put("/v1/models/m", content=b'{"dim": 3}', headers=headers)
        assert answer.status_code == 415, kind


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


def test_answers_say_what_they_are_and_pages_are_in_no_frame(client):
    for target, kind in (
        ("/", "text/html; charset=utf-8"),
        ("/static/console.css", "text/css; charset=utf-8"),
        ("/static/console.js", "text/javascript; charset=utf-8"),
        ("/openapi.json", "application/json"),
        ("/v1/models", "application/json"),
        ("/nowhere", "application/problem+json"),
    ):
        headers = client.get(target).headers
        assert headers["content-type"] == kind
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        if not target.startswith(("/v1", "/nowhere")):
            assert headers["x-frame-options"] == "DENY"
            for part in ("default-src 'self'", "frame-ancestors 'none'", "form-action 'none'"):
                assert part in headers["content-security-policy"]


def test_metrics_are_behind_a_key_where_there_is_one(path):
    with serving(path, metrics_key="of-the-scraper") as client:
        made = client.put("/v1/models/m", json=MODEL, headers=KEY).json()["key"]
        for key, code in (("of-the-scraper", 200), (ADMIN, 200), (made, 401), ("x", 401)):
            headers = {"Authorization": f"Bearer {key}"}
            assert client.get("/metrics", headers=headers).status_code == code
        assert client.get("/metrics").status_code == 401
        scraper = {"Authorization": "Bearer of-the-scraper"}
        assert client.get("/v1/models", headers=scraper).status_code == 401


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
