"""The calls over HTTP: paths, fields, codes; what is refused, and which field is to blame."""

import base64
import io
import json
import re
import sys

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from serving import ADMIN, DIM, MODEL, asked, bearer

from longrank.logs import columns
from longrank.service import export
from longrank.service.store.records import DecisionRecord, OutcomeRecord, Plan

ROUND = msgspec.to_builtins(asked())
BASE = "/v1/models/m"
DECISIONS = BASE + "/decisions"


@pytest.fixture
def model(http):
    made = http.put(BASE, json=MODEL)
    assert made.status_code == 201
    return made.json()


@pytest.mark.usefixtures("model")
def test_a_decision_and_its_outcome_go_round(http):
    decided = http.post(DECISIONS, json={**ROUND, "id": "x"})
    assert decided.status_code == 201
    answer = decided.json()
    assert set(answer) >= {"id", "sequence", "expected_value", "values", "version", "expires"}
    assert set(answer["sequence"][0]) == {"id", "position", "estimate", "optimistic"}
    stored = http.engine.store.find(http.engine.model("m").number, "x")[0].decision()
    assert answer["values"] == stored.played.values  # numbers are exact
    text = http.get("/metrics").text
    for line in (
        'longrank_requests_total{call="decide",status="201"} 1.0',
        'longrank_model_decisions_total{model="m"} 1.0',
        'longrank_model_pending{model="m"} 1.0',
    ):
        assert line in text
    settled = http.put(f"{DECISIONS}/x/outcome", json={"tried": 1, "succeeded": True})
    assert (settled.status_code, settled.json()["learned"]) == (200, True)
    found = http.get(f"{DECISIONS}/x").json()
    assert found["outcome"] == {"tried": 1, "succeeded": True}
    assert found["sequence"] == answer["sequence"]
    for name, tried, status in (("x", 1, 200), ("x", 2, 409), ("y", 1, 404)):
        again = http.put(f"{DECISIONS}/{name}/outcome", json={"tried": tried, "succeeded": True})
        assert again.status_code == status
    batch = [("x", 1), ("y", 1), ("x", 9), ("x", 2)]
    outcomes = [{"id": name, "tried": tried, "succeeded": True} for name, tried in batch]
    results = http.post(f"{BASE}/outcomes", json={"outcomes": outcomes}).json()["results"]
    assert [result["status"] for result in results] == [200, 404, 422, 409]
    assert http.get(BASE).json()["stats"]["learned"] == 1


@pytest.mark.usefixtures("model")
def test_the_same_decision_again_is_the_same_bytes_in_any_form_and_another_is_a_conflict(http):
    """Features travel as lists, as base64, as binary data or with their candidates."""
    first = http.post(DECISIONS, json=ROUND, headers={"Idempotency-Key": "k"})
    data = np.array(ROUND["features"]).astype("<f8").tobytes()
    coded = {"data": base64.b64encode(data).decode(), "dtype": "float64"}
    candidates = [
        {"id": name, "features": row}
        for name, row in zip(ROUND["ids"], ROUND["features"], strict=True)
    ]
    inline = {name: value for name, value in ROUND.items() if name not in ("ids", "features")}
    for body in ({**ROUND}, {**ROUND, "features": coded}, {**inline, "candidates": candidates}):
        assert http.post(DECISIONS, json={**body, "id": "k"}).content == first.content
    head = {"Content-Type": "application/msgpack"}
    for features in (ROUND["features"], {"data": data}):
        packed = msgspec.msgpack.encode({**ROUND, "id": "k", "features": features})
        assert http.post(DECISIONS, content=packed, headers=head).content == first.content
    other = http.post(DECISIONS, json={**ROUND, "id": "k", "budget": 1})
    assert other.status_code == 409
    assert other.headers["content-type"] == "application/problem+json"
    for key, body in (("k", {**ROUND, "id": "j"}), ("k k", ROUND)):
        odd = http.post(DECISIONS, json=body, headers={"Idempotency-Key": key})
        assert odd.status_code == 422


def test_models_are_made_listed_read_changed_and_deleted(http, model):
    assert model["key"]
    again = http.put(BASE, json=MODEL)
    assert (again.status_code, "key" in again.json()) == (200, False)
    assert http.put(BASE, json={"policy": "ind", "dim": DIM + 1}).status_code == 409
    assert http.put(BASE, json={**MODEL, "mode": "frozen"}).json()["mode"] == "frozen"
    assert [one["name"] for one in http.get("/v1/models").json()["models"]] == ["m"]
    deleted = http.delete(BASE)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert "content-type" not in deleted.headers
    assert http.get(BASE).status_code == http.delete(BASE).status_code == 404


