"""The warm fit, against cold ones by scipy."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from longrank.kernels import fit_likelihood, grow_and_fit
from longrank.kernels.link import LOGISTIC, PROBIT

LINKS = (LOGISTIC, PROBIT)
PENALTIES = (1e-7, 1e-3, 1.0, 1e3)


def density(m):
    return np.exp(-0.5 * m * m) / math.sqrt(2.0 * math.pi)


# The curve, its integral, and its slope.
CURVES = {
    LOGISTIC: (expit, lambda m: np.logaddexp(0.0, m), lambda m: expit(m) * expit(-m)),
    PROBIT: (ndtr, lambda m: m * ndtr(m) + density(m), density),
}


def gradient(rows, successes, penalty, link, w):
    m = rows @ w
    sigma = CURVES[link][0]
    return rows.T @ np.where(successes, -sigma(-m), sigma(m)) + penalty * w


def cold_fit(rows, successes, penalty, link):
    """The minimum of the convex function whose gradient is sum (sigma - y) x + penalty w."""
    _, integral, slope = CURVES[link]

    def loss(w):
        m = rows @ w
        return (integral(m) - successes * m).sum() + 0.5 * penalty * w @ w

    def slopes(w):
        return gradient(rows, successes, penalty, link, w)

    def hessian(w):
        return (rows.T * slope(rows @ w)) @ rows + penalty * np.eye(len(w))

    start = np.zeros(rows.shape[1])
    options = {"gtol": 1e-10, "maxiter": 1000}
    w = minimize(loss, start, jac=slopes, hess=hessian, method="trust-exact", options=options).x
    for _ in range(8):  # the loss is flat to rounding long before its gradient is
        w = w - np.linalg.solve(hessian(w), slopes(w))
    return w


def same(weights, penalty):
    """One penalty for all weights."""
    return np.full_like(weights, penalty)


def fresh(d, penalty):
    return np.zeros(d), np.eye(d) / penalty, np.eye(d) / penalty


def history(rng, n, d, kind):
    rows = rng.normal(size=(n, d))
    if kind == "near-parallel":
        rows = rows[:1] + 1e-2 * rows
    elif kind == "badly scaled":
        rows *= 10.0 ** -np.arange(d)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    truth = 2.0 * rng.normal(size=d)
    if kind == "separable":
        return rows, rows @ truth > 0.0
    if kind in ("all failed", "all succeeded"):
        return rows, np.full(n, kind == "all succeeded")
    return rows, rng.random(n) < expit(rows @ truth)


KINDS = ("random", "separable", "all failed", "all succeeded", "near-parallel", "badly scaled")


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_growing_history_is_fitted_like_a_cold_one(kind, link):
    for penalty in PENALTIES:
        rng = np.random.default_rng(1)
        d = int(rng.integers(1, 6))
        rows, successes = history(rng, 30, d, kind)
        weights, inverse, curvature = fresh(d, penalty)
        seen = 0
        while seen < len(rows):
            first, seen = seen, min(len(rows), seen + int(rng.integers(1, 6)))
            past, flags = rows[:seen], successes[:seen]
            given = past, flags, first, same(weights, penalty), link
            grow_and_fit(*given, weights, inverse, curvature)
            expected = cold_fit(past, flags, penalty, link)
            atol = 1e-8 * max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(weights, expected, rtol=0.0, atol=atol)
        outer = penalty * np.eye(d) + rows.T @ rows
        np.testing.assert_allclose(inverse @ outer, np.eye(d), rtol=0.0, atol=1e-6)
        np.testing.assert_array_equal(inverse, inverse.T)


@pytest.mark.parametrize("link", LINKS)
def test_a_surprise_after_a_long_certainty_is_fitted_too(link):
    """Even where a Newton step is a billion times too long."""
    rows, successes = np.ones((15, 1)), np.arange(15) == 14
    for penalty in (1e-9, *PENALTIES):
        expected = pytest.approx(cold_fit(rows, successes, penalty, link), abs=1e-7)
        for steps in ([14, 15], range(1, 16)):
            belief, seen = fresh(1, penalty), 0
            for end in steps:
                past, flags = rows[:end], successes[:end]
                grow_and_fit(past, flags, seen, np.array([penalty]), link, *belief)
                seen = end
            assert belief[0] == expected


@pytest.mark.parametrize("link", LINKS)
def test_no_history_and_rows_of_almost_nothing_teach_nothing(link):
    weights, inverse, curvature = fresh(3, 0.5)
    rows, successes = np.empty((0, 3)), np.empty(0, bool)
    grow_and_fit(rows, successes, 0, same(weights, 0.5), link, weights, inverse, curvature)
    np.testing.assert_array_equal(weights, np.zeros(3))
    np.testing.assert_array_equal(inverse, 2.0 * np.eye(3))
    for tiny in (0.0, 5e-324, 1e-170):
        weights, inverse, curvature = fresh(2, 1.0)
        rows, successes = np.full((3, 2), tiny), np.array([True, False, True])
        grow_and_fit(rows, successes, 0, same(weights, 1.0), link, weights, inverse, curvature)
        np.testing.assert_allclose(weights, 0.0, atol=1e-160)
        np.testing.assert_array_equal(inverse, np.eye(2))


@pytest.mark.parametrize("link", LINKS)
def test_the_fit_does_not_depend_on_where_it_starts_and_takes_two_passes_where_it_is_done(link):
    rows, successes = history(np.random.default_rng(3), 25, 3, "random")
    expected = cold_fit(rows, successes, 0.1, link)
    for start in (-30.0, 0.0, 3.0, 300.0):
        weights, _, curvature = fresh(3, 0.1)
        weights += start
        fit_likelihood(rows, successes, same(weights, 0.1), link, weights, curvature)
        np.testing.assert_allclose(weights, expected, rtol=0.0, atol=1e-8)
        assert fit_likelihood(rows, successes, same(weights, 0.1), link, weights, curvature) <= 2
        np.testing.assert_allclose(weights, expected, rtol=0.0, atol=1e-8)


def test_a_fit_from_far_off_ends_in_time_and_the_next_one_goes_on():
    rows, successes = np.array([[62.5, -25.0], [-87.5, 87.5]]), np.zeros(2, bool)
    weights, _, curvature = fresh(2, 1e-6)
    weights += [70.0, 40.0]
    first = fit_likelihood(rows, successes, same(weights, 1e-6), LOGISTIC, weights, curvature)
    halfway = np.linalg.norm(gradient(rows, successes, 1e-6, LOGISTIC, weights))
    second = fit_likelihood(rows, successes, same(weights, 1e-6), LOGISTIC, weights, curvature)
    assert second < first < 20_000
    end = np.linalg.norm(gradient(rows, successes, 1e-6, LOGISTIC, weights))
    assert end < 1e-12 < halfway


def test_a_constant_that_is_hardly_penalised_is_fitted_by_newton_steps_from_zero():
    rng = np.random.default_rng(8)
    rows = np.column_stack([rng.normal(size=(400, 3)) / 2.0, np.ones(400)])
    successes = rng.random(400) < expit(rows @ [1.0, -2.0, 0.5, -1.0])
    penalties = np.array([1.0, 1.0, 1.0, 1e-6])
    weights = np.zeros(4)
    fit_likelihood(rows, successes, penalties, LOGISTIC, weights, np.diag(1.0 / penalties))
    expected = np.zeros(4)
    for _ in range(50):
        p = expit(rows @ expected)
        hessian = (rows * (p * (1.0 - p))[:, np.newaxis]).T @ rows + np.diag(penalties)
        expected += np.linalg.solve(hessian, rows.T @ (successes - p) - penalties * expected)
    np.testing.assert_allclose(weights, expected, rtol=1e-9)
