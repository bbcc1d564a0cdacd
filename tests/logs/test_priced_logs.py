"""Logs whose candidates have costs and values of their own."""

import numpy as np
import pytest
from small_world import FORMS, FREE, PRICED, ROUTES, TWO, call, chance, logged, payments

from longrank import (
    Blocks,
    InvalidInput,
    Outcome,
    Payoffs,
    PlackettLuce,
    Random,
    Schema,
    recommended,
)
from longrank.logs import History, check, evaluate, fit, learn_from, record, report, write
from longrank.logs.evaluation.details import by_position, raise_costs
from longrank.logs.evaluation.evidence import gather_all
from longrank.logs.evaluation.target import choose


@pytest.mark.parametrize("form", FORMS)
def test_prices_and_bills_are_read_from_every_form(form, tmp_path):
    rows = logged(chance(), 6, payoffs=PRICED)
    for row in rows:
        row["outcome_costs"] = [0.25] * row["tried"]
    read = list(History(FORMS[form](rows, tmp_path)).decisions())
    assert [one.payoffs for one in read] == [PRICED] * 6
    assert [one.outcome.costs for one in read] == [(0.25,) * row["tried"] for row in rows]
    for one in read:
        free = PRICED.priced(np.zeros(5), PRICED.success_values).along(one.order)
        plain = free.reward(Outcome(one.outcome.tried, one.outcome.succeeded))
        assert one.reward == pytest.approx(plain - 0.25 * one.outcome.tried)


def test_a_declared_field_is_a_feature_and_no_price():
    _, rows = payments(2)
    schema = Schema({"cost": "number", "value": "number"})
    one, other = (next(History(rows, schema=each).decisions()) for each in (schema, None))
    assert not one.payoffs.has_prices
    assert other.payoffs.has_prices
    candidates, payoffs, _ = other.offer(recommended(schema=schema))
    assert (candidates, payoffs) == (ROUTES, TWO)  # what such a policy is given online
    half = recommended(schema=Schema({"cost": "number"}))
    candidates, payoffs, _ = other.offer(half)
    assert candidates[1] == {"id": "stripe", "region": "us", "cost": 0.05}
    assert payoffs == TWO.priced(None, [0.0, 0.5, 0.0])


def test_a_policy_is_asked_as_it_was_online():
    policy, rows = payments(60)
    learned = recommended()
    assert learn_from(learned, rows) == 60
    for decision in History(rows[-5:]).decisions():
        candidates, payoffs, given = decision.offer(learned)
        asked = learned.propose(candidates, payoffs, **given, probe=False)
        assert asked == learned.propose(ROUTES, TWO, context=decision.context, probe=False)
        online = policy.choices(ROUTES, TWO, decision.order, context=decision.context)
        offline = choose(policy, [decision], 0, [0]).choices[0]
        np.testing.assert_allclose(offline, online, rtol=1e-12)


def test_real_costs_are_passed_on_to_learning_without_those_left_out():
    _, rows = payments(30, real=True)
    row = next(row for row in rows if row["tried"] == 2)
    ((_, outcome),) = History([row])
    assert outcome.costs == tuple(row["outcome_costs"])
    ((ranking, outcome),) = History([row | {"not_attributable": [1]}])
    assert outcome == Outcome(1, row["succeeded"], (row["outcome_costs"][1],))
    assert ranking.order.tolist() == [row["order"][1]]


def test_other_payoffs_and_budgets_keep_prices_and_bills():
    row = {"id": 1, "items": np.eye(3).tolist(), "order": [2, 0], "tried": 2, "succeeded": True}
    row |= {"costs": [0.1, 0.2, 0.3], "outcome_costs": [0.5, 0.25]}
    history = History([row], payoffs=TWO)
    [short] = history.under(budget=1).decisions()
    assert short.outcome == Outcome(1, False, (0.5,))
    assert short.reward == pytest.approx(TWO.losses[1] - 0.5)
    [other] = history.under(Payoffs.vanilla(2)).decisions()
    assert other.payoffs == Payoffs.vanilla(2).priced([0.1, 0.2, 0.3])
    assert other.reward == pytest.approx(1.0 - 0.75)


def test_dearer_attempts_cost_more_even_where_a_success_earns_its_value_only():
    payoffs = Payoffs([0.0, 0.0], [0.0] * 3).priced([0.1, 0.0], [1.0, 2.0])
    along, dearer = payoffs.along([1, 0]), raise_costs(0.2)(payoffs).along([1, 0])
    np.testing.assert_allclose(along.rewards - dearer.rewards, [0.2, 0.4])
    np.testing.assert_allclose(along.losses - dearer.losses, [0.0, 0.2, 0.4])