@pytest.mark.usefixtures("model")
def test_the_export_holds_decisions_with_outcomes_until_they_are_dropped(http, clock, monkeypatch):
    for i in range(3):
        http.post(DECISIONS, json={**ROUND, "id": f"d{i}", "ttl": 5})
    http.put(f"{DECISIONS}/d1/outcome", json={"tried": 2, "succeeded": True, "reason": "ok"})
    export = http.get(f"{BASE}/export?format=parquet")
    assert export.headers["content-type"] == "application/vnd.apache.parquet"
    assert export.headers["content-disposition"] == 'attachment; filename="m.parquet"'
    table = pq.read_table(io.BytesIO(export.content)).to_pylist()
    assert [row["id"] for row in table] == ["d0", "d1", "d2"]
    assert [row["tried"] for row in table] == [None, 2, None]
    chosen = [int(name[1:]) for name in table[0]["sequence"]]
    assert table[0]["features"] == [ROUND["features"][i] for i in chosen]
    assert table[1]["reward"] == ROUND["rewards"][1]
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # JSON Lines need none
    lines = http.get(f"{BASE}/export")
    assert lines.headers["content-type"] == "application/jsonl"
    assert lines.headers["content-disposition"] == 'attachment; filename="m.jsonl"'
    assert [json.loads(line)["id"] for line in lines.text.splitlines()] == ["d0", "d1", "d2"]
    refused = http.get(f"{BASE}/export?format=parquet")
    assert (refused.status_code, refused.json()["parameter"]) == (422, "format")
    assert "use ?format=jsonl" in refused.json()["detail"]
    clock.now += 100
    assert http.delete(DECISIONS).status_code == 422
    assert http.delete(DECISIONS, params={"older_than": "50"}).json() == {"dropped": 3}
    assert http.get(f"{DECISIONS}/d1").status_code == 404


def test_further_keys_are_made_listed_deleted_and_stored_as_hashes_only(http, model, path):
    made = http.post(f"{BASE}/keys").json()
    for key in (made["key"], model["key"]):
        assert http.get(BASE, headers=bearer(key)).status_code == 200
    listed = http.get(f"{BASE}/keys").json()["keys"]
    assert made["id"] in [one["id"] for one in listed]
    data = path.read_bytes() + path.with_name(path.name + "-wal").read_bytes()
    for key in (made["key"], model["key"], ADMIN):
        assert key not in json.dumps(listed)
        assert key.encode() not in data
    assert http.delete(f"{BASE}/keys/{made['id']}").status_code == 204
    assert http.get(BASE, headers=bearer(made["key"])).status_code == 401
    assert http.delete(f"{BASE}/keys/{made['id']}").status_code == 404


def test_every_answer_has_a_request_id_and_problems_are_problem_details(shared_http):
    assert shared_http.get("/healthz").headers["x-request-id"]
    for name, is_kept in (("mine-1", True), ("odd id", False)):
        answer = shared_http.get("/v1/models/nobody", headers={"X-Request-Id": name})
        assert (answer.headers["x-request-id"] == name) == is_kept
        assert answer.headers["content-type"] == "application/problem+json"
        assert set(answer.json()) == {"type", "title", "status", "detail", "request_id"}


MODELS = [
    ({"policy": "recomended"}, "policy", "gl-cdcm, ind, got .*; did you mean recommended"),
    ({"settings": {"exploration": -1}}, "exploration", "be at least 0, got -1.0"),
    ({"settings": {"rate": "0.1"}}, "rate", "be a number, got '0.1'"),
    ({"settings": {"nobody": 1}}, "settings", "for 'ind', which takes radius, .*: 'nobody'"),
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
    ({"setings": {}}, "setings", r"^setings is not a field .* \(did you mean settings\?\)$"),
]


def test_a_model_that_cannot_be_is_refused_with_parameter_rule_and_value(shared_http):
    for change, parameter, sentence in MODELS:
        answer = shared_http.put(BASE, json={"policy": "ind", "dim": DIM, **change})
        assert (answer.status_code, answer.json()["parameter"]) == (422, parameter), change
        assert re.search(sentence, answer.json()["detail"]), change
        assert shared_http.get(BASE).status_code == 404


A = {"id": "a", "features": [0.1] * DIM}
RECORDS = {"candidates": ["a", {"id": "b", "cost": -1}]}
BODIES = {
    "candidates[1].cost must be at least 0, got -1": {"candidates": [A, {**A, "cost": -1}]},
    'candidates[1].cost must be a number or null, got "x"': {
        "candidates": [A, {**A, "cost": "x"}]
    },
    'candidates[0].features[1] must be a number, got "x"': {
        "candidates": [{**A, "features": [0, "x", 0]}]
    },
    "candidates[1].id must be given: candidates of a model of 3 features have id and features, "
    "got nothing": {"candidates": [A, {"features": [0.1] * DIM}]},
    'features[0][1] must be a number, got "x"': {"ids": ["a"], "features": [[0.0, "x", 0.0]]},
    f"features must have {DIM} columns, got 2": {"ids": ["a"], "features": [[0.0, 0.5]]},
    "ids must be unique, got 'a' twice": {**ROUND, "ids": list("abacd")},
    "candidates must have unique ids, got 'a' twice": {"candidates": [A, A]},
    "costs[4] must be at least 0, got -0.5": {**ROUND, "costs": [0, 0, 0, 0, -0.5]},
    "costs must have 5 numbers, one for each candidate of the round, got 4": {
        **ROUND, "costs": [0] * 4
    },
    "values[0] must be at most 1e+12, got 2000000000000.0": {**ROUND, "values": [2e12] * 5},
    "patience must be above 0, got 0": {**ROUND, "patience": 0},
    "ids[1] must have at least 1 character, got 0": {**ROUND, "ids": ["a", "", "b", "c", "d"]},
    "budget must be a whole number or null, got true": {**ROUND, "budget": True},
    "rewards[0] must be at most 1e+12, got 1100000000000.0": {**ROUND, "rewards": [1.1e12] * 3},
}  # fmt: skip


