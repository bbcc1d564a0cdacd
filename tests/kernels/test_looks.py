"""Exact scores for the few that can be chosen give the choice that all exact scores give."""

import numpy as np
import pytest

from longrank import LCB, Outcome, Payoffs, recommended
from longrank.kernels.foresight import foresee
from longrank.kernels.looks import choose_looking, count_contenders, no_sparse
from longrank.kernels.screening import screen_looking
from longrank.kernels.tabular import expand_columns, expand_rows
from longrank.planning import contenders
from longrank.policies.ucb import _look

PAYOFFS = Payoffs.exponential(5)


def learned(seed: int = 0, rounds: int = 40):
    """A policy whose features have settled, for four numbers and a route."""
    rng = np.random.default_rng(seed)
    policy = recommended(dim=6, rng=seed)
    for _ in range(rounds):
        items = candidates(rng, 30)
        ranking = policy.rank(items, PAYOFFS)
        wins = items[ranking.order, 0] > 0.5
        tried = int(np.argmax(wins)) + 1 if wins.any() else len(ranking)
        policy.learn(ranking, Outcome(tried, bool(wins.any())))
    assert policy.features.numbers.settled
    return policy


def candidates(rng, count):
    items = rng.normal(size=(count, 6))
    items[:, 4] = rng.integers(0, 5, count)
    items[:, 5] = rng.random(count) < 0.1
    return items


def numbers(policy, items):
    """What becomes the dense block of some candidates."""
    return policy.features.encode(items).numbers


def optimism(policy, bonus=None, wide=1.5):
    marks = numbers(policy, np.empty((0, policy.features.dim))).marks
    return policy.bonus if bonus is None else bonus, wide, marks, policy.learner.prior


@pytest.fixture(scope="module")
def policy():
    return learned()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("foresight", [0, 2, 5])
