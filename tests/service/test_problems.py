"""What is refused over HTTP: how it is told, and which field is to blame."""

from __future__ import annotations

import asyncio
import re

import msgspec
import pytest
from serving import DIM, asked
from starlette.requests import ClientDisconnect

from longrank.service.app import build

ROUND = msgspec.to_builtins(asked())
BASE = "/v1/models/m"
DECISIONS = BASE + "/decisions"


def test_every_answer_has_a_request_id_and_a_good_one_is_kept(http):
    assert http.get("/healthz").headers["x-request-id"]
    mine = http.get("/healthz", headers={"X-Request-Id": "mine-1"})
    assert mine.headers["x-request-id"] == "mine-1"
    odd = http.get("/healthz", headers={"X-Request-Id": "odd id"})
    assert odd.headers["x-request-id"] != "odd id"


def test_problems_are_problem_details(http):
    answer = http.get("/v1/models/nobody")
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.json()) == {"type", "title", "status", "detail", "request_id"}
    wrong = http.put(BASE, json={"policy": "ind", "dim": 3, "settings": {"exploration": -1}})
    assert (wrong.status_code, wrong.json()["parameter"]) == (422, "exploration")


@pytest.mark.parametrize(
    ("change", "parameter", "sentence"),
    [
        ({"policy": "nobody"}, "policy", "be one of recommended, .*, got 'nobody'"),
        ({"settings": {"exploration": -1}}, "exploration", "be at least 0, got -1.0"),
        ({"settings": {"rate": "0.1"}}, "rate", "be a number, got '0.1'"),
        ({"settings": {"nobody": 1}}, "settings", "be among dim, .* for 'ind', got nobody"),
        ({"settings": {"dim": 3}}, "settings", "leave dim to the model, got dim"),
        ({"settings": {"radius": 1e308}}, "radius", "be small enough for .*, got 1e.308"),
        ({"policy": "dep"}, "settings", "include 'topics' for 'dep', got"),
        (
            {"policy": "oracle", "settings": {"weights": [0.1] * DIM, "features": {"a": 1}}},
            "settings",
            "be settings of 'oracle', got .*'a': 1",
        ),
        ({"dim": 0}, "dim", "Expected `int` >= 1"),
        ({"mode": "loud"}, "mode", "Invalid enum value 'loud'"),
        ({"keep": -1}, "keep", "Expected `float` > 0"),
        ({"nobody": 1}, "nobody", "unknown field `nobody`"),
    ],
)
def test_a_model_that_cannot_be_is_refused_with_parameter_rule_and_value(
    http, change, parameter, sentence
):
    answer = http.put(BASE, json={"policy": "ind", "dim": DIM, **change})
    assert (answer.status_code, answer.json()["parameter"]) == (422, parameter)
    assert re.search(sentence, answer.json()["detail"])
    assert http.get(BASE).status_code == 404


def test_a_field_deep_in_a_body_is_named(http):
    http.put(BASE, json={"policy": "ind", "dim": DIM})
    candidates = [{"id": "a", "features": [0.1, 0.1, 0.1]}, {"features": [0.1, 0.1, 0.1]}]
    answer = http.post(DECISIONS, json={"candidates": candidates})
    assert (answer.status_code, answer.json()["parameter"]) == (422, "candidates[1].id")


def test_what_is_not_there_or_not_allowed_is_told_so(http):
    assert http.get("/nobody").status_code == 404
    assert http.get("/v1/models/m/").status_code == 404
    wrong = http.post("/healthz")
    assert wrong.status_code == 405
    assert wrong.headers["content-type"] == "application/problem+json"
    assert http.patch(BASE).headers["allow"] == "PUT, GET, HEAD, DELETE"
    assert http.post("/").headers["allow"] == "GET, HEAD"
    head = http.head("/healthz")
    assert (head.status_code, head.text) == (200, "")


@pytest.mark.parametrize(
    "odd", ["/v1", "/v1/models/m/n", f"{DECISIONS}/x/outcome/", "/x" + DECISIONS, "/openapi_json"]
)
def test_a_path_is_all_of_a_path(http, odd):
    answer = http.get(odd)
    assert (answer.status_code, answer.json()["detail"]) == (404, "there is nothing at this path")


def test_a_full_queue_sheds_with_503_and_says_when_to_come_again(http):
    http.put(BASE, json={"policy": "ind", "dim": DIM})
    http.engine.store.writer.max_queued = 0
    shed = http.post(DECISIONS, json={**ROUND, "id": "x"})
    assert (shed.status_code, shed.headers["retry-after"]) == (503, "1")
    http.engine.store.writer.max_queued = 100
    assert http.post(DECISIONS, json={**ROUND, "id": "x"}).status_code == 201


def test_a_client_that_leaves_in_the_middle_of_a_body_is_counted_as_an_error(engine):
    app = build(engine, auth=False)
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": DECISIONS,
        "headers": [],
        "query_string": b"",
    }
    with pytest.raises(ClientDisconnect):
        asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 500
