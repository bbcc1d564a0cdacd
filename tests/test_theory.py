"""The paper's constants and bounds against formulas written out by hand."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from longrank import PROBIT, Payoffs, theory

E = math.e
GRID = [(1, 2, 10, 0.3, 0.5), (10, 10, 500, 0.05, 1.0), (100, 50, 10**6, 1e-6, 3.0)]
GRID += [(10, 10, 500, 0.05, radius) for radius in (20.0, 35.0, 40.0, 100.0, 170.0)]


def constants(D):
    """c_sigma and c_sigma' of the Remark."""
    return 1 / (1 + E**-D), E**-D / (1 + E**-D) ** 2


def alpha(b, d, T, delta, c, c1, D, odds):
    """With odds = c / (1 - c), which keeps its digits for large radii."""
    first = 2 * b * D**2
    inside = 1 + 2 / b * (T * odds + 4 * np.log(4 * (T + 1) / delta))
    second = (c / c1) ** 2 * d * np.log(inside)
    third = 2 * (12 * (c / c1) ** 2 + 36 * (1 + D) / c1) * np.log(2 * b * (T + 4) / delta)
    return first + second + third + 20 * D**2 * np.log(2 * b * d * (T + 1) / delta)


@pytest.mark.parametrize("D", [0.1, 1.0, 3.0, 10.0])
def test_the_constants_bound_a_link_and_its_slope(D):
    scores = np.linspace(-D, D, 1001)
    sigma = 1 / (1 + np.exp(-scores))
    assert theory.c_sigma(D) == pytest.approx(sigma.max(), rel=1e-13)
    assert theory.c_sigma_prime(D) == pytest.approx((sigma * (1 - sigma)).min(), rel=1e-11)
    assert (theory.c_sigma(D), theory.c_sigma_prime(D)) == pytest.approx(constants(D), rel=1e-13)
    assert theory.c_sigma(D, PROBIT) == pytest.approx(norm.cdf(D), rel=1e-13)
    assert theory.c_sigma_prime(D, PROBIT) == pytest.approx(norm.pdf(D), rel=1e-13)


@pytest.mark.parametrize(("b", "d", "T", "delta", "D"), GRID)
def test_alpha_and_the_bound_of_theorem_1_are_as_printed(b, d, T, delta, D):
    printed = alpha(b, d, T, delta, *constants(D), D, odds=E**D)
    assert theory.exploration(b, d, T, delta, D) == pytest.approx(printed, rel=1e-12)
    if D < 10.0:
        probit = alpha(b, d, T, delta, norm.cdf(D), norm.pdf(D), D, norm.cdf(D) / norm.sf(D))
        assert theory.exploration(b, d, T, delta, D, PROBIT) == pytest.approx(probit, rel=1e-10)
    for z in (1.0, 0.25):
        bound = 4 * z * math.sqrt(E * E**D * T * printed) * d * math.log(1 + T)
        assert theory.regret_bound(b, d, T, delta, D, slope=z) == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize(
    ("least", "d", "T", "D"),
    [(1, 1, 10, 0.2), (5, 10, 1000, 1.0), (5000, 40, 100_000, 3.0), (5000, 40, 10, 0.2)],
)
def test_the_b_of_the_remark_is_the_best_of_all(least, d, T, D):
    c, c1 = constants(D)
    b = np.arange(least, 2_000_000)
    bound = b * D**2 + (c / c1) ** 2 * d * np.log(1 + (T * E**D + math.log(T / 0.05)) / b)
    assert theory.remark_budget(least, d, T, 0.05, D) == b[np.argmin(bound)]


def printed_gamma(s, r, ell, u, D, z=1.0):
    """gamma(s) and the two inequalities, from the Lemma."""
    c, c1 = constants(D)
    r_1, r_s, l_s = r[0], r[s - 1], ell[s]
    share = max(1 / s, 1 - (s - 1) / 2 * c)
    gamma = share * (1 - 1 / E) * c1 * (r_s - l_s) / (z * (r_1 - l_s))
    small = np.sqrt(len(u)) * (z - (1 - 1 / E) * c1) / (6 * (z**2 - (1 - 1 / E) * c1**2))
    mild = s * (r_s - l_s) * share * (1 - (1 - 1 / E) * c1 / z) + 3 * l_s * (1 - gamma)
    return gamma, np.abs(u).sum() <= small, mild >= 0


@pytest.mark.parametrize(
    ("payoffs", "s", "D", "z"),
    [
        (Payoffs.vanilla(5), 2, 0.5, 1.0),
        (Payoffs.vanilla(5), 5, 1.0, 0.25),
        (Payoffs.exponential(5), 3, 1.0, 0.25),
        (Payoffs.exponential(5), 5, 2.0, 1.0),
        (Payoffs.linear(5, attempt_cost=0.05), 2, 2.0, 0.25),
        (Payoffs.linear(5, attempt_cost=0.05), 5, 0.5, 1.0),
    ],
)
def test_gamma_and_its_conditions_are_those_of_the_lemma(payoffs, s, D, z):
    u = np.random.default_rng(s).normal(0.0, 0.2, 6)
    gamma, small, mild = printed_gamma(s, payoffs.rewards, payoffs.losses, u, D, z)
    found = theory.approximation_ratio(s, payoffs, u, D, slope=z)
    assert found.ratio == pytest.approx(gamma, rel=1e-12)
    assert 0 < found.ratio < 1
    assert (found.weights_non_negative, found.weights_small, found.payoffs_mild) == (
        (u >= 0).all(),
        small,
        mild,
    )
    assert found.holds == ((u >= 0).all() and small and mild)


GENTLE = np.full(4, 0.05)


@pytest.mark.parametrize(
    ("payoffs", "weights", "fails"),
    [
        (Payoffs.vanilla(3), GENTLE, None),
        (Payoffs([1.0] * 3, [-0.2] * 4), GENTLE, None),
        (Payoffs.vanilla(3), np.array([0.1, 0.0, -0.1, 0.0]), "weights_non_negative"),
        (Payoffs.vanilla(3), 10 * GENTLE, "weights_small"),
        (Payoffs.exponential(3), GENTLE, "payoffs_mild"),
    ],
)
def test_each_condition_of_gamma_can_fail_alone(payoffs, weights, fails):
    found = theory.approximation_ratio(3, payoffs, weights)
    for condition in ("weights_non_negative", "weights_small", "payoffs_mild"):
        assert getattr(found, condition) == (condition != fails)
    assert found.holds == (fails is None)


def test_gamma_is_1_of_at_most_one_item_and_that_of_equal_rewards_where_payoffs_are_all_zero():
    for s in (0, 1):
        found = theory.approximation_ratio(s, Payoffs.exponential(3), [-9.0, 9.0])
        assert (found.ratio, found.holds) == (1.0, True)
    nothing = Payoffs([0.0, 0.0], [0.0, 0.0, 0.0])
    even = theory.approximation_ratio(2, Payoffs.vanilla(2), GENTLE)
    assert theory.approximation_ratio(2, nothing, GENTLE).ratio == even.ratio
