"""Logs with one row for each candidate."""

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from longrank import Outcome, Payoffs
from longrank.logs import History, check
from longrank.logs.columns import CANDIDATE, FEATURE_PREFIX, POSITION

LONG = [
    {"id": i, "candidate": c, "x_0": 0.1 * j, "x_1": 0.2, "position": p, "tried": 2}
    | {"succeeded": True, "rewards": [1.0, 0.5], "losses": [0.0, 0.0, 0.0]}
    for i in (1, 2)
    for j, (c, p) in enumerate((("a", 2), ("b", None), ("c", 1)))
]
RECORDS = [
    {"id": t, "candidate": name, "region": region, "fee": fee, "brand": brand, "position": at}
    | {"succeeded": won}
    for t, brand in ((1, "visa"), (2, "amex"))
    for name, region, fee, at, won in (
        ("adyen", "eu", 0.1 * t, 2, t == 1),
        ("stripe", "us", 0.2, 1, False),
        ("worldpay", None, 0.3, None, None),
    )
]
PRICED = [
    {"id": 1, "candidate": c, "region": region, "position": p, "costs": cost}
    | {"success_values": value, "succeeded": ended, "outcome_costs": paid}
    for c, region, p, cost, value, ended, paid in (
        ("a", "eu", 2, 0.1, 0.0, True, 0.4),
        ("b", "us", 1, 0.2, 1.0, False, 0.3),
        ("c", "eu", None, 0.0, 0.5, None, None),
    )
]
BROKEN = [
    # the log, what a row of it has instead, its index, and the row, column and rule of the problem
    (LONG, {"position": 3}, 0, 1, "position", "without a gap"),
    (LONG, {"position": 1}, 0, 3, "position", "be unique within a decision"),
    (LONG, {"position": 0}, 0, 1, "position", "be 1, 2, ... or missing"),
    (LONG, {"position": "last"}, 0, 1, "position", "be 1, 2, ... or missing"),
    (LONG, {"position": 1.5}, 0, 1, "position", "be 1, 2, ... or missing"),
    (LONG, {"tried": 1}, 1, 2, "tried", "the same in all rows of a decision"),
    (LONG, {"x_1": None}, 1, 2, "x_1", "be a number"),
    (RECORDS, {"succeeded": True}, 1, 2, "succeeded", "be true of the last attempt only"),
    (RECORDS, {"succeeded": None}, 1, 2, "succeeded", "be known of the first attempts"),
    (RECORDS, {"succeeded": False}, 2, 3, "succeeded", "be missing where position is"),
    (PRICED, {"costs": None}, 1, 2, "costs", "be present for all candidates"),
    (PRICED, {"outcome_costs": 1.0}, 2, 3, "outcome_costs", "be missing where"),
    (PRICED, {"outcome_costs": None}, 1, 2, "outcome_costs", "be known of the first"),
]


@pytest.mark.parametrize("data", [LONG, pd.DataFrame(LONG)], ids=["dictionaries", "pandas"])
def test_long_form_gives_the_same_decisions(data):
    [first, _] = History(data).decisions()
    assert first.order.tolist() == [2, 0]
    assert first.items.tolist() == [[0.0, 0.2], [0.1, 0.2], [0.2, 0.2]]
    assert first.outcome.tried == 2


def test_fields_of_candidates_are_told_from_those_of_the_context():
    for data in (RECORDS, pl.DataFrame(RECORDS), pd.DataFrame(RECORDS)):
        one, two = History(data).decisions()
        assert one.context == {"brand": "visa"}
        assert one.candidates[0] == {"id": "adyen", "region": "eu", "fee": 0.1}
        assert (one.order.tolist(), one.outcome) == ([1, 0], Outcome(2, True))
        assert two.outcome == Outcome(2, False)
    [one, _] = History(RECORDS, context=["brand", "fee"]).decisions()
    assert (one.context["fee"], set(one.candidates[0])) == (0.1, {"id", "region"})


def test_the_prices_of_a_candidate_are_in_its_row():
    payoffs = Payoffs.linear(2, attempt_cost=0.1)
    [decision] = History(PRICED, payoffs=payoffs).decisions()
    assert decision.payoffs == payoffs.priced([0.1, 0.2, 0.0], [0.0, 1.0, 0.5])
    assert decision.outcome == Outcome(2, True, (0.3, 0.4))
    assert decision.candidates[1] == {"id": "b", "region": "us"}
    rows = [row | {"cost": 0.1} for row in RECORDS]  # equal fees of all are no context
    earned = [d.reward for d in History(rows, payoffs=Payoffs.vanilla(2)).decisions()]
    assert earned == pytest.approx([0.8, -0.2])


def test_malformed_long_form_is_reported_and_so_are_candidates_of_a_decision_that_are_apart():
    [problem] = check(History([*LONG, *LONG[:3]])).problems
    assert (problem.row, problem.column, problem.rule) == (7, "id", "be unique")
    for log, values, at, row, column, rule in BROKEN:
        rows = [each | (values if i == at else {}) for i, each in enumerate(log)]
        found = check(rows).problems
        assert any((p.row, p.column) == (row, column) and rule in p.rule for p in found), found


def test_the_columns_of_the_long_form_are_documented():
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text("utf-8")
    for name in (POSITION, CANDIDATE, f"{FEATURE_PREFIX}0"):
        assert f"`{name}`" in page
