"""What is refused over HTTP: how it is told, and which field is to blame."""

from __future__ import annotations

import re

import msgspec
import pytest
from serving import DIM, asked

ROUND = msgspec.to_builtins(asked())
BASE = "/v1/models/m"
DECISIONS = BASE + "/decisions"


def test_every_answer_has_a_request_id_and_a_good_one_is_kept(shared_http):
    assert shared_http.get("/healthz").headers["x-request-id"]
    mine = shared_http.get("/healthz", headers={"X-Request-Id": "mine-1"})
    assert mine.headers["x-request-id"] == "mine-1"
    odd = shared_http.get("/healthz", headers={"X-Request-Id": "odd id"})
    assert odd.headers["x-request-id"] != "odd id"


def test_problems_are_problem_details(shared_http):
    answer = shared_http.get("/v1/models/nobody")
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.json()) == {"type", "title", "status", "detail", "request_id"}
    wrong = shared_http.put(BASE, json={"policy": "ind", "dim": 3, "settings": {"exploration": -1}})
    assert (wrong.status_code, wrong.json()["parameter"]) == (422, "exploration")


MODELS = [
    (
        {"policy": "recomended"},
        "policy",
        "be one of recommended, thompson, plackett-luce, rand, eps, c-ucb1, gl-cdcm, ind, "
        "got 'recomended'; did you mean recommended",
    ),
    ({"settings": {"exploration": -1}}, "exploration", "be at least 0, got -1.0"),
    ({"settings": {"rate": "0.1"}}, "rate", "be a number, got '0.1'"),
    (
        {"settings": {"nobody": 1}},
        "settings",
        "be among exploration, rate, radius, link for 'ind', got 'nobody'",
    ),
    ({"settings": {"dim": 3}}, "settings", "not name 'dim', which is given, got dim"),
    ({"settings": {"radius": 1e308}}, "radius", "be small enough for .*, got 1e.308"),
    ({"policy": "cautious"}, "policy", "^cautious cannot serve: it never explores"),
    ({"policy": "dep"}, "settings", "include 'topics' for 'dep', got"),
    (
        {"policy": "oracle", "settings": {"weights": [0.1] * DIM, "features": {"a": 1}}},
        "settings",
        "be settings of 'oracle', got .*'a': 1",
    ),
    ({"dim": 0}, "dim", "^dim must be at least 1, got 0$"),
    ({"mode": "loud"}, "mode", "be one of frozen, online, shadow, got 'loud'"),
    ({"keep": -1}, "keep", "^keep must be above 0, got -1$"),
    ({"nobody": 1}, "nobody", "^nobody is not a field of this request$"),
    ({"setings": {}}, "setings", r"^setings is not a field .* \(did you mean settings\?\)$"),
]


def test_a_model_that_cannot_be_is_refused_with_parameter_rule_and_value(shared_http):
    for change, parameter, sentence in MODELS:
        answer = shared_http.put(BASE, json={"policy": "ind", "dim": DIM, **change})
        assert (answer.status_code, answer.json()["parameter"]) == (422, parameter), change
        assert re.search(sentence, answer.json()["detail"]), change
        assert shared_http.get(BASE).status_code == 404


def test_a_field_deep_in_a_body_is_named(shared_http):
    shared_http.put(BASE, json={"policy": "ind", "dim": DIM})
    candidates = [{"id": "a", "features": [0.1, 0.1, 0.1]}, {"features": [0.1, 0.1, 0.1]}]
    answer = shared_http.post(DECISIONS, json={"candidates": candidates})
    assert (answer.status_code, answer.json()["parameter"]) == (422, "candidates[1].id")


