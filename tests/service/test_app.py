"""The calls over HTTP: paths, fields, codes."""

from __future__ import annotations

import base64
import io
import json
import sys

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from serving import ADMIN, DIM, asked

ROUND = msgspec.to_builtins(asked())
BASE = "/v1/models/m"
DECISIONS = BASE + "/decisions"


@pytest.fixture(autouse=True)
def model(http):
    """The answer to the creation of a model, ``m``."""
    made = http.put(BASE, json={"policy": "ind", "dim": DIM, "max_budget": 5})
    assert made.status_code == 201
    return made.json()


def test_a_decision_and_its_outcome_go_round(http):
    decided = http.post(DECISIONS, json={**ROUND, "id": "x"})
    assert decided.status_code == 201
    answer = decided.json()
    assert set(answer) >= {"id", "sequence", "expected_value", "values", "version", "expires"}
    assert set(answer["sequence"][0]) == {"id", "position", "estimate", "optimistic"}
    settled = http.put(f"{DECISIONS}/x/outcome", json={"tried": 1, "succeeded": True})
    assert (settled.status_code, settled.json()["learned"]) == (200, True)
    again = http.put(f"{DECISIONS}/x/outcome", json={"tried": 1, "succeeded": True})
    assert (again.status_code, again.json()["repeated"]) == (200, True)
    other = http.put(f"{DECISIONS}/x/outcome", json={"tried": 2, "succeeded": True})
    assert other.status_code == 409
    unknown = http.put(f"{DECISIONS}/y/outcome", json={"tried": 1, "succeeded": True})
    assert unknown.status_code == 404
    found = http.get(f"{DECISIONS}/x").json()
    assert found["outcome"] == {"tried": 1, "succeeded": True}
    assert found["sequence"] == answer["sequence"]
    assert http.get(BASE).json()["stats"]["learned"] == 1


