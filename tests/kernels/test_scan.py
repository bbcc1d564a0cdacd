"""The pass over very many items, and who can still win after it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from longrank import kernels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (40, 64)])
def test_a_scan_gives_means_and_squares_and_the_worst_row(dtype, shape):
    rng = np.random.default_rng(0)
    items, weights = rng.normal(size=shape).astype(dtype), rng.normal(size=shape[1])
    means, squares = np.empty(shape[0]), np.empty(shape[0])
    row, square = kernels.scan_rows(items, weights, means, squares)
    exact = items.astype(np.float64)
    np.testing.assert_allclose(means, exact @ weights, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(squares, (exact**2).sum(axis=1), rtol=1e-12)
    assert row == np.argmax(squares)
    assert square == squares[row]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_scan_stops_at_the_first_row_that_is_not_finite(bad):
    items = np.ones((6, 3))
    items[2, 1] = items[4, 0] = bad
    row, square = kernels.scan_rows(items, np.ones(3), np.empty(6), np.empty(6))
    assert row == 2
    assert not square < math.inf


@pytest.mark.parametrize("size", [1, 7, 8192, 20_000])
@pytest.mark.parametrize("count", [1, 3, 10_000])
@pytest.mark.parametrize("low", [0.0, 0.7])
def test_sure_scores_are_the_largest_lower_bounds(size, count, low):
    rng = np.random.default_rng(size)
    means, squares = rng.normal(size=size), rng.random(size)
    found = kernels.sure_scores(means, squares, low, count)
    expected = np.sort(means + low * np.sqrt(squares))[::-1][:count]
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("high", [0.0, 0.5])
@pytest.mark.parametrize("bar", [-10.0, 0.3, 10.0])
def test_contenders_are_all_that_can_reach_the_bar(high, bar):
    rng = np.random.default_rng(3)
    means, squares = rng.normal(size=500), rng.random(500)
    found = kernels.contenders(means, squares, high, bar)
    assert np.array_equal(found, np.flatnonzero(means + high * np.sqrt(squares) >= bar))
