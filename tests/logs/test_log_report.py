"""The report and the commands, as a user would call them."""

import io
import math
import re

import pytest
from rich.console import Console
from small_world import FREE, PAYOFFS, call, chance, greedy, logged
from typer.testing import CliRunner

from longrank import InvalidInput, Payoffs, Random, cli, named, recommended
from longrank.cli.terminal import counted
from longrank.logs import History, evaluate, fit, report, write
from longrank.logs.evaluation.details import (
    by_candidate,
    by_position,
    judge_changes,
    learning_curve,
    lengths,
    logged_curve,
    raise_costs,
)
from longrank.logs.evaluation.evidence import gather_all
from longrank.logs.evaluation.report import currency_of
from longrank.logs.evaluation.verdict import LOGGED
from longrank.logs.example import example

WORTH = ("rewards", "losses", "budget")


def test_the_report_has_every_part_narrow_charts_and_refers_to_nothing_outside(tmp_path):
    history = History(logged(chance(), 60))
    policies = {"greedy <1>": greedy([2.0, -1.0, 1.0, 0.0]), "rand": Random(rng=1)}
    estimates = evaluate(history, policies, confidence=0.9)
    assert {e.confidence for e in estimates} == {0.9}
    page = report(history, policies, str(tmp_path / "page.html"), estimates).read_text()
    assert "90\N{NO-BREAK SPACE}% interval" in page
    assert not re.search(r"95\s%|\d %", page)
    table = page[page.index('<table class="stacked">') :]  # no column is out of a telephone's sight
    assert table.index('data-title="advice"') < table.index('data-title="earns per decision"')
    wide, narrow = page.count('<figure class="large">'), page.count('<div class="small">')
    assert wide == narrow == 3
    assert set(re.findall(r'viewBox="0 0 (\d+) ', page)) == {"640", "560", "310", "34"}
    answer = page.index('<p class="callout')  # the answer comes first, then the parts
    assert "Who is tried first" not in page  # the candidates have no names
    for part in ("Which one?", "What if", "Length", "Learning curve", "Success by position"):
        assert answer < page.index(f"<h2>{part}")
    assert "<h2>Calibration" in page
    assert "<h2>Every estimator" in page
    assert "every attempt costs" in page
    assert "budget 1" in page
    assert "greedy &lt;1&gt;" in page
    assert not re.search(r"(?i)https?:|src=|<link|@import|url\(|<script", page)
    assert page.count("<svg") >= 4


def test_the_report_of_a_deterministic_log_shows_bounds_and_the_refusal(tmp_path):
    history = History(logged(greedy([0.5, 0.0, 0.0, 0.0]), 40))
    page = report(history, {"x": greedy([2.0, 0.0, 1.0, 0.0])}, tmp_path / "page.html").read_text()
    assert "refused: 40 of 40 decisions have no propensity" in page
    assert "exact in" in page
    assert "This log cannot tell what <code>x</code> would earn" in page
    assert "the log cannot tell</td>" in page
    assert "A log can tell if" in page
    for part in ("What if", "Learning curve"):  # the model's guess is no evidence
        assert f"<h2>{part}" not in page


def test_the_report_says_which_of_several_policies_is_best_if_the_log_can_tell(tmp_path):
    good, bad = greedy([2.0, -1.0, 1.0, 0.5]), greedy([-2.0, 1.0, -1.0, -0.5])
    history = History(logged(chance(temperature=4.0), 900, payoffs=Payoffs([1.0], [0.0, 0.0])))
    page = report(history, {"good": good, "bad": bad}, tmp_path / "page.html").read_text()
    assert "<code>good</code> would earn more than all others." in page
    assert "Keep what is played rather than <code>bad</code>. It would earn" in page
    page = report(history, {"a": good, "b": good}, tmp_path / "page.html").read_text()
    assert "The log cannot tell which of these policies earns most" in page


def test_positions_lengths_and_curves_count_what_is_in_the_log():
    rows = logged(greedy([2.0, -1.0, 1.0, 0.5]), 80, payoffs=FREE)
    history = History(rows)
    found = by_position(history)
    assert found.tried[0] == 80
    assert found.succeeded.sum() == sum(row["succeeded"] for row in rows)
    assert lengths(history).tolist() == [0, 0, 0, 80]
    curve = learning_curve(greedy([0.0] * 4), history, fit(history), points=5)
    assert [t for t, _, _ in curve] == [8, 26, 44, 62, 80]
    mean = sum(one.reward for one in history.decisions()) / 80
    assert logged_curve(history)[-1][:2] == (80, pytest.approx(mean))