def test_the_same_decision_again_is_the_same_bytes_and_another_is_a_conflict(http):
    first = http.post(DECISIONS, json=ROUND, headers={"Idempotency-Key": "k"})
    again = http.post(DECISIONS, json={**ROUND, "id": "k"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    other = http.post(DECISIONS, json={**ROUND, "id": "k", "budget": 1})
    assert other.status_code == 409
    assert other.headers["content-type"] == "application/problem+json"
    mixed = http.post(DECISIONS, json={**ROUND, "id": "j"}, headers={"Idempotency-Key": "k"})
    assert mixed.status_code == 422
    odd = http.post(DECISIONS, json=ROUND, headers={"Idempotency-Key": "k k"})
    assert odd.status_code == 422


def test_features_travel_as_lists_as_base64_or_as_messagepack(http):
    items = np.array(ROUND["features"])
    first = http.post(DECISIONS, json={**ROUND, "id": "k"})
    coded = {"data": base64.b64encode(items.astype("<f8").tobytes()).decode(), "dtype": "float64"}
    assert http.post(DECISIONS, json={**ROUND, "id": "k", "features": coded}).content == (
        first.content
    )
    binary = {**ROUND, "id": "k", "features": {"data": items.astype("<f8").tobytes()}}
    for body in (binary, {**ROUND, "id": "k"}):
        packed = http.post(
            DECISIONS,
            content=msgspec.msgpack.encode(body),
            headers={"Content-Type": "application/msgpack"},
        )
        assert packed.content == first.content


def test_numbers_are_exact(http):
    http.post(DECISIONS, json={**ROUND, "id": "x"})
    there = http.engine.store.find(http.engine.model("m").number, "x")[0].decision()
    values = http.get(f"{DECISIONS}/x").json()["values"]
    assert values == there.played.values


def test_a_batch_has_a_result_for_each_item(http):
    http.post(DECISIONS, json={**ROUND, "id": "x"})
    body = {
        "outcomes": [
            {"id": "x", "tried": 1, "succeeded": True},
            {"id": "y", "tried": 1, "succeeded": True},
            {"id": "x", "tried": 9, "succeeded": True},
        ]
    }
    answer = http.post(f"{BASE}/outcomes", json=body)
    assert answer.status_code == 200
    assert [one["status"] for one in answer.json()["results"]] == [200, 404, 422]


def test_models_are_made_listed_read_changed_and_deleted(http, model):
    assert model["key"]
    again = http.put(BASE, json={"policy": "ind", "dim": DIM, "max_budget": 5})
    assert again.status_code == 200
    assert "key" not in again.json()
    assert http.put(BASE, json={"policy": "ind", "dim": DIM + 1}).status_code == 409
    changed = http.put(BASE, json={"policy": "ind", "dim": DIM, "max_budget": 5, "mode": "frozen"})
    assert changed.json()["mode"] == "frozen"
    assert [one["name"] for one in http.get("/v1/models").json()["models"]] == ["m"]
    assert http.delete(BASE).status_code == 204
    assert http.get(BASE).status_code == 404
    assert http.delete(BASE).status_code == 404


def test_lists_have_a_cursor(http):
    for i in range(3):
        http.post(DECISIONS, json={**ROUND, "id": f"d{i}"})
    first = http.get(DECISIONS, params={"limit": 2}).json()
    assert [one["id"] for one in first["decisions"]] == ["d2", "d1"]
    second = http.get(DECISIONS, params={"limit": 2, "cursor": first["next"]}).json()
    assert ([one["id"] for one in second["decisions"]], second["next"]) == (["d0"], None)
    for bad in ({"limit": "0"}, {"limit": "x"}, {"limit": "501"}, {"cursor": "x"}):
        assert http.get(DECISIONS, params=bad).status_code == 422


def test_the_export_holds_every_decision_with_its_outcome(http):
    for i in range(3):
        http.post(DECISIONS, json={**ROUND, "id": f"d{i}"})
    http.put(f"{DECISIONS}/d1/outcome", json={"tried": 2, "succeeded": True, "reason": "ok"})
    table = pq.read_table(io.BytesIO(http.get(f"{BASE}/export?format=parquet").content)).to_pylist()
    assert [row["id"] for row in table] == ["d0", "d1", "d2"]
    assert [row["tried"] for row in table] == [None, 2, None]
    chosen = [int(name[1:]) for name in table[0]["sequence"]]
    assert table[0]["features"] == [ROUND["features"][i] for i in chosen]
    assert table[1]["reward"] == ROUND["rewards"][1]


def test_the_export_as_json_lines_needs_no_pyarrow(http, monkeypatch):
    http.post(DECISIONS, json={**ROUND, "id": "d0"})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = http.get(f"{BASE}/export")
    assert answer.headers["content-type"] == "application/jsonl"
    assert answer.headers["content-disposition"] == 'attachment; filename="m.jsonl"'
    assert [json.loads(line)["id"] for line in answer.text.splitlines()] == ["d0"]
    refused = http.get(f"{BASE}/export?format=parquet")
    assert (refused.status_code, refused.json()["parameter"]) == (422, "format")
    assert "use ?format=jsonl" in refused.json()["detail"]


def test_old_decisions_are_dropped_when_asked(http, clock):
    http.post(DECISIONS, json={**ROUND, "id": "x", "ttl": 5})
    clock.now += 100
    assert http.delete(DECISIONS, params={"older_than": "50"}).json() == {"dropped": 1}
    assert http.get(f"{DECISIONS}/x").status_code == 404
    assert http.delete(DECISIONS).status_code == 422


def test_metrics_count_calls_and_models(http):
    http.post(DECISIONS, json={**ROUND, "id": "x"})
    text = http.get("/metrics").text
    assert 'longrank_requests_total{call="decide",status="201"} 1.0' in text
    assert 'longrank_model_decisions_total{model="m"} 1.0' in text
    assert 'longrank_model_pending{model="m"} 1.0' in text


def test_further_keys_are_made_listed_and_deleted(http):
    made = http.post(f"{BASE}/keys").json()
    mine = {"Authorization": f"Bearer {made['key']}"}
    assert http.get(BASE, headers=mine).status_code == 200
    listed = http.get(f"{BASE}/keys").json()["keys"]
    assert made["id"] in [one["id"] for one in listed]
    assert made["key"] not in json.dumps(listed)
    assert http.delete(f"{BASE}/keys/{made['id']}").status_code == 204
    assert http.get(BASE, headers=mine).status_code == 401
    assert http.delete(f"{BASE}/keys/{made['id']}").status_code == 404


def test_keys_are_stored_as_hashes_only(http, model, path):
    assert http.get(BASE, headers={"Authorization": f"Bearer {model['key']}"}).status_code == 200
    data = path.read_bytes() + path.with_name(path.name + "-wal").read_bytes()
    assert model["key"].encode() not in data
    assert ADMIN.encode() not in data


def test_an_answer_says_how_long_it_is_and_what_it_is(http):
    export = http.get(f"{BASE}/export?format=parquet")
    assert export.headers["content-type"] == "application/vnd.apache.parquet"
    assert export.headers["content-disposition"] == 'attachment; filename="m.parquet"'
    assert http.get("/metrics").headers["content-type"].startswith("text/plain; version=0.0.4")
    deleted = http.delete(BASE)
    assert (deleted.content, "content-type" in deleted.headers) == (b"", False)