@pytest.mark.parametrize("real", [False, True])
def test_a_log_of_records_with_prices_earned_what_receipts_say(real):
    _, rows = payments(80, real=real)
    read = list(History([{**row, "expected": None} for row in rows]).decisions())
    assert read[0].payoffs.costs.tolist() == [0.2, 0.05, 0.0]
    assert read[0].payoffs.success_values.tolist() == [0.0, 0.5, 0.0]
    assert [one.reward for one in read] == pytest.approx([row["expected"] for row in rows])
    found = evaluate(rows, {"random": Random(rng=0), "mine": recommended()}, resamples=20)
    logs = {one.estimator: one for one in found if one.policy == "the log itself"}
    earned = np.mean([row["expected"] for row in rows])
    assert logs["mean reward"].value == pytest.approx(earned)
    noted = [one for one in found if any("as planned" in note for note in one.notes)]
    planned = {"mean reward", "bounds", "model"} if real else set()
    assert {one.estimator for one in noted} == planned


def test_bills_that_are_missing_count_as_those_of_the_others():
    row = {"candidates": ["a", "b"], "order": [0], "tried": 1, "succeeded": False}
    rows = [row | {"id": i} | ({"outcome_costs": [0.5]} if i else {}) for i in range(11)]
    history = History(rows, payoffs=Payoffs([1.0], [0.0, 0.0]))
    found = evaluate(history, {"random": Random(rng=0)}, resamples=20)
    assert found[0].value == pytest.approx(-0.5)
    assert "1 decisions do not say what their attempts cost" in found[0].notes[0]


def test_the_mean_of_all_attempts_counts_as_one_more_of_a_candidate():
    row = {"candidates": ["a", "b", "c"], "tried": 1, "succeeded": False}
    told = [row | {"id": i, "order": [i // 3], "outcome_costs": [1.0 - i // 3]} for i in range(4)]
    history = History(told, payoffs=Payoffs([1.0], [0.0, 0.0]))
    expected = fit(history).costs.expect(next(iter(history.decisions())))
    assert expected == pytest.approx([3.75 / 4.0, 0.75 / 2.0, 0.75])


def test_the_report_and_what_if_are_in_money(tmp_path):
    _, rows = payments(40)
    history, policies = History(rows), {"mine": recommended()}
    positions = by_position(history)
    spent = sum(one.paid(one.payoffs)[: one.outcome.tried].sum() for one in history.decisions())
    assert positions.spent.sum() == pytest.approx(spent)
    assert positions.costs[0] == pytest.approx(positions.spent[0] / positions.tried[0])
    page = report(history, policies, tmp_path / "page.html").read_text()
    assert "Values are net of costs: the candidates have prices in 40 of 40" in page
    assert "mean cost" in page
    assert "per success" in page
    changes = {"as it is": (None, None), "dearer": (raise_costs(0.3), None)}
    evidence = gather_all(policies, history, fit(history), changes)
    same, dearer = evidence["mine"].values()
    assert dearer.modelled.mean() < same.modelled.mean()


def test_the_command_line_reads_prices_under_names_of_its_own(tmp_path):
    rows = [
        {"payment": t, "routes": ["a", "b"], "fees": [0.1, 0.3], "worth": [0.0, 1.0]}
        | {"tried": ["b", "a"][: 1 + t % 2], "paid": True, "bill": [0.2] * (1 + t % 2)}
        for t in range(12)
    ]
    write(tmp_path / "log.jsonl", rows)
    names = "id=payment,candidates=routes,succeeded=paid,costs=fees,success_values=worth"
    options = ["--columns", f"{names},outcome_costs=bill", "--payoffs", "budget=2,attempt_cost=0.0"]
    output = call("logs", "check", tmp_path / "log.jsonl", *options)
    assert "the candidates have prices in 12 of 12 decisions" in " ".join(output.split())
    policy = ("--policy", "recommended")
    assert "bounds" in call("evaluate", tmp_path / "log.jsonl", *policy, *options)


def test_a_log_that_prices_none_of_its_candidates_is_read_as_before():
    rows = logged(chance(), 3, payoffs=FREE)
    assert not any(name in row for row in rows for name in ("costs", "outcome_costs"))
    assert all(one.payoffs == FREE for one in History(rows).decisions())
    rows[0]["values"] = [0.1, 0.2]  # as the service's export calls what each length was worth
    assert check(rows).ignored == ("values",)
    with pytest.raises(InvalidInput, match="columns must have keys among"):
        History(rows, columns={"values": "worth"})


def test_a_policy_is_told_the_patience_that_it_was_told_online():
    payoffs, records = Payoffs.linear(2, attempt_cost=0.01).patient(0.3), [{"id": n} for n in "abc"]
    policy, rows = PlackettLuce(Blocks(), temperature=0.2, rng=1), []
    for t in range(30):
        ranking = policy.rank(records, payoffs)
        known = policy.propensities(records, payoffs, ranking.order)
        outcome = Outcome(len(ranking), False)
        told = {"candidates": records, "propensities": known}
        rows.append(record(t, ranking, outcome, payoffs, **told))
    assert {row["patience"] for row in rows} == {0.3}
    for decision in History(rows).decisions():
        items, told, given = decision.offer(policy)
        assert policy.propensity(items, told, decision.order, **given) == decision.propensity
