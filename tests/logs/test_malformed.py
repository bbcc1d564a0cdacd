"""Every malformed log is reported with row and rule, and nothing is learned from it."""

import math
from itertools import product

import pytest

from longrank import UCB, BadFile, InvalidInput, OnlineNewton, recommended
from longrank.logs import BadLog, History, check, learn_from, violations, write

NAN, INF = math.nan, math.inf


def put(**values):
    """A log whose second row has these values instead; None takes the value away."""

    def change(rows):
        rows[1] |= values
        rows[1] = {name: value for name, value in rows[1].items() if value is not None}

    return change


def without(column):
    def change(rows):
        for row in rows:
            del row[column]

    return change


def every(**values):
    return lambda rows: [row.update(values) for row in rows]


def ones(n):
    return [[0.1, 0.2]] * n


MALFORMED = {
    # name: (what is done to a sound log, the row, the column, a part of the rule)
    "no id": (without("id"), 0, "id", "be a column"),
    "no order": (without("order"), 0, "order", "be a column"),
    "no tried": (without("tried"), 0, "tried", "be a column"),
    "no succeeded": (without("succeeded"), 0, "succeeded", "be a column"),
    "no decision": (lambda rows: rows.clear(), 0, "the log", "hold at least one decision"),
    "id missing": (put(id=None), 2, "id", "be text or a whole number"),
    "id empty": (put(id=""), 2, "id", "be text or a whole number"),
    "id twice": (put(id="d0"), 2, "id", "be unique"),
    "time missing": (put(time=None), 2, "time", "be present in every row or in none"),
    "time unreadable": (put(time="yesterday"), 2, "time", "be ISO 8601"),
    "time falls": (put(time="2025-12-31T00:00:00"), 2, "time", "be no earlier"),
    "time of two kinds": (put(time="2026-01-02T12:00:00Z"), 2, "time", "without a time zone"),
    "time NaN": (put(time=NAN), 2, "time", "be finite"),
    "order no list": (put(order=3), 2, "order", "be a list"),
    "order of fractions": (put(order=[0.5, 1]), 2, "order", "be a whole number"),
    "order beyond the candidates": (put(order=[0, 4]), 2, "order", "indices below 4"),
    "order negative": (put(order=[0, -1]), 2, "order", "be at least 0"),
    "order of an unknown item": (put(order=["a", "x"]), 2, "order", "ids of the candidates"),
    "order repeats": (put(order=["a", "a"]), 2, "order", "no candidate twice"),
    "order beyond the budget": (put(budget=1), 2, "order", "no longer than the budget, 1"),
    "tried beyond the order": (put(tried=3), 2, "tried", "at most 2, the length of order"),
    "tried negative": (put(tried=-1), 2, "tried", "be at least 0"),
    "tried NaN": (put(tried=NAN), 2, "tried", "be a whole number"),
    "tried missing": (put(tried=None), 2, "tried", "be a whole number"),
    "succeeded unclear": (put(succeeded="maybe"), 2, "succeeded", "be true or false"),
    "learned unclear": (put(learned="perhaps"), 2, "learned", "be true or false"),
    "a failure too many": (put(not_attributable=[2]), 2, "not_attributable", "the 1 failures"),
    "a failure at no position": (put(not_attributable=[0]), 2, "not_attributable", "at least 1"),
    "a failure no list": (put(not_attributable=1), 2, "not_attributable", "be a list"),
    "outcomes at one time": (every(outcome_seq=7), 2, "outcome_seq", "be unique"),
    "outcomes some in order": (put(outcome_seq=7), 2, "outcome_seq", "in every row or in none"),
    "outcomes by fractions": (put(outcome_seq=0.5), 2, "outcome_seq", "be a whole number"),
    "succeeded without a try": (put(tried=0), 2, "tried", "be at least 1 if the last"),
    "items NaN": (put(items=[[NAN, 0.1], *ones(3)]), 2, "items", "be finite"),
    "items infinite": (put(items=[[INF, 0.1], *ones(3)]), 2, "items", "be finite"),
    "items ragged": (put(items=[[0.1], *ones(3)]), 2, "items", "have rows of one length"),
    "items of text": (put(items=[["x", "y"]] * 4), 2, "items", "hold numbers"),
    "items of another dimension": (put(items=[[0.1] * 3] * 4), 2, "items", "2 numbers, as in row"),
    "features NaN": (put(features=[[NAN, 0.1], [0.1, 0.1]]), 2, "features", "be finite"),
    "features too few": (put(features=ones(1)), 2, "features", "have 2 rows, as many as order"),
    "features too long": (put(features=[[3.0, 4.0]] * 2), 2, "features", "norm at most 1"),
    "features of another dimension": (put(features=[[0.1]] * 2), 2, "features", "2 numbers"),
    "no rows at all": (put(features=None, items=None), 2, "features", "where items are missing"),
    "candidates twice": (put(candidates=["a", "a", "c", "d"]), 2, "candidates", "be unique"),
    "candidates too few": (put(candidates=["a", "c"]), 2, "candidates", "be 4, as many as items"),
    "rewards rise": (put(rewards=[0.1, 0.5, 0.2]), 2, "rewards", "be non-increasing"),
    "rewards negative": (put(rewards=[1.0, 0.5, -0.2]), 2, "rewards", "be at least 0"),
    "rewards NaN": (put(rewards=[1.0, NAN, 0.2]), 2, "rewards", "be finite"),
    "losses positive": (put(losses=[0.1, 0, 0, 0]), 2, "losses", "be at most 0"),
    "losses too few": (put(losses=[0.0, -0.1]), 2, "losses", "have 4 numbers"),
    "losses without rewards": (put(rewards=None), 2, "rewards", "be present where losses are"),
    "budget negative": (put(budget=-1), 2, "budget", "be at least 0"),
    "budget beyond the payoffs": (put(budget=4), 2, "budget", "at most the payoffs' 3"),
    "propensity negative": (put(propensity=-0.1), 2, "propensity", "be above 0"),
    "propensity zero": (put(propensity=0.0), 2, "propensity", "be above 0"),
    "propensity above 1": (put(propensity=1.5), 2, "propensity", "be at most 1"),
    "propensity NaN": (put(propensity=NAN), 2, "propensity", "be finite"),
    "propensity above its prefix": (put(propensity=0.2), 2, "propensity", "be at most 0.1"),
    "prefixes too few": (put(prefix_propensities=[0.3]), 2, "prefix_propensities", "be 2, as many"),
    "prefixes rise": (put(prefix_propensities=[0.1, 0.3]), 2, "prefix_propensities", "increase"),
    "prefixes negative": (put(prefix_propensities=[0.3, -1]), 2, "prefix_propensities", "above 0"),
}


