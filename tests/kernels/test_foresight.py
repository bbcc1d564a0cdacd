"""Foreseeing failures against the plain way: let a copy of the belief fail, and look again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import block_diag

from longrank import UCB, Blocks, InvalidInput, Laplace, Payoffs, Records
from longrank.kernels import greedy_plain
from longrank.kernels.foresight import foresee
from longrank.learners import from_state


def belief(seed: int, dim: int, updates: int) -> Laplace:
    rng = np.random.default_rng(seed)
    learner = Laplace(dim, penalty=0.5)
    for _ in range(updates):
        row = rng.normal(size=dim)
        learner.update(row / np.linalg.norm(row), bool(rng.random() < 0.4))
    return learner


def plainly(items, learner, bonus, count, foresight):
    """At each position the best of what is left, then a failure of it, on a copy."""
    imagined = from_state(learner.saved())
    left, order, means, scores = list(range(len(items))), [], [], []
    for position in range(count):
        found = greedy_plain(items[left], imagined.weights, imagined.inverse, bonus, np.inf, 1)
        means.append(found[2][0])
        scores.append(found[3][0])
        order.append(left.pop(found[0][0]))
        if position < foresight:
            imagined.observe(items[order[-1:]], False)
    return order, means, scores


def foreseeing(items, learner, bonus, count, foresight):
    k, (means, widths) = len(items), learner.score(items)
    exact, none = np.ones(k, np.bool_), np.zeros(k)
    pool = items.T.copy(), means, widths * widths, exact, np.full(k, bonus), none, none
    return foresee(pool, learner.inverse, count, foresight)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 12), st.integers(0, 30))
def test_it_is_what_a_copy_that_fails_would_choose(seed, dim, k, updates):
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(k, dim))
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    learner, count = belief(seed, dim, updates), int(rng.integers(0, k + 1))
    for foresight in (0, int(rng.integers(1, 6))):
        order, rows, means, scores = foreseeing(items, learner, 0.6, count, foresight)
        expected = plainly(items, learner, 0.6, count, foresight)
        np.testing.assert_allclose(scores, expected[2], atol=1e-9)
        np.testing.assert_allclose(means, expected[1], atol=1e-7)
        assert len(set(order.tolist())) == count
        assert np.array_equal(rows, items[order])


def test_the_second_try_is_not_the_twin_of_the_first():
    items = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.9]])
    learner = Laplace(2)
    learner.update([1.0, 0.0], True)
    learner.update([0.0, 1.0], True)
    orders = {
        foresight: foreseeing(items, learner, 0.6, 3, foresight)[0].tolist() for foresight in (0, 2)
    }
    assert orders == {0: [0, 1, 2], 2: [0, 2, 1]}


def test_it_stops_where_a_failure_says_that_the_next_try_would_not_pay():
    items = np.tile([1.0, 0.0], (5, 1))
    payoffs = Payoffs.linear(2, attempt_cost=0.45)
    lengths = []
    for foresight in (0, 5):
        features = Records(dim=2)
        policy = UCB(Blocks(), features=features, exploration=0.0, foresight=foresight)
        lengths.append(len(policy.rank(items, payoffs)))
    assert lengths[0] > lengths[1] == 1


def test_very_many_items_are_checked_too():
    items = np.zeros((2**16, 1), np.float32)
    items[7], items[9] = 0.5, np.nan
    policy = UCB(Blocks(), features=Records(dim=1), exploration=0.2, foresight=2)
    with pytest.raises(InvalidInput, match="items must be finite"):
        policy.rank(items, Payoffs.vanilla(2))
    items[9] = 0.0
    assert policy.rank(items, Payoffs.vanilla(2)).order[0] == 7


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 9))
def test_the_sparse_part_counts_as_a_column_of_each_items_own(seed, dim, k):
    rng, learner = np.random.default_rng(seed), belief(seed, dim, 10)
    items, own, spread = rng.normal(size=(k, dim)), rng.normal(size=k), rng.random(k)
    means, widths = learner.score(items)
    pool = items.T.copy(), means + own, widths**2, np.ones(k, np.bool_), np.full(k, 0.6)
    found = foresee((*pool, spread, 0.36 * spread), learner.inverse, k, 3)
    whole = Laplace(dim + k)
    whole.weights[:] = np.append(learner.weights, own)
    whole.inverse[:] = block_diag(learner.inverse, np.diag(spread))
    expected = foreseeing(np.hstack([items, np.eye(k)]), whole, 0.6, k, 3)
    assert found[0].tolist() == expected[0].tolist()
    np.testing.assert_allclose(found[2:], expected[2:], atol=1e-9)