@pytest.mark.parametrize("media", ["json", "msgpack"])
def test_what_breaks_a_rule_is_told_with_its_path_the_rule_and_the_value(shared_http, media):
    shared_http.put(BASE, json=MODEL)
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
    shared_http.post(DECISIONS, json={"id": "x", "candidates": ["a"]})
    odd = {"candidates": ["a"], "context": {"card type": {}}}
    assert shared_http.post(DECISIONS, json=odd).json()["parameter"] == "context['card type']"
    wrong = {"outcomes": [{"id": "x", "tried": 1, "succeeded": True, "costs": [-2]}]}
    answer = shared_http.post(BASE + "/outcomes", json=wrong).json()
    assert answer["detail"] == "outcomes[0].costs[0] must be at least 0, got -2"
    half = shared_http.put(f"{DECISIONS}/x/outcome", json={"tried": 1}).json()
    assert half["detail"] == "give tried and succeeded, or succeeded_id; got only tried"
    assert half["parameter"] == "tried, succeeded"
    unclear = shared_http.put(f"{DECISIONS}/x/outcome", json={"succeeded": "yes"}).json()
    assert unclear["detail"] == 'succeeded must be true, false or null, got "yes"'
    odd_id = shared_http.post(DECISIONS, json={"id": "order/17", "candidates": ["a"]}).json()
    assert odd_id["detail"] == (
        "id must be letters, digits, '.', '_', ':', '~', '-', at most 128, beginning with a "
        'letter or digit, got "order/17"'
    )
    listed = {"candidates": [{"id": ["a" * 300] * 20}]}
    told = shared_http.post(DECISIONS, json=listed).json()["detail"]
    assert told.startswith("candidates[0].id must be text of 1 to 256 characters or a whole")
    assert "got ['aaa" in told
    large = b'{"rewards": [1e999], "losses": [0, 0], "candidates": ["a"]}'
    head = {"Content-Type": "application/json"}
    told = shared_http.post(DECISIONS, content=large, headers=head).json()["detail"]
    assert told == "rewards[0] must be a number of at most 64 bits, got a larger one"


def test_what_is_not_there_or_not_allowed_is_told_so(shared_http):
    outcome = f"{DECISIONS}/x/outcome/"
    odd = ("/v1", "/nobody", BASE + "/", BASE + "/n", outcome, "/x" + DECISIONS, "/openapi_json")
    for path in odd:
        answer = shared_http.get(path)
        told = answer.status_code, answer.json()["detail"]
        assert told == (404, "there is nothing at this path")
    assert shared_http.patch(BASE).headers["allow"] == "PUT, GET, HEAD, DELETE"
    wrong = shared_http.post("/")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD")
    assert wrong.headers["content-type"] == "application/problem+json"
    assert shared_http.head(BASE + "/outcomes").status_code == 405
    head = shared_http.head("/healthz")
    assert (head.status_code, head.text) == (200, "")


def test_a_full_queue_sheds_with_503_and_says_when_to_come_again(http):
    http.put(BASE, json=MODEL)
    for queued, status in ((0, 503), (100, 201)):
        http.engine.store.writer.max_queued = queued
        answer = http.post(DECISIONS, json={**ROUND, "id": "x"})
        assert (answer.status_code, answer.headers.get("retry-after")) == (
            status,
            "1" if status == 503 else None,
        )


def test_every_field_of_a_decision_is_a_column_of_its_export_or_internal():
    kinds = {"": DecisionRecord, "played.": Plan, "outcome.": OutcomeRecord}
    fields = {path + name for path, kind in kinds.items() for name in kind.__struct_fields__}
    internal = {"version", "digest", "planned_patience", "expected", "sparse", "sample", "records"}
    internal |= {"played", "played.reasons", "outcome"}
    of_outcomes = "version id paid reported gave_up why attributable automatic"
    internal |= {f"outcome.{name}" for name in of_outcomes.split()}
    assert fields - {column.field for column in export.COLUMNS} == internal
    # those of the history format have their type from there
    untyped = {column.name for column in export.COLUMNS if column.kind is None}
    assert untyped == set(columns.COLUMNS) - {"policy_version"}
