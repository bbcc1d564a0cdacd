"""What a model was made with, what counts as learned, and how it is summed up, over HTTP."""

from __future__ import annotations

import pytest

MODEL = {"dim": 3, "policy": "ind", "max_budget": 5}
HOPELESS = {"rewards": [0.0, 0.0], "losses": [0.0, -1.0, -2.0]}
FREE = {"rewards": [1.0, 1.0], "losses": [0.0, 0.0, 0.0]}


def make(http, **settings):
    return http.put("/v1/models/m", json=MODEL | settings)


def decide(http, name, payoffs):
    body = {"id": name, "ids": ["a", "b"], "features": [[0.5, 0, 0], [0, 0.5, 0]], **payoffs}
    return http.post("/v1/models/m/decisions", json=body).json()


@pytest.mark.parametrize(
    "other",
    [
        {"policy": "c-ucb1"},
        {"dim": 4},
        {"max_budget": 6},
        {"settings": {"exploration": 0.2}},
        {"settings": {}},
    ],
    ids=str,
)
def test_what_a_model_is_cannot_be_changed(http, other):
    settings = {"settings": {"exploration": 0.3}}
    assert make(http, **settings).status_code == 201
    before = http.get("/v1/models/m").json()
    refused = make(http, **settings | other)
    assert refused.status_code == 409
    assert next(iter(other)) in refused.json()["detail"]
    assert http.get("/v1/models/m").json() == before


def test_a_position_that_is_named_twice_is_left_out_once(http):
    make(http)
    assert len(decide(http, "x", FREE)["sequence"]) == 2
    outcome = {"tried": 2, "succeeded": False, "not_attributable": [1, 1]}
    told = http.put("/v1/models/m/decisions/x/outcome", json=outcome).json()
    assert (told["learned"], told["why"]) == (True, None)
    assert http.get("/v1/models/m").json()["version"] == 1


def test_a_frozen_model_does_not_probe_and_counts_nothing(http):
    make(http, policy="recommended")
    lengths = [len(decide(http, f"online-{i}", HOPELESS)["sequence"]) for i in range(6)]
    assert set(lengths) == {0, 1}  # it gives up, and probes
    make(http, policy="recommended", mode="frozen")
    before = http.get("/v1/models/m").json()["state_hash"]
    assert all(decide(http, f"frozen-{i}", HOPELESS)["sequence"] == [] for i in range(6))
    assert http.get("/v1/models/m").json()["state_hash"] == before


def test_the_curve_of_many_outcomes_is_merged_in_pairs_and_loses_none(http):
    make(http)
    count = 403
    for i in range(count):
        decide(http, f"d{i}", FREE)
    told = [{"id": f"d{i}", "tried": 1, "succeeded": i % 4 == 0} for i in range(count)]
    answer = http.post("/v1/models/m/outcomes", json={"outcomes": told}).json()
    assert all(result["status"] == 200 for result in answer["results"])
    curve = http.get("/v1/models/m").json()["stats"]["curve"]
    assert curve["size"] == 4
    assert curve["outcomes"] == [4] * 100 + [3]
    assert curve["reward"][:100] == [0.25] * 100
    assert curve["length"] == [2.0] * 101
    assert curve["give_ups"] == [0.0] * 101  # the sequences use the whole budget


def test_a_sequence_cut_short_is_given_up_and_one_tried_to_the_end_declined(http):
    make(http)
    short = {"rewards": [1.0, 1.0], "losses": [0.0, 0.0, -9.0]}
    assert len(decide(http, "cut", short)["sequence"]) == 1
    assert len(decide(http, "whole", FREE)["sequence"]) == 2
    assert len(decide(http, "final", FREE)["sequence"]) == 2
    assert decide(http, "nothing", HOPELESS)["sequence"] == []
    for name, tried in (("cut", 1), ("whole", 2), ("final", 1), ("nothing", 0)):
        told = {"tried": tried, "succeeded": False}
        assert http.put(f"/v1/models/m/decisions/{name}/outcome", json=told).status_code == 200
    stats = http.get("/v1/models/m").json()["stats"]
    assert (stats["give_ups"], stats["declined"], stats["empty"]) == (2, 2, 1)
    assert stats["curve"]["give_ups"] == [1.0, 0.0, 0.0, 1.0]
