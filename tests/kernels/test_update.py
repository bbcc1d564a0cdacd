"""The online step, against matrices that are inverted anew."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr

from longrank.kernels import observe_cascade, observe_row
from longrank.kernels.link import LINEAR, LOGISTIC, PROBIT
from longrank.kernels.update import shrink, times_row

CURVES = {LOGISTIC: expit, PROBIT: ndtr, LINEAR: lambda m: m}


def step(w, M, x, success, radius, rate, link):
    """Step 5 of Algorithm 1, word for word."""
    m = w @ x
    if abs(m) > radius:
        Mx = np.linalg.solve(M, x)
        w = w - (m - np.sign(m) * radius) / (x @ Mx) * Mx
        m = np.sign(m) * radius
    M = M + np.outer(x, x)
    surprise = float(success) - CURVES[link](m)
    return w + rate * np.linalg.solve(M, x) * surprise, M


def unit(rng, n, d):
    rows = rng.normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("link", CURVES)
@pytest.mark.parametrize(("radius", "rate"), [(1.0, 5.0), (0.05, 1.0), (math.inf, 1.0)])
def test_many_steps_agree_with_the_pseudo_code(radius, rate, link):
    for d in (1, 2, 6):
        rng = np.random.default_rng(1)
        w, M = np.zeros(d), 3.0 * np.eye(d)
        weights, inverse, scratch = np.zeros(d), np.eye(d) / 3.0, np.empty(d)
        for x in unit(rng, 60, d):
            success = bool(rng.random() < 0.6)
            w, M = step(w, M, x, success, radius, rate, link)
            observe_row(weights, inverse, x, success, radius, rate, link, scratch)
        np.testing.assert_allclose(weights, w, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(inverse, np.linalg.inv(M), rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(inverse, inverse.T)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_score_beyond_the_radius_is_projected_onto_it(sign):
    rng = np.random.default_rng(2)
    x, scratch = unit(rng, 1, 3)[0], np.empty(3)
    weights, inverse = sign * 40.0 * x, np.eye(3)
    expected, _ = step(weights, np.eye(3), x, False, 1.0, 1e-9, LOGISTIC)
    observe_row(weights, inverse, x, False, 1.0, 1e-9, LOGISTIC, scratch)
    assert weights @ x == pytest.approx(sign, abs=1e-8)
    np.testing.assert_allclose(weights, expected, rtol=1e-12)


def test_rows_of_almost_nothing_teach_nothing():
    for success in (True, False):
        for tiny in (0.0, 5e-324, 1e-170):
            weights, inverse = np.array([0.5, -0.5]), np.eye(2)
            observe_row(
                weights, inverse, np.full(2, tiny), success, 1.0, 4.0, LOGISTIC, np.empty(2)
            )
            np.testing.assert_allclose(weights, [0.5, -0.5], rtol=1e-15)
            np.testing.assert_array_equal(inverse, np.eye(2))


@pytest.mark.parametrize("link", [LOGISTIC, PROBIT])
@pytest.mark.parametrize("success", [True, False])
def test_a_saturated_score_moves_only_when_it_is_wrong(link, success):
    weights, before = np.array([900.0]), np.array([900.0])
    observe_row(weights, np.eye(1), np.ones(1), success, math.inf, 1.0, link, np.empty(1))
    assert (weights == before).all() == success


@pytest.mark.parametrize("frozen", [True, False])
def test_a_cascade_is_failures_and_perhaps_a_last_success(frozen):
    for succeeded in (True, False):
        for n in (0, 1, 5):
            rows = unit(np.random.default_rng(3), n, 4)
            rows.flags.writeable = not frozen
            one, other = ([np.zeros(4), np.eye(4) / 2.0] for _ in range(2))
            observe_cascade(*one, rows, succeeded, 1.0, 5.0, LOGISTIC)
            for i, row in enumerate(rows):
                success = succeeded and i == n - 1
                observe_row(*other, row, success, 1.0, 5.0, LOGISTIC, np.empty(4))
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("d", [1, 4])
def test_the_product_with_a_row_is_that_of_numpy(d):
    rng = np.random.default_rng(4)
    factor, row, direction = rng.normal(size=(d, d)), rng.normal(size=d), np.empty(d)
    inverse = factor @ factor.T
    square = times_row(inverse, row, direction)
    np.testing.assert_allclose(direction, inverse @ row, rtol=1e-12, atol=1e-13)
    assert square == pytest.approx(row @ inverse @ row, rel=1e-12)


@pytest.mark.parametrize("d", [1, 4])
def test_shrinking_subtracts_an_outer_product(d):
    rng = np.random.default_rng(5)
    factor, direction = rng.normal(size=(d, d)), rng.normal(size=d)
    inverse = (factor + factor.T) / 2.0
    expected = inverse - 0.3 * np.outer(direction, direction)
    shrink(inverse, direction, 0.3)
    np.testing.assert_allclose(inverse, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(inverse, inverse.T)
