"""What every policy must do."""

from __future__ import annotations

import json

import numpy as np
import pytest

from longrank import UCB, EpsilonGreedy, Outcome, Payoffs, Ranking
from longrank.policies import from_bytes

ITEMS = np.eye(4)[[1, 0, 3, 2, 1]] * 0.9


def own_features(policy):
    """The features, where they hold a function and must be given again when loading."""
    features = getattr(policy, "features", None)
    kept = features is None or features.state().get("topics_kind") != "function"
    return None if kept else features


def revived(policy):
    return from_bytes(policy.to_bytes(), features=own_features(policy))


# -- ranking --------------------------------------------------------------------------------------


def test_a_ranking_holds_distinct_items_within_the_budget(policy, rank):
    for ranking, _ in rank(policy, range(12)):
        order = ranking.order.tolist()
        assert len(set(order)) == len(order) <= len(ranking.values) - 1 <= 5
        assert ranking.features.shape[0] == len(ranking.estimates) == len(order)
        assert len(ranking.probabilities) == len(order)


def test_values_are_those_of_the_probabilities(believer):
    payoffs = Payoffs.exponential(5)
    ranking = believer.rank(ITEMS, payoffs)
    n = len(ranking)
    np.testing.assert_allclose(ranking.values[: n + 1], payoffs.values(ranking.probabilities))


@pytest.mark.parametrize("items", [[], np.empty((0, 4))])
def test_an_empty_set_gives_an_empty_ranking(policy, items):
    ranking = policy.rank(items, Payoffs.exponential(3))
    before = policy.to_bytes()
    assert (len(ranking), ranking.values.tolist()) == (0, [Payoffs.exponential(3).losses[0]])
    policy.learn(ranking, Outcome(0, False))
    assert policy.to_bytes() == before


@pytest.mark.parametrize("payoffs", [Payoffs.vanilla(0), Payoffs.vanilla(3)])
def test_a_budget_of_nothing_gives_an_empty_ranking(policy, payoffs):
    assert len(policy.rank(ITEMS, payoffs, 0)) == 0


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_set_smaller_than_the_budget_is_used_whole_where_tries_are_free(policy, k):
    ranking = policy.rank(ITEMS[:k], Payoffs.vanilla(5))
    assert sorted(ranking.order.tolist()) == list(range(k))


def test_a_try_that_cannot_pay_is_not_made(believer):
    costly = Payoffs([0.0] * 3, [0.0, -1.0, -2.0, -3.0])
    if isinstance(believer, EpsilonGreedy):
        believer.epsilon = 0.0  # random rounds use the whole budget
    assert len(believer.rank(ITEMS, costly)) == 0


def test_drawing_the_chances_of_coming_rounds_draws_what_ranking_them_draws(make_policy):
    ranked, drawn = make_policy(), make_policy()
    sizes = [3, 0, 5, 1, 4]
    for size in sizes:
        ranked.rank(ITEMS[:size], Payoffs.vanilla(5))
    at_random, keys = drawn.chance(sizes)
    assert (at_random.shape, keys.shape) == ((5,), (13,))
    assert drawn.to_bytes() == ranked.to_bytes()


# -- learning -------------------------------------------------------------------------------------


def test_nothing_tried_changes_nothing(policy, play, rank):
    play(policy, range(6))
    [(ranking, _)] = rank(policy, [7])
    before = policy.to_bytes()
    policy.learn(ranking, Outcome(0, False))
    assert policy.to_bytes() == before


def test_learning_late_gives_the_same_state(make_policy, rank):
    late, early = make_policy(), make_policy()
    receipts = rank(late, range(12))
    for t, (ranking, outcome) in enumerate(receipts):
        late.learn(ranking, outcome)
        rank(early, [t])  # draws what the other one drew
        early.learn(ranking, outcome)
    assert late.to_bytes() == early.to_bytes()


@pytest.mark.parametrize(
    "carry",
    [
        lambda ranking: Ranking.from_bytes(ranking.to_bytes()),
        lambda ranking: Ranking.from_dict(json.loads(json.dumps(ranking.to_dict()))),
    ],
    ids=["bytes", "json"],
)
def test_learning_from_a_receipt_that_was_stored_gives_the_same_state(policy, rank, carry):
    receipts = rank(policy, range(12))
    again = revived(policy)
    for ranking, outcome in receipts:
        policy.learn(ranking, outcome)
        again.learn(carry(ranking), outcome)
    assert policy.to_bytes() == again.to_bytes()


def test_what_was_not_tried_teaches_nothing(policy):
    again = revived(policy)
    whole = policy.rank(ITEMS, Payoffs.vanilla(5))
    data = whole.to_dict()
    for name in ("order", "probabilities", "estimates", "features"):
        data[name] = data[name][:2]
    part = Ranking.from_dict(data)
    again.rank(ITEMS, Payoffs.vanilla(5))  # draws what the other one drew
    policy.learn(whole, Outcome(2, False))
    again.learn(part, Outcome(2, False))
    assert policy.to_bytes() == again.to_bytes()


def test_what_always_succeeds_is_learned(student):
    rng = np.random.default_rng(3)
    for t in range(80):
        items = np.eye(4)[rng.permutation([0, 1, 2, 3, 1, 2])]
        if t == 60 and isinstance(student, EpsilonGreedy):
            student.epsilon = 0.0
        elif t == 60 and isinstance(student, UCB):
            student.exploration = 0.0
        ranking = student.rank(items, Payoffs.vanilla(2))
        wins = np.flatnonzero(items[ranking.order, 0])
        student.learn(ranking, Outcome(int(wins[0]) + 1, True) if wins.size else Outcome(2, False))
        assert t < 60 or wins.tolist() == [0]


def test_every_try_counts_as_an_update(student, rank):
    tried = 0
    for ranking, outcome in rank(student, range(12)):
        student.learn(ranking, outcome)
        tried += outcome.tried
        assert student.learner.updates == tried
    assert tried > 5
