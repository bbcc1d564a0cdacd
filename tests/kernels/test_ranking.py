"""Scoring and choosing, against numpy."""

import math

import numpy as np
import pytest

from longrank.kernels import coverage_along, greedy_coverage, greedy_plain, score_rows, worst_row
from longrank.kernels.ranking import _score_row, top

SHAPES = [(1, 1), (1, 5), (7, 1), (12, 4), (128, 2), (300, 3)]


def belief(rng, d):
    """Weights and a symmetric positive definite inverse."""
    factor = rng.normal(size=(d, d))
    return rng.normal(size=d), factor @ factor.T + 0.1 * np.eye(d)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_worst_row_has_the_largest_norm_or_is_the_first_that_is_not_finite(dtype):
    for shape in SHAPES:
        items = np.random.default_rng(1).normal(size=shape).astype(dtype)
        squares = np.square(items.astype(float)).sum(axis=1)
        row, square = worst_row(items)
        assert row == squares.argmax()
        assert square == pytest.approx(squares.max(), rel=1e-14)
    assert worst_row(np.ones((3, 2), dtype)) == (0, 2.0)
    for shape in ((0, 3), (2, 0), (4, 2)):
        assert worst_row(np.zeros(shape, dtype)) == (0, 0.0)
    assert worst_row(np.array([[1e30]], dtype))[1] == pytest.approx(1e60, rel=1e-6)
    for bad in (math.nan, math.inf, -math.inf):
        items = np.ones((5, 3), dtype)
        items[2, 1] = items[4, 0] = bad
        row, square = worst_row(items)
        assert row == 2
        assert not square < math.inf


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_means_and_widths_are_those_of_the_formula(dtype):
    for shape in [*SHAPES, (0, 3)]:
        rng = np.random.default_rng(2)
        rows = rng.normal(size=shape).astype(dtype)
        weights, inverse = belief(rng, shape[1])
        found = score_rows(rows, weights, inverse)
        wide = rows.astype(float)
        np.testing.assert_allclose(found[0], wide @ weights, rtol=1e-12, atol=1e-13)
        squares = np.einsum("ki,ij,kj->k", wide, inverse, wide)
        np.testing.assert_allclose(found[1], np.sqrt(squares), rtol=1e-12)
    for tiny in (0.0, 5e-324, 1e-200):
        means, widths = score_rows(np.full((1, 3), tiny), np.ones(3), np.eye(3))
        assert (means[0], widths[0]) == (3.0 * tiny, 0.0)
    below_zero = np.array([[-1e-20]])  # by rounding
    assert score_rows(np.ones((1, 1)), np.ones(1), below_zero)[1][0] == 0.0


SCORES = {
    "random": np.random.default_rng(3).normal(size=80),
    "tied": np.random.default_rng(4).integers(0, 3, 80).astype(float),
    "all equal": np.zeros(17),
    "signed zeros": np.array([0.0, -0.0, 0.0, -0.0, 1.0, -0.0]),
    "infinite": np.array([-np.inf, 1.0, np.inf, -np.inf, np.inf, 0.0]),
    "rising": np.arange(80.0),
    "falling": -np.arange(80.0),
    "one": np.array([2.0]),
    "none": np.empty(0),
}


@pytest.mark.parametrize("name", SCORES)
def test_the_top_is_a_stable_sort_at_every_count(name):
    scores = SCORES[name]
    expected = np.argsort(-scores, kind="stable")
    for count in range(len(scores) + 1):
        np.testing.assert_array_equal(top(scores, count), expected[:count])


@pytest.mark.parametrize("known", ["all", "some", "nothing"])
def test_one_row_and_many_rows_are_scored_alike_to_the_last_bit(known):
    for shape in SHAPES:
        rng = np.random.default_rng(15)
        weights, inverse = belief(rng, shape[1])
        if known != "all":
            inverse[1:, 0] = inverse[0, 1:] = 0.0  # zeros may be skipped
        if known == "nothing":
            inverse = np.diag(np.diag(inverse))
        rows = rng.normal(size=shape)
        means, sizes = score_rows(rows, weights, inverse)
        one_by_one = [_score_row(row, weights, inverse, np.empty(shape[1])) for row in rows]
        assert list(zip(means, sizes, strict=True)) == one_by_one


