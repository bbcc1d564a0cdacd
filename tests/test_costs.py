"""Costs that are known only afterwards: learned from outcomes, planned with, kept."""

import numpy as np
import pytest

from longrank import UCB, InvalidInput, OnlineNewton, Outcome, Payoffs, load, recommended, unit_rows
from longrank.features.plain import LARGE
from longrank.learners import Costs
from longrank.policies import learning

PAYOFFS = Payoffs.linear(2, attempt_cost=0.0)
COSTS, CHANCES = np.array([0.4, 0.05, 0.02]), np.array([0.9, 0.7, 0.05])
NAMES = ["large", "small", "tiny"]


def played(policy, items, unit: float = 1.0, rounds: int = 250):
    """Ask one model after the other; what each answer really cost comes with the outcome."""
    rng = np.random.default_rng(5)
    payoffs = Payoffs.linear(2, success=unit, attempt_cost=0.0)
    for _ in range(rounds):
        ranking = policy.rank(items, payoffs)
        wins = rng.random(3) < CHANCES
        spent = unit * COSTS * rng.exponential(size=3)
        hits = np.flatnonzero(wins[ranking.order])
        tried = int(hits[0]) + 1 if hits.size else len(ranking)
        costs = spent[ranking.order[:tried]].tolist()
        policy.learn(ranking, Outcome(tried, bool(hits.size), costs))
    return policy


@pytest.mark.parametrize(
    ("make", "items"),
    [(recommended, NAMES), (lambda: recommended(dim=3), np.eye(3))],
    ids=["records", "arrays"],
)
def test_costs_are_learned_planned_with_and_saved(make, items, tmp_path):
    policy = played(make(), items)
    assert policy.costs.count == policy.learner.updates  # every try, not every outcome
    proposed = [policy.propose(items, PAYOFFS, rng=seed).order.tolist() for seed in range(20)]
    assert proposed.count([1, 0]) > 10
    assert policy.receipt(items, PAYOFFS, [1, 0]).costs == pytest.approx(COSTS[[1, 0]], rel=0.4)
    policy.save(tmp_path / "policy.longrank")
    again = load(tmp_path / "policy.longrank")
    assert again.to_bytes() == policy.to_bytes()
    assert again.rank(items, PAYOFFS) == policy.rank(items, PAYOFFS)
    viewed, before = policy.view(), policy.to_bytes()
    played(policy, items, rounds=3)
    assert viewed.to_bytes() == before != policy.to_bytes()


def test_units_do_not_matter():
    one, cents = played(recommended(), NAMES), played(recommended(), NAMES, unit=128.0)
    ranking = cents.propose(NAMES, Payoffs.linear(2, success=128.0, attempt_cost=0.0))
    assert ranking.order.tolist() == one.propose(NAMES, PAYOFFS).order.tolist()
    assert ranking.costs == pytest.approx(128.0 * one.propose(NAMES, PAYOFFS).costs)


def test_what_is_not_given_is_expected_for_each_candidate_and_what_is_given_counts():
    policy = played(recommended(), NAMES)
    given = [{"id": name, "cost": 0.3} for name in NAMES]
    assert set(policy.propose(given, PAYOFFS).costs) == {0.3}
    expected = policy.receipt(NAMES, PAYOFFS, [0, 1]).costs
    costs = {"cost": 0.7}, {"value": 0.1}, {"cost": None}
    some = [{"id": name} | each for name, each in zip(NAMES, costs, strict=True)]
    found = policy.receipt(some, PAYOFFS, [0, 1])
    assert found.costs.tolist() == [0.7, expected[1]]
    assert found.success_values.tolist() == [0.0, 0.1]
    ranking = recommended().rank([{"id": "large", "cost": 0.4}], PAYOFFS)
    assert ranking.reward(PAYOFFS, Outcome(1, True)) == pytest.approx(0.6)
    assert ranking.reward(PAYOFFS, Outcome(1, True, [0.1])) == pytest.approx(0.9)  # what it cost
    paid = PAYOFFS.priced([0.4]).along([0])
    assert paid.reward(Outcome(1, False, [0.25])) == pytest.approx(-0.25)


def test_free_tries_and_outliers_leave_the_expectation_sane():
    policy = recommended()
    for cost in (0.0, 0.0, 0.1, 1e12, *[0.1] * 60):
        policy.learn(policy.receipt(["a"], PAYOFFS, [0]), Outcome(1, False, [cost]))
    rows = policy.features.encode(["a"], None).rows
    assert 0.01 < policy.costs.expect(rows, 0.0)[0] < 10.0
    for first in (5e-324, 1e-300, 1e12):  # differences beyond the range of numbers
        costs, row = Costs(1), np.ones((1, 1))
        for cost in (first, 1.0, 1e12, 0.0):
            costs.observe(row, np.array([cost]))
        assert 0.0 <= costs.expect(row, 0.0)[0] <= 1e12


@pytest.mark.parametrize("name", ["recommended", "plain"])
def test_costs_of_very_many_arrays_are_expected_part_by_part(monkeypatch, name):
    rng = np.random.default_rng(5)
    policy = recommended(dim=3)
    if name == "plain":
        policy = UCB(OnlineNewton(dim=3, max_budget=2), exploration=0.1)
    items = unit_rows(rng.normal(size=(300, 3)))
    for _ in range(5):
        ranking = policy.rank(items[:20], Payoffs.vanilla(2))
        policy.learn(ranking, Outcome(1, True, costs=[rng.random()]))
    whole, sizes, expect = policy.propose(items, Payoffs.vanilla(2), rng=1), [], Costs.expect

    def spy(costs, rows, bonus):
        sizes.append(len(rows))
        return expect(costs, rows, bonus)

    monkeypatch.setattr(Costs, "expect", spy)
    monkeypatch.setattr(learning, "_PART", 64)
    assert policy.propose(items, Payoffs.vanilla(2), rng=1) == whole
    assert sizes == [64, 64, 64, 64, 44]
    if name == "plain":  # very many are checked too
        many = np.zeros((LARGE // 3 + 1, 3))
        many[77, 1] = np.nan
        with pytest.raises(InvalidInput, match="items must be finite, got nan"):
            policy.rank(many, Payoffs.vanilla(2))