A = {"id": "a", "features": [0.1] * DIM}
RECORDS = {"candidates": ["a", {"id": "b", "cost": -1}]}
BODIES = {
    "candidates[1].cost must be at least 0, got -1": {"candidates": [A, {**A, "cost": -1}]},
    'candidates[1].cost must be a number or null, got "x"': {
        "candidates": [A, {**A, "cost": "x"}]
    },
    "candidates[0].features[1] must be a number": {"candidates": [{**A, "features": [0, "x", 0]}]},
    "features[0][1] must be a number": {"ids": ["a"], "features": [[0.0, "secret", 0.0]]},
    "costs[4] must be at least 0, got -0.5": {**ROUND, "costs": [0, 0, 0, 0, -0.5]},
    "costs must have 5 numbers, one for each candidate of the round, got 4": {
        **ROUND, "costs": [0] * 4
    },
    "values[0] must be at most 1e+12, got 2000000000000.0": {**ROUND, "values": [2e12] * 5},
    "patience must be above 0, got 0": {**ROUND, "patience": 0},
    "ids[1] must have at least 1 character, got 0": {**ROUND, "ids": ["a", "", "b", "c", "d"]},
    "budget must be a whole number or null, got true": {**ROUND, "budget": True},
}  # fmt: skip


@pytest.mark.parametrize("media", ["json", "msgpack"])
def test_what_breaks_a_rule_is_told_with_its_path_the_rule_and_the_value(shared_http, media):
    shared_http.put(BASE, json={"policy": "ind", "dim": DIM})
    head = {"Content-Type": f"application/{media}"}
    for detail, body in BODIES.items():
        content = getattr(msgspec, media).encode(body)
        answer = shared_http.post(DECISIONS, content=content, headers=head)
        assert (answer.status_code, answer.json()["detail"]) == (422, detail)
        assert answer.json()["parameter"] == detail.partition(" must ")[0]


def test_records_and_outcomes_that_break_a_rule_are_told_in_the_same_words(shared_http):
    shared_http.put(BASE, json={})
    told = shared_http.post(DECISIONS, json=RECORDS).json()
    rule = "must be a finite number of at least 0: the cost of a try, got -1"
    assert (told["parameter"], told["detail"]) == (
        "candidates[1].cost", f"candidates[1].cost {rule}"
    )  # fmt: skip
    odd = {"candidates": ["a"], "context": {"card type": {}}}
    assert shared_http.post(DECISIONS, json=odd).json()["parameter"] == "context['card type']"
    wrong = {"outcomes": [{"id": "x", "tried": 1, "succeeded": True, "costs": [-2]}]}
    answer = shared_http.post(BASE + "/outcomes", json=wrong).json()
    assert answer["detail"] == "outcomes[0].costs[0] must be at least 0, got -2"
    broken = b'{"costs": [-1], "ids": [}'  # malformed as well
    kind = {"Content-Type": "application/json"}
    assert (
        shared_http.post(DECISIONS, content=broken, headers=kind).json()["parameter"] == "costs[0]"
    )


def test_what_is_not_there_or_not_allowed_is_told_so(shared_http):
    assert shared_http.get("/nobody").status_code == 404
    assert shared_http.get("/v1/models/m/").status_code == 404
    wrong = shared_http.post("/healthz")
    assert wrong.status_code == 405
    assert wrong.headers["content-type"] == "application/problem+json"
    assert shared_http.patch(BASE).headers["allow"] == "PUT, GET, HEAD, DELETE"
    assert shared_http.post("/").headers["allow"] == "GET, HEAD"
    assert shared_http.head(BASE + "/outcomes").status_code == 405
    head = shared_http.head("/healthz")
    assert (head.status_code, head.text) == (200, "")


def test_a_path_is_all_of_a_path(shared_http):
    outcome = f"{DECISIONS}/x/outcome/"
    for odd in ("/v1", "/v1/models/m/n", outcome, "/x" + DECISIONS, "/openapi_json"):
        answer = shared_http.get(odd)
        assert answer.json()["detail"] == "there is nothing at this path"
        assert answer.status_code == 404


def test_half_an_outcome_and_an_id_that_cannot_be_are_told_in_words(shared_http):
    shared_http.put(BASE, json={})
    shared_http.post(DECISIONS, json={"id": "half", "candidates": ["a"]})
    half = shared_http.put(f"{DECISIONS}/half/outcome", json={"tried": 1}).json()
    rule = "both be given, or succeeded_id"
    assert half["detail"] == f"tried, succeeded must {rule}, got only tried"
    odd = shared_http.post(DECISIONS, json={"id": "order/17", "candidates": ["a"]}).json()
    assert odd["detail"] == (
        "id must be letters, digits, '.', '_', ':', '~', '-', at most 128, beginning with a "
        'letter or digit, got "order/17"'
    )
