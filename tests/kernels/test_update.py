"""The online step, against matrices that are inverted anew."""

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr

from longrank.kernels import observe_cascade
from longrank.kernels.link import LINEAR, LOGISTIC, PROBIT

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
        weights, inverse = np.zeros(d), np.eye(d) / 3.0
        for x in unit(rng, 60, d):
            success = bool(rng.random() < 0.6)
            w, M = step(w, M, x, success, radius, rate, link)
            observe_cascade(weights, inverse, x[None], success, radius, rate, link)
        np.testing.assert_allclose(weights, w, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(inverse, np.linalg.inv(M), rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(inverse, inverse.T)


def test_a_cascade_teaches_the_same_bits_as_its_items_one_by_one():
    for d in (1, 3, 4, 10):
        rng = np.random.default_rng(d)
        one, other = ([np.zeros(d), np.eye(d) / 3.0] for _ in range(2))
        for succeeded in (True, False):
            rows = unit(rng, 20, d)
            observe_cascade(*one, rows, succeeded, 0.5, 5.0, LOGISTIC)
            for i in range(20):
                only = rows[i : i + 1], succeeded and i == 19
                observe_cascade(*other, *only, 0.5, 5.0, LOGISTIC)
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize("success", [True, False])
def test_rows_of_almost_nothing_and_what_was_certain_teach_nothing(success):
    for tiny in (0.0, 5e-324, 1e-170):
        weights, inverse = np.array([0.5, -0.5]), np.eye(2)
        given = np.full((1, 2), tiny), success, 1.0, 4.0, LOGISTIC
        observe_cascade(weights, inverse, *given)
        np.testing.assert_allclose(weights, [0.5, -0.5], rtol=1e-15)
        np.testing.assert_array_equal(inverse, np.eye(2))
    for link in (LOGISTIC, PROBIT):
        weights = np.array([900.0])
        observe_cascade(weights, np.eye(1), np.ones((1, 1)), success, math.inf, 1.0, link)
        assert (weights[0] == 900.0) == success