@pytest.mark.parametrize("bonus", [0.5, -0.5])
def test_lazy_widths_choose_what_all_exact_widths_choose(policy, bonus, foresight, sparse):
    rng = np.random.default_rng(1)
    weights, inverse = policy.learner.weights, policy.learner.inverse
    for _ in range(20):
        prepared = numbers(policy, candidates(rng, 60))
        columns, none = expand_columns(prepared.items, prepared.view), np.zeros(60, np.bool_)
        settings, more = optimism(policy, bonus, 3.0), no_sparse(60, bonus)
        if sparse:
            more = rng.normal(size=60), rng.random(60), rng.random(60), bonus * rng.random(60)
        found = choose_looking(columns, weights, inverse, none, settings, more, 5, foresight)
        squares = np.einsum("ji,jk,ki->i", columns, inverse, columns)
        exact, (means, others, added, bonuses) = np.ones(60, np.bool_), more
        pool = columns, means + weights @ columns, squares, exact, bonuses, others, added
        all_exact = foresee(pool, inverse, 5, foresight)
        assert np.array_equal(found[0], all_exact[0])
        for one, other in zip(found[1:], all_exact[1:], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_of_many_the_best_by_exact_scores_are_foreseen(policy):
    rng = np.random.default_rng(5)
    weights, inverse = policy.learner.weights, policy.learner.inverse
    for bonus in (0.0, 0.2, 2.0, -0.5):
        prepared = numbers(policy, candidates(rng, 400))
        columns, none = prepared.rows.T.copy(), np.zeros(400, np.bool_)
        settings = optimism(policy, bonus, 3.0)
        more = no_sparse(400, bonus)
        found = choose_looking(columns, weights, inverse, none, settings, more, 5, 5)
        means, squares = weights @ columns, np.einsum("ji,jk,ki->i", columns, inverse, columns)
        best = np.sort(np.argsort(-means - bonus * np.sqrt(squares))[: count_contenders(5)])
        given = np.ascontiguousarray(columns[:, best]), means[best], squares[best]
        _, nothing, _, bonuses = no_sparse(len(best), bonus)
        pool = *given, np.ones(len(best), np.bool_), bonuses, nothing, nothing
        expected = foresee(pool, inverse, 5, 5)
        assert np.array_equal(found[0], best[expected[0]])
        np.testing.assert_allclose(found[3], expected[3], rtol=1e-9, atol=1e-9)


def assert_all_would_be_chosen_alike(policy, items, payoffs):
    """A proposal is what comes of choosing among all, none of them screened out."""
    ranking = policy.propose(items, payoffs, rng=3, probe=False)
    columns = numbers(policy, items).rows.T.copy()
    size, belief = len(items), (policy.learner.weights, policy.learner.inverse)
    looks = _look(np.random.default_rng(3), size) & (policy.rng is not None)
    settings, more = optimism(policy), no_sparse(size, policy.bonus)
    order, rows, *_ = choose_looking(
        columns, *belief, looks, settings, more, payoffs.budget, policy.foresight
    )
    assert len(ranking)
    assert np.array_equal(ranking.order, order[: len(ranking)])
    assert ranking.features.tobytes() == rows[: len(ranking)].tobytes()


@pytest.mark.parametrize("tied", [200, 4_096])
def test_screening_many_candidates_changes_nothing(policy, monkeypatch, tied):
    monkeypatch.setattr(contenders, "PART", 700)  # several parts
    monkeypatch.setattr(contenders, "TIED", tied)  # with 200, as if bounds left too many
    items = candidates(np.random.default_rng(2), 3_000).astype(np.float32)
    assert_all_would_be_chosen_alike(policy, items, PAYOFFS)
    cautious = LCB(policy.learner, features=policy.features, caution=0.5, foresight=3)
    assert_all_would_be_chosen_alike(cautious, items, PAYOFFS)


@pytest.mark.parametrize("size", [0.05, 5.0])  # with products that matter little, and much
def test_screening_wide_candidates_changes_nothing(monkeypatch, size):
    monkeypatch.setattr(contenders, "PART", 3_000)
    rng = np.random.default_rng(7)
    policy, payoffs = recommended(dim=20, rng=0), Payoffs.exponential(4)
    for _ in range(20):
        ranking = policy.rank(rng.normal(size=(40, 20)), payoffs)
        policy.learn(ranking, Outcome(min(1, len(ranking)), False))
    assert policy.features.numbers.settled
    weights = policy.learner.weights
    weights[:] = rng.normal(size=len(weights))
    weights[policy.features.dim + 1 :] *= size
    items = rng.normal(size=(7_000, 20)).astype(np.float32)
    assert_all_would_be_chosen_alike(policy, items, payoffs)


def test_screening_keeps_few_of_many(policy):
    rng = np.random.default_rng(4)
    prepared = numbers(policy, candidates(rng, 5_000))
    few = count_contenders(5)
    best, some, bounds = screen_looking(
        prepared.items,
        prepared.view,
        policy.learner.weights,
        np.arange(5_000) % 1_000 == 7,
        optimism(policy),
        few,
    )
    means = prepared.rows @ policy.learner.weights
    np.testing.assert_allclose(np.sort(best), np.sort(means)[-few:])
    assert few <= (bounds >= best[0]).sum() < 2_000
    assert np.array_equal(some[np.isinf(bounds)], [7, 1_007, 2_007, 3_007, 4_007])
    assert np.isin(np.argsort(means)[-few:], some).all()


def test_rows_and_columns_are_the_same_numbers_whatever_stands_beside_them(policy):
    prepared = numbers(policy, candidates(np.random.default_rng(6), 450))
    columns = expand_columns(prepared.items, prepared.view)
    assert expand_rows(prepared.items, prepared.view).tobytes() == columns.T.tobytes()
    alone = expand_columns(prepared.items[7:8], prepared.view)
    assert alone.tobytes() == columns[:, 7:8].tobytes()