def test_candidates_are_counted_by_name():
    prices = {"costs": [0.1, 0.2, 0.3]}
    rows = [
        {"id": len(tried), "candidates": ["a", "b", "c"], "tried": tried, **prices}
        | {"succeeded": len(tried) == 2}
        for tried in (["b", "a"], ["b"], [])
    ]
    history = History(rows, payoffs=Payoffs.linear(3, attempt_cost=0.0))
    found = by_candidate({"x": recommended(rng=1)}, history)
    assert found.decisions == 3
    assert found.first[LOGGED] == {"b": 2}
    assert found.first["x"].total() == 3
    assert (found.tried, found.succeeded) == ({"b": 2, "a": 1}, {"a": 1})
    assert found.spent == pytest.approx({"a": 0.1, "b": 0.4})
    assert by_candidate({}, History(logged(chance(), 5))) is None


def test_the_report_shows_what_would_change_and_what_may_be_chance(tmp_path):
    page = report(list(example(200)), {"x": recommended(rng=1)}, tmp_path / "page.html").read_text()
    assert "were used for learning" not in page
    assert page.index("<h2>Who is tried first") < page.index("<h2>What if")
    assert ">Meridian</th>" in page
    assert "; not clear" in page
    assert re.search(r"every attempt costs 0\.\d\d EUR more", page)
    assert "about the mean cost of an attempt in the log" in page
    assert "what was played</text>" in page


def test_a_log_a_name_or_an_interval_that_cannot_be_is_refused():
    for name in ("the log itself", "what was played"):
        with pytest.raises(InvalidInput, match="policies must have names other than"):
            evaluate(logged(chance(), 5), {name: chance()})
    with pytest.raises(InvalidInput, match="interval must be 'bootstrap' or 'betting'"):
        evaluate(logged(chance(), 5), {}, interval="normal")
    with pytest.raises(InvalidInput, match="history must be a path, a pandas or polars frame"):
        History(7)


def test_a_log_in_which_nothing_was_tried_has_a_report(tmp_path):
    rows = [row | {"order": [], "tried": 0, "succeeded": False} for row in logged(chance(), 8)]
    for row in rows:
        row["propensity"], row["prefix_propensities"], row["features"] = 0.5, [], []
    page = report(rows, {"x": chance()}, tmp_path / "page.html").read_text()
    assert "Nothing was tried." in page


def test_less_budget_and_more_expensive_attempts_are_worth_less():
    history = History(logged(chance(), 120))
    changes = {"same": (None, None), "one": (None, 1), "dear": (raise_costs(0.1), None)}
    judged = {"x": greedy([2.0, -1.0, 1.0, 0.0]), "y": chance(temperature=0.5)}
    evidence = gather_all(judged, history, fit(history), changes)
    worth = {change: each.modelled.mean() for change, each in evidence["x"].items()}
    assert max(worth["one"], worth["dear"]) < worth["same"]
    same, *others = judge_changes(evidence, changes)
    assert not same.verdicts["x"].refused
    for verdict in (one.verdicts["y"] for one in (same, *others)):
        assert verdict.low < verdict.high
        assert bool(verdict.refused) == math.isnan(verdict.value)
    assert raise_costs(0.5)(PAYOFFS) == Payoffs([0.35, 0.0, 0.0], [-0.1, -0.75, -1.4, -2.05])


def test_evaluate_prints_a_table_and_writes_a_report_and_reads_the_log_once(tmp_path, monkeypatch):
    passes, rows = [], History._rows
    monkeypatch.setattr(History, "_rows", lambda self: passes.append(1) or rows(self))
    write(tmp_path / "log.parquet", logged(chance(), 60))
    greedy([2.0, -1.0, 1.0, 0.0]).save(tmp_path / "mine.longrank")
    output = call(
        *("evaluate", tmp_path / "log.parquet", "--policy", tmp_path / "mine.longrank"),
        *("--policy", "ind:exploration=0.5,rate=5", "--policy", "rand", "--policy", "recommended"),
        *("--report", tmp_path / "page.html"),
    )
    assert "60 decisions: 30 to learn from, 30 to judge by" in output
    for text in ("mine", "ind:exploration=0.5,rate=5", "recommended", "doubly robust", "effective"):
        assert text in output
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert len(passes) == 1


def test_what_if_treats_missing_outcomes_as_the_verdicts_do(tmp_path):
    rows = logged(chance(), 60)
    for row in rows[::4]:
        row["tried"] = row["succeeded"] = None
    policies = {"x": chance()}
    page = report(rows, policies, tmp_path / "page.html", missing="at random").read_text()
    assert "cannot tell" not in page
    assert "not supported by the log" not in page