@pytest.mark.parametrize("ceiling", [math.inf, 0.5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_greedy_without_a_prefix_is_sorting(dtype, ceiling):
    for bonus in (0.0, 0.7):
        for shape in [*SHAPES, (0, 2)]:
            rng = np.random.default_rng(5)
            items = rng.normal(size=shape).astype(dtype)
            weights, inverse = belief(rng, shape[1])
            means, sizes = score_rows(items, weights, inverse)
            scores = np.minimum(means + bonus * sizes, ceiling)
            for count in {0, shape[0] // 2, shape[0]}:
                best = np.argsort(-scores, kind="stable")[:count]
                order, rows, found_means, found_scores = greedy_plain(
                    items, weights, inverse, bonus, ceiling, count
                )
                np.testing.assert_array_equal(order, best)
                np.testing.assert_array_equal(rows, items[best])
                np.testing.assert_array_equal(found_means, means[best])
                np.testing.assert_array_equal(found_scores, scores[best])
                assert rows.dtype == np.float64


TOPICS = {
    "random": np.random.default_rng(6).random((9, 4)),
    "tied": np.random.default_rng(7).integers(0, 2, (9, 3)) / 2.0,
    "zeros and ones": np.random.default_rng(8).integers(0, 2, (8, 3)).astype(float),
    "all the same": np.full((5, 2), 0.25),
    "nothing covered": np.zeros((4, 3)),
    "subnormal": np.full((3, 2), 5e-324),
    "one item": np.array([[0.3, 0.6]]),
    "one topic": np.random.default_rng(9).random((6, 1)),
    "none": np.empty((0, 3)),
}


def assert_greedy(topics, weights, inverse, bonus, ceiling):
    """As if every item were scored at every position; a shorter sequence begins the longer one."""
    k, d = topics.shape
    given = topics, weights, inverse, bonus, ceiling
    order, rows, means, scores = greedy_coverage(*given, k)
    remaining, free = np.ones(d), np.ones(k, bool)
    for i in range(k):
        candidates = (2.0 * topics * remaining - 1.0) * (1.0 / math.sqrt(d))
        mean, width = score_rows(candidates, weights, inverse)
        score = np.where(free, np.minimum(mean + bonus * width, ceiling), -math.inf)
        best = int(np.argmax(score))
        assert (order[i], means[i], scores[i]) == (best, mean[best], score[best])
        np.testing.assert_array_equal(rows[i], candidates[best])
        free[best] = False
        remaining *= 1.0 - topics[best]
    np.testing.assert_array_equal(coverage_along(topics, order), rows)
    assert coverage_along(topics, order[:0]).shape == (0, d)
    for count in {0, k // 2, k}:
        for long, short in zip((order, rows), greedy_coverage(*given, count), strict=False):
            np.testing.assert_array_equal(long[:count], short)


@pytest.mark.parametrize("ceiling", [math.inf, 0.5, -200.0])
def test_greedy_takes_the_best_item_given_those_above_it(ceiling):
    for topics in TOPICS.values():
        weights, inverse = belief(np.random.default_rng(10), topics.shape[1])
        for bonus in (0.0, 0.7):
            assert_greedy(topics, weights, inverse, bonus, ceiling)
    for spread in (1e-9, 1.0, 1e9):
        for scale in (1e-12, 1.0, 1e4, 1e12):
            rng = np.random.default_rng(14)
            topics = rng.random((25, 6)) * rng.choice([0.0, 0.01, 0.5, 1.0], (25, 6))
            topics[20:] = topics[:5]  # ties
            weights, inverse = belief(rng, 6)
            assert_greedy(topics, scale * weights, spread * inverse, 0.7, ceiling)
