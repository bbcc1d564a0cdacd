"""Evidence that is gathered fast equals that of plain Python, decision by decision."""

import copy

import numpy as np
import pytest
from plain_evidence import plain_evidence
from small_world import FREE, JUDGED, PAYOFFS, PRICED, chance, greedy, logged, payments

from longrank import UCB, Blocks, Random, named
from longrank.jobs import Jobs
from longrank.logs import History, fit
from longrank.logs.evaluation.details import raise_costs
from longrank.logs.evaluation.evidence import gather, gather_all


def rows_of(kind):
    """Logs of every kind of payoffs, lengths and outcomes."""
    maker = greedy([0.5, 0.5, 0.5, 0.5]) if kind == "certain" else chance()
    payoffs = {"free": FREE, "priced": PRICED, "billed": FREE}.get(kind, PAYOFFS)
    rows = logged(maker, 60, 3, payoffs, early=0.3 if kind == "early" else 0.0)
    rng = np.random.default_rng(0)
    for i, row in enumerate(rows):
        if kind == "sequence alone":
            del row["prefix_propensities"]
        if kind == "missing" and i % 5 == 4:  # the last one, too
            row["tried"] = row["succeeded"] = None
        if kind == "billed" and i % 4:
            row["outcome_costs"] = (rng.random(row["tried"]) * 0.3).tolist()
        if kind == "budgets":
            row["budget"] = max(len(row["order"]), 1 + i % 3)
    return rows


KINDS = (
    "plain", "free", "priced", "billed", "early", "certain", "sequence alone", "missing", "budgets"
)  # fmt: skip


def assert_equal(found, history, model, policy):
    """Every number of the evidence is that of plain Python."""
    decisions = list(history.decisions(missing=True))
    assert len(found.rewards) == len(decisions)
    for i, decision in enumerate(decisions):
        following = (one for one in decisions[i:] if one.outcome is not None)
        latest = next((one for one in reversed(decisions) if one.outcome is not None), decision)
        known = plain_evidence(policy, decision, model, next(following, latest).id)
        for name, wanted in known.items():
            if name == "modelled" and np.isnan(wanted):
                continue  # of a randomised policy it rests on draws
            got = getattr(found, name)[i]
            if name in ("weights", "deltas", "masses"):
                n = len(decision.order) + 1
                last = 0.0 if name == "deltas" else got[n - 1]
                np.testing.assert_array_equal(got[n:], last)
                short = np.zeros(n)
                short[: len(wanted)] = wanted
                got, wanted = got[:n], short
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12, err_msg=f"{name} {i}")


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_that_of_plain_python(kind):
    history = History(rows_of(kind))
    model = fit(history)
    for make in JUDGED.values():
        assert_equal(gather(make(), history, model), history, model, make())


@pytest.mark.parametrize("change", [(None, 1), (raise_costs(0.2), 2)])
def test_under_a_change_it_is_that_of_the_changed_log(change):
    history, policies = History(rows_of("plain")), {name: make() for name, make in JUDGED.items()}
    model = fit(history)
    for name, changed in gather_all(policies, history, model, {"c": change}).items():
        assert_equal(changed["c"], history.under(*change), model, policies[name])


@pytest.mark.parametrize("real", [False, True])
def test_it_is_where_candidates_are_records(real):
    history = History(payments(80, real=real, fewer=True)[1])
    model = fit(history)
    certain = UCB(Blocks(), exploration=0.1)
    for policy in (Random(rng=0), certain, named("plackett-luce", rng=1)):
        assert_equal(gather(policy, history, model), history, model, policy)


def assert_same(one, other):
    for name in vars(one):
        if name != "log":
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.log == other.log


def test_the_number_of_workers_changes_nothing(monkeypatch):
    monkeypatch.setattr("longrank.logs.history.SIZE", 16)
    more = [row | {"id": f"r{row['id']}", "time": 200} for row in rows_of("plain")]
    history = History(rows_of("missing") + more)
    policies = {name: make() for name, make in JUDGED.items()}
    policies["thompson"] = named("thompson", dim=4, max_budget=3, rng=5)
    changes = {"": (None, None), "dearer": (raise_costs(0.1), None)}
    model = fit(history)
    before = {name: policy.to_bytes() for name, policy in policies.items()}
    alone = gather_all(policies, history, model, changes)
    shared = gather_all(policies, history, model, changes, workers=Jobs(2))
    for name in policies:
        for change in changes:
            assert_same(alone[name][change], shared[name][change])
    assert {name: policy.to_bytes() for name, policy in policies.items()} == before


def test_a_policy_that_learns_is_asked_before_each_decision():
    history, policy = History(rows_of("plain")), named("ind", dim=4, max_budget=3)
    model = fit(history)
    found, learner = gather(policy, history, model, learn=True), copy.deepcopy(policy)
    for i, decision in enumerate(history.decisions()):
        wanted = plain_evidence(copy.deepcopy(learner), decision, model, decision.id)
        assert found.starts[i] == pytest.approx(wanted["starts"], abs=1e-12)
        learner.rank(decision.items, decision.payoffs, decision.budget)
        learner.learn(*decision.observed_by(learner.features))
    assert policy.learner.updates == 0


@pytest.mark.parametrize("kind", ["plain", "missing"])
def test_of_each_third_decision_it_is_that_of_all(kind, monkeypatch):
    monkeypatch.setattr("longrank.logs.history.SIZE", 50)
    history, policies = History(rows_of(kind)), {name: make() for name, make in JUDGED.items()}
    model = fit(history)
    some = gather_all(policies, history, model, draws=1, every=3)
    for name, whole in gather_all(policies, history, model, draws=1).items():
        found, wanted = some[name][""], whole[""].take(np.arange(0, len(whole[""].rewards), 3))
        assert found.log.decisions == int(wanted.observed.sum())
        assert found.log.missing == int((~wanted.observed).sum())
        for column in ("rewards", "weights", "masses", "starts", "modelled", "played"):
            np.testing.assert_array_equal(getattr(found, column), getattr(wanted, column))
