"""Logs with one row for each candidate."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from longrank.logs import History, check
from longrank.logs.columns import CANDIDATE, FEATURE_PREFIX, POSITION

LONG = [
    {"id": i, "candidate": c, "x_0": 0.1 * j, "x_1": 0.2, "position": p, "tried": 2}
    | {"succeeded": True, "rewards": [1.0, 0.5], "losses": [0.0, 0.0, 0.0]}
    for i in (1, 2)
    for j, (c, p) in enumerate((("a", 2), ("b", None), ("c", 1)))
]
LONG_BROKEN = {
    "a gap": ({"position": 3}, 0, 1, "position", "without a gap"),
    "a place twice": ({"position": 1}, 0, 3, "position", "be unique within a decision"),
    "a place of none": ({"position": 0}, 0, 1, "position", "be 1, 2, ... or missing"),
    "a place in words": ({"position": "last"}, 0, 1, "position", "be 1, 2, ... or missing"),
    "a place between": ({"position": 1.5}, 0, 1, "position", "be 1, 2, ... or missing"),
    "two outcomes": ({"tried": 1}, 1, 2, "tried", "the same in all rows of a decision"),
    "a missing feature": ({"x_1": None}, 1, 2, "x_1", "be a number"),
}


@pytest.mark.parametrize("data", [LONG, pd.DataFrame(LONG)], ids=["dictionaries", "pandas"])
def test_long_form_gives_the_same_decisions(data):
    [first, _] = History(data).decisions()
    assert first.order.tolist() == [2, 0]
    assert first.items.tolist() == [[0.0, 0.2], [0.1, 0.2], [0.2, 0.2]]
    assert first.outcome.tried == 2


def test_candidates_of_a_decision_that_are_apart_are_reported():
    [problem] = check(History([*LONG, *LONG[:3]])).problems
    assert (problem.row, problem.column, problem.rule) == (7, "id", "be unique")


def test_malformed_long_form_is_reported():
    for values, at, row, column, rule in LONG_BROKEN.values():
        rows = json.loads(json.dumps(LONG))
        rows[at] |= values
        problems = check(History(rows)).problems
        assert any((p.row, p.column) == (row, column) and rule in p.rule for p in problems), (
            problems
        )


def test_the_columns_of_the_long_form_are_documented():
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text("utf-8")
    for name in (POSITION, CANDIDATE, f"{FEATURE_PREFIX}0"):
        assert f"`{name}`" in page
