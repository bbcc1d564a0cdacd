"""Lower confidence bounds: optimism with the sign turned."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank import (
    LCB,
    UCB,
    Laplace,
    OnlineNewton,
    Outcome,
    Payoffs,
    SparseLaplace,
    cautious,
    named,
    recommended,
    unit_rows,
)
from longrank.planning import scores_of
from longrank.planning.contenders import LARGE, find_best
from longrank.policies import load

COSTLY = Payoffs.linear(3, attempt_cost=0.1)


def taught(learner: Laplace, seed: int, rounds: int = 60) -> Laplace:
    rng = np.random.default_rng(seed)
    rows = unit_rows(rng.normal(size=(rounds, learner.dim)) * np.arange(1, learner.dim + 1) ** 2)
    for row in rows:
        learner.observe(row[None], bool(rng.random() < 0.6))
    return learner


@given(st.integers(0, 10_000), st.floats(0.0, 3.0))
def test_the_best_plan_by_lower_bounds_is_played(seed, caution):
    policy = LCB(taught(Laplace(3), seed % 7), caution=caution)
    items = unit_rows(np.random.default_rng(seed).normal(size=(4, 3)))
    learner = policy.learner
    means = items @ learner.weights
    widths = np.sqrt(np.einsum("ij,jk,ik->i", items, learner.inverse, items))
    chances = 1.0 / (1.0 + np.exp(-(means - caution * widths)))

    def value(order):
        total, going = 0.0, 1.0
        for i, item in enumerate(order):
            total += going * chances[item] * COSTLY.rewards[i]
            going *= 1.0 - chances[item]
        return total + going * COSTLY.losses[len(order)]

    ranking = policy.rank(items, COSTLY)
    best = max(value(order) for n in range(4) for order in permutations(range(4), n))
    assert ranking.value == pytest.approx(best)
    assert value(ranking.order.tolist()) == pytest.approx(best)
    assert np.all(ranking.probabilities <= ranking.estimates + 1e-12)


@pytest.mark.parametrize("foresight", [0, 3])
def test_without_caution_it_is_greedy(foresight):
    lower = LCB(taught(Laplace(3), 1), caution=0.0, foresight=foresight)
    greedy = UCB(taught(Laplace(3), 1), exploration=0.0, foresight=foresight)
    for seed in range(20):
        items = unit_rows(np.random.default_rng(seed).normal(size=(6, 3)))
        assert lower.rank(items, COSTLY) == greedy.rank(items, COSTLY)


def test_it_prefers_what_is_known_to_be_good_to_what_succeeded_by_luck():
    policies = LCB(Laplace(2), caution=1.0), LCB(Laplace(2), caution=0.0)
    lucky, proven = [1.0, 0.0], [0.0, 1.0]
    vanilla = Payoffs.vanilla(1)
    for policy in policies:
        for _ in range(2):
            policy.learn(policy.receipt([lucky, proven], vanilla, [0]), Outcome(1, True))
        for t in range(200):
            outcome = Outcome(1, t % 10 > 3)
            policy.learn(policy.receipt([lucky, proven], vanilla, [1]), outcome)
    chosen = [policy.rank([lucky, proven], vanilla).order.tolist() for policy in policies]
    assert chosen == [[1], [0]]


def test_records_likewise():
    cautiously, greedily = cautious(caution=1.0), cautious(caution=0.0)
    vanilla = Payoffs.vanilla(1)
    for policy in (cautiously, greedily):
        for _ in range(2):
            policy.learn(policy.receipt(["lucky", "proven"], vanilla, [0]), Outcome(1, True))
        for t in range(200):
            receipt = policy.receipt(["lucky", "proven"], vanilla, [1])
            policy.learn(receipt, Outcome(1, t % 10 > 3))
    assert cautiously.rank(["lucky", "proven"], vanilla).ids == ["proven"]
    assert greedily.rank(["lucky", "proven"], vanilla).ids == ["lucky"]


def test_a_cost_that_is_not_known_is_feared():
    policy = cautious(dim=2)
    items = np.eye(2)
    vanilla = Payoffs.vanilla(1)
    for _ in range(30):
        receipt = policy.receipt(items, vanilla, [0])
        policy.learn(receipt, Outcome(1, True, (0.2,)))
    feared = policy.rank(items, vanilla)
    bold = named("cautious", dim=2, caution=0.0)
    for _ in range(30):
        bold.learn(bold.receipt(items, vanilla, [0]), Outcome(1, True, (0.2,)))
    assert feared.value < bold.rank(items, vanilla).value


@pytest.mark.parametrize("bonus", [-2.0, -0.3, 0.5])
def test_very_many_candidates_are_narrowed_without_a_mistake(bonus):
    learner = OnlineNewton(4, max_budget=3)
    rng = np.random.default_rng(5)
    for row in unit_rows(rng.normal(size=(80, 4)) * [4.0, 1.0, 1.0, 0.1]):
        learner.observe(row[None], bool(rng.random() < 0.5))
    items = unit_rows(rng.normal(size=(60_000, 4)))
    items, belief = np.tile(items, (2, 1)), learner.belief()
    assert items.size >= LARGE
    scores = scores_of(*belief.score(items), bonus, belief.ceiling)
    order = find_best(items, belief, bonus, 5)[0]
    assert order.tolist() == np.argsort(-scores, kind="stable")[:5].tolist()


def test_it_is_saved_and_explained_and_set_anew(tmp_path):
    policy = cautious(caution=0.8)
    policy.learn(policy.receipt(["a", "b"], COSTLY, [0]), Outcome(1, True))
    policy.save(tmp_path / "cautious.longrank")
    again = load(tmp_path / "cautious.longrank")
    assert isinstance(again, LCB)
    assert (again.caution, again.bonus) == (0.8, -0.8)
    assert again.to_bytes() == policy.to_bytes()
    again.caution = 0.0
    assert again.bonus == 0.0
    assert "a" in str(policy.rank(["a", "b"], COSTLY).explain())


def test_only_the_one_for_logs_says_that_it_is_not_to_learn_from_its_own_play():
    assert not cautious().online
    assert not LCB(SparseLaplace(), caution=1.0).online
    assert recommended().online
