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
from serving import ADMIN, DIM, MODEL, asked, bearer

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
    assert (found["outcome"], found["sequence"]) == (
        {"tried": 1, "succeeded": True},
        answer["sequence"],
    )
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
def test_the_export_holds_every_decision_with_its_outcome_until_it_is_dropped(
    http, clock, monkeypatch
):
    for i in range(3):
        http.post(DECISIONS, json={**ROUND, "id": f"d{i}", "ttl": 5})
    http.put(f"{DECISIONS}/d1/outcome", json={"tried": 2, "succeeded": True, "reason": "ok"})
    export = http.get(f"{BASE}/export")
    assert export.headers["content-type"] == "application/vnd.apache.parquet"
    assert export.headers["content-disposition"] == 'attachment; filename="m.parquet"'
    table = pq.read_table(io.BytesIO(export.content)).to_pylist()
    assert [row["id"] for row in table] == ["d0", "d1", "d2"]
    assert [row["tried"] for row in table] == [None, 2, None]
    chosen = [int(name[1:]) for name in table[0]["sequence"]]
    assert table[0]["features"] == [ROUND["features"][i] for i in chosen]
    assert table[1]["reward"] == ROUND["rewards"][1]
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # JSON Lines need none
    lines = http.get(f"{BASE}/export", params={"format": "jsonl"})
    assert lines.headers["content-type"] == "application/jsonl"
    assert lines.headers["content-disposition"] == 'attachment; filename="m.jsonl"'
    assert [json.loads(line)["id"] for line in lines.text.splitlines()] == ["d0", "d1", "d2"]
    refused = http.get(f"{BASE}/export")
    assert (refused.status_code, refused.json()["parameter"]) == (422, "format")
    assert "pip install 'longrank[logs]'" in refused.json()["detail"]
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