def test_logs_check_says_what_can_be_done_or_names_row_and_rule(tmp_path):
    rows = logged(chance(), 30)
    write(tmp_path / "log.csv", [row | {"shop": 3} for row in rows])
    output = call("logs", "check", tmp_path / "log.csv")
    assert "log.csv: 30 decisions" in output
    assert "not part of the format: shop" in output
    assert "importance sampling" in output
    (tmp_path / "b[").mkdir()
    write(tmp_path / "b[" / "c][red].csv", rows)  # no markup
    assert "c][red].csv: 30 decisions" in call("logs", "check", tmp_path / "b[" / "c][red].csv")
    for row in rows[3:]:
        row["tried"] = 9
    write(tmp_path / "log.jsonl", rows)
    output = call("logs", "check", tmp_path / "log.jsonl", "--max-problems", "2", code=1)
    assert "log.jsonl, row 4: tried must be at most" in output
    assert "and 25 more problems" in output
    rule = "fix this first; nothing is learned from a log that breaks a rule"
    assert output.splitlines()[-1].endswith(rule)
    assert "warm start" not in output
    for name, text, told in (
        ("log.jsonl", "{\n", ", row 1: the line must be JSON, got '{' (expecting property"),
        ("log.jsonl", "", ": the log must hold at least one decision, got an empty log"),
        ("log.csv", "", ": the log must hold at least one decision, got an empty log"),
    ):
        (tmp_path / name).write_text(text)
        output = call("logs", "check", tmp_path / name, code=1)
        assert output.startswith(f"{name}{told}")
    assert "prefix_propensities" in call("logs", "columns")


def test_huge_payoffs_are_short_in_the_report_and_in_the_terminal(tmp_path):
    rows = logged(chance(), 60, payoffs=Payoffs([1e12, 7e11, 4e11], [-2e11] * 4))
    log, out = tmp_path / "log.parquet", tmp_path / "page.html"
    write(log, rows)
    text = call("evaluate", log, "--policy", "rand", "--report", out, "--every")
    for shown in (text, out.read_text()):
        assert "e+1" in shown
        assert not re.search(r"\d{14}", shown)


def test_a_narrow_terminal_cuts_no_number_of_the_progress_bar():
    bar = counted()
    task = bar.add_task("a-policy:rate=5,exploration=0.25 is learning", total=1_000_000)
    bar.update(task, completed=10_000)
    printed = io.StringIO()
    Console(file=printed, width=80).print(bar.get_renderable())
    assert "10000/1000000" in printed.getvalue()
    assert max(map(len, printed.getvalue().splitlines())) <= 80


def test_the_report_names_file_period_and_currency_of_the_log(tmp_path):
    file = tmp_path / "payments.jsonl"
    write(file, example(160))
    out = call("evaluate", file, "--policy", "plackett-luce", "--report", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<h1>What would these policies have earned?</h1>" in page
    assert "payments.jsonl: 80 decisions, 2 March 2026</p>" in page
    assert "The first 80 decisions of the log were used for learning" in page
    assert re.search(r"Made on \d+ \w+ 20\d\d by longrank \d", page)
    assert re.search(r"would earn .* EUR (less|more)", out)
    assert re.search(r"would earn .* EUR (less|more)", page)
    for title in ("more per decision than what was played", "earns per decision", "value so far"):
        assert f"{title} (EUR)" in page
    call("evaluate", file, "--currency", "USD", "--report", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "USD" in page
    assert "EUR" not in page


def test_currencies_that_differ_are_not_named():
    rows = [row | {"currency": name} for row, name in zip(example(2), ("EUR", "USD"), strict=True)]
    assert currency_of(History(rows)) == ""
    assert currency_of(History(rows[1:])) == "USD"
    assert currency_of(History(logged(chance(), 5))) == ""


def test_a_log_without_payoffs_or_items_says_what_is_missing_and_ends_with_exit_code_1(tmp_path):
    file = tmp_path / "log.csv"
    write(file, ({k: v for k, v in r.items() if k not in WORTH} for r in example(6)))
    out = call("evaluate", file, "--policy", "rand", code=1)
    assert "cannot tell what `rand` would earn: 3 of 3 decisions have no payoffs (add" in out
    assert "--payoffs budget=3,attempt_cost=0.05" in out
    call("evaluate", file, "--policy", "rand", "--payoffs", "budget=3,attempt_cost=0.05")
    write(file, ({k: v for k, v in r.items() if k != "items"} for r in logged(chance(), 4)))
    options = ("--policy", "rand", "--report", tmp_path / "page.html")
    assert "2 of 2 decisions have no items" in call("evaluate", file, *options, code=1)
    assert "refused: 2 of 2 decisions have no items" in (tmp_path / "page.html").read_text()


def test_a_policy_that_is_none_is_refused_and_a_misspelled_one_gets_the_nearest_name(tmp_path):
    write(tmp_path / "log.csv", example(4))
    for policy in ("dep", "nothing.longrank", "ind:fast", "recomended"):
        arguments = ["evaluate", str(tmp_path / "log.csv"), "--policy", policy]
        error = CliRunner().invoke(cli.app, arguments).exception
        assert isinstance(error, InvalidInput)
        assert str(error).startswith("policy must")
    assert str(error).endswith("got 'recomended'; did you mean recommended?")
    with pytest.raises(InvalidInput, match="did you mean thompson"):
        named("tompson")
