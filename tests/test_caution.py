"""Lower confidence bounds: optimism with the sign turned."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank import (
    LCB,
    UCB,
    Blocks,
    Laplace,
    Outcome,
    Payoffs,
    Records,
    cautious,
    named,
    recommended,
    unit_rows,
)
from longrank.policies import from_bytes

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
    widths = np.sqrt(np.einsum("ij,jk,ik->i", items, learner.inverse, items))
    chances = 1.0 / (1.0 + np.exp(-(items @ learner.weights - caution * widths)))
    ranking = policy.rank(items, COSTLY)
    assert ranking.value == pytest.approx(COSTLY.best_sequence(chances).value)
    assert ranking.value == pytest.approx(COSTLY.values(chances[ranking.order])[-1])
    assert np.all(ranking.probabilities <= ranking.estimates + 1e-12)


@pytest.mark.parametrize("records", [False, True])
def test_it_prefers_what_is_known_to_be_good_to_what_succeeded_by_luck(records):
    candidates = ["lucky", "proven"] if records else np.eye(2)
    vanilla, chosen = Payoffs.vanilla(1), []
    for caution in (1.0, 0.0):
        policy = cautious(caution=caution) if records else LCB(Laplace(2), caution=caution)
        for _ in range(2):
            policy.learn(policy.receipt(candidates, vanilla, [0]), Outcome(1, True))
        for t in range(200):
            policy.learn(policy.receipt(candidates, vanilla, [1]), Outcome(1, t % 10 > 3))
        chosen.append(policy.rank(candidates, vanilla).order.tolist())
    assert chosen == [[1], [0]]


def test_a_cost_that_is_not_known_is_feared():
    items, vanilla, values = np.eye(2), Payoffs.vanilla(1), []
    for settings in ({}, {"caution": 0.0}):
        policy = named("cautious", dim=2, **settings)
        for _ in range(30):
            policy.learn(policy.receipt(items, vanilla, [0]), Outcome(1, True, (0.2,)))
        ranking = policy.rank(items, vanilla)
        values.append((ranking.value, -ranking.costs[0]))
    assert np.less(*values).all()


def test_it_is_saved_and_explained_and_set_anew_and_greedy_without_caution():
    policy = cautious(caution=0.8)
    policy.learn(policy.receipt(["a", "b"], COSTLY, [0]), Outcome(1, True))
    again = from_bytes(policy.to_bytes())
    assert isinstance(again, LCB)
    assert (again.caution, again.bonus) == (0.8, -0.8)
    assert again.to_bytes() == policy.to_bytes()
    again.caution = 0.0
    assert again.bonus == 0.0
    assert "a" in str(policy.rank(["a", "b"], COSTLY).explain())
    assert (recommended().online, policy.online, again.online) == (True, False, False)
    for foresight in (0, 3):
        features, other = Records(dim=3), Records(dim=3)
        lower = LCB(Blocks(), features=features, caution=0.0, foresight=foresight)
        greedy = UCB(Blocks(), features=other, exploration=0.0, foresight=foresight)
        for seed in range(20):
            items = unit_rows(np.random.default_rng(seed).normal(size=(6, 3)))
            assert lower.rank(items, COSTLY) == greedy.rank(items, COSTLY)
            for policy in (lower, greedy):
                policy.learn(policy.receipt(items, COSTLY, [0, 1]), Outcome(2, seed % 3 > 0))
