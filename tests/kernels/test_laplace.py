"""The Bayesian step of logistic regression."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from longrank.kernels.laplace import foreseen_failure, forget, implicit_residual, laplace_cascade


def sigma(x):
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


@pytest.mark.parametrize("square", [0.0, 1e-9, 0.3, 4.0, 11.0, 1e3, 1e9])
def test_the_residual_solves_its_equation_and_that_of_a_foreseen_failure_is_the_same(square):
    for mean in (-700.0, -40.0, -3.0, 0.0, 0.5, 8.0, 40.0, 700.0):
        for success in (True, False):
            g = implicit_residual(mean, square, success)
            right = (1.0 - sigma(mean + g * square)) if success else -sigma(mean + g * square)
            # its slope in g is up to 1 + square / 4, so that is what a rounded g can miss by
            assert abs(g - right) <= 1e-14 * (1.0 + square / 4.0)
            assert (0.0 <= g <= 1.0) if success else (-1.0 <= g <= 0.0)
        foreseen, kappa = foreseen_failure(mean, square)
        assert foreseen == pytest.approx(g, rel=1e-12, abs=1e-15)
        assert kappa == pytest.approx(-g * (1.0 + g), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("success", [True, False])
def test_one_step_goes_to_the_mode_of_the_posterior(success):
    rng = np.random.default_rng(0)
    weights, root, row = rng.normal(size=3), rng.normal(size=(3, 3)), rng.normal(size=3)
    inverse = root @ root.T + np.eye(3)
    precision = np.linalg.inv(inverse)
    s = 1.0 if success else -1.0

    def loss(w):
        return np.logaddexp(0.0, -s * row @ w) + 0.5 * (w - weights) @ precision @ (w - weights)

    mode = minimize(loss, weights, method="BFGS", options={"gtol": 1e-10}).x
    new, shrunk = weights.copy(), inverse.copy()
    laplace_cascade(new, shrunk, row[np.newaxis], success, 1.0, 0.0)
    np.testing.assert_allclose(new, mode, atol=1e-6)
    p = sigma(row @ new)
    expected = np.linalg.inv(precision + p * (1.0 - p) * np.outer(row, row))
    np.testing.assert_allclose(shrunk, expected, rtol=1e-9, atol=1e-12)
    assert np.array_equal(shrunk, shrunk.T)


def test_forgetting_mixes_the_covariance_with_the_prior():
    inverse = np.array([[0.5, 0.1], [0.1, 0.2]])
    mixed = inverse.copy()
    forget(mixed, 0.25, 0.1)
    np.testing.assert_allclose(mixed, 0.9 * inverse + 0.1 * 4.0 * np.eye(2))
    weights, whole = np.zeros(2), inverse.copy()
    laplace_cascade(weights, whole, np.zeros((1, 2)), False, 0.25, 0.1)
    np.testing.assert_allclose(whole, mixed)