@pytest.mark.parametrize("form", ["memory", "jsonl", "csv"])
def test_what_is_malformed_is_reported_by_row_column_and_rule(sound, form, tmp_path):
    wrong = {}
    for kind, (change, row, column, rule) in MALFORMED.items():
        rows = sound()
        change(rows)
        data = rows
        if form != "memory":
            data = tmp_path / f"log.{form}"
            write(data, rows)
        checked = check(History(data))
        where = row, column, checked.name
        named = (p for p in checked.problems if (p.row, p.column, p.file) == where)
        if not any(rule in p.rule for p in named) or any(a.possible for a in checked.abilities):
            wrong[kind] = list(map(str, checked.problems))
    assert not wrong


def test_what_is_malformed_or_too_long_for_a_policy_teaches_nothing(sound):
    policy = UCB(OnlineNewton(2, max_budget=3), exploration=0.1)
    before = policy.to_bytes()
    learns = (policy.learn_from, lambda history: learn_from(policy, history))
    kinds = "no order", "time falls", "items ragged", "prefixes rise"
    for kind, learn in product(kinds, learns):
        rows = sound()
        MALFORMED[kind][0](rows)
        with pytest.raises(BadLog) as error:
            learn(History(rows))
        assert error.value.problems == check(History(rows)).problems
    rows = sound()
    without("features")(rows)
    put(items=[[3.0, 4.0], *ones(3)])(rows)
    history = History(rows)
    assert check(history).problems == []
    for learn in learns:
        with pytest.raises(InvalidInput, match=r"row 2: items must have rows of norm at most 1 "):
            learn(history)
    assert policy.to_bytes() == before
    any_units = recommended(dim=2)
    any_units.learn_from(history)
    assert any_units.learner.updates > 0


def test_every_problem_of_every_row_is_reported(sound):
    rows = sound()
    rows[0] |= {"tried": 5, "rewards": [1.0, 2.0, 3.0]}
    rows[2] |= {"id": "d0"}
    found = [(p.row, p.column) for p in check(History(rows)).problems]
    assert found == [(1, "tried"), (1, "rewards"), (3, "id")]


def test_an_error_shows_the_first_five_problems_and_counts_the_rest(sound, monkeypatch):
    monkeypatch.setattr(violations, "MAX_KEPT", 6)
    rows = [row | {"id": i, "tried": 9} for i, row in enumerate([*sound(), *sound(), *sound()])]
    for row in rows:
        del row["time"]
    found = check(History(rows))
    assert (len(found.problems), found.more) == (6, 3)
    with pytest.raises(BadLog) as error:
        History(rows).validate()
    lines = str(error.value).splitlines()
    assert lines[0] == "rows, row 1: tried must be at most 2, the length of order, got 9"
    assert lines[5:] == ["and 4 more; 'longrank logs check' lists them"]


def test_a_log_without_any_outcome_is_refused(sound):
    rows = [row | {"tried": None, "succeeded": None} for row in sound()]
    [problem] = check(History(rows)).problems
    assert str(problem) == "rows: the log must hold at least one decision, got none"
    with pytest.raises(BadLog, match="hold at least one decision"):
        len(History(rows))


BROKEN = {
    "a line that is no JSON": (".jsonl", lambda text: text.replace("{", "", 1), "be JSON"),
    "a line that is no object": (".jsonl", lambda text: "[1, 2]\n" + text, "be a JSON object"),
    "a cell that is no list": (".csv", lambda text: text.replace('"[1.0', '"(1.0', 1), "JSON list"),
    "a row with too many cells": (".csv", lambda text: text.rstrip() + ",7\n", "have 14 cells"),
}


@pytest.mark.parametrize(("ending", "change", "rule"), BROKEN.values(), ids=BROKEN)
def test_an_unreadable_row_is_reported_and_the_others_go_on(sound, ending, change, rule, tmp_path):
    path = tmp_path / f"log{ending}"
    write(path, sound())
    path.write_text(change(path.read_text()))
    found = check(History(path))
    assert len(found.problems) == 1
    assert rule in found.problems[0].rule
    assert found.decisions >= 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.txt", b"", "must end in .parquet, .csv, .jsonl or .ndjson"),
        ("log.parquet", b"PAR1 not really PAR1", "is not a Parquet file"),
        ("log.csv", b"\xff\xfe\x00", "is not a CSV file"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_name(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadFile, match=message):
        History(tmp_path / name)
    with pytest.raises(BadFile, match="there is no file"):
        History(tmp_path / "nothing.csv")
