"""The curves, against the C library, scipy, and decimal arithmetic where scipy is not exact."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.special import expit, ndtr

from longrank.kernels.link import (
    LINEAR,
    LOGISTIC,
    PROBIT,
    densities,
    exponential,
    logarithm,
    normal_distribution,
    probabilities,
    probability,
    residual,
    slope,
)

LINKS = (LOGISTIC, PROBIT, LINEAR)
SPECIAL = (0.0, -0.0, 5e-324, -5e-324, 1e-300, 0.5, 1.0, -1.0, 36.0, -36.0, 700.0, -700.0)


def ulps(found: float, true: float) -> float:
    return abs(found - true) / math.ulp(true)


def test_exponential_and_logarithm_are_within_two_units_in_the_last_place():
    numbers = [n * math.log(2.0) / 2.0 for n in range(-2149, 2048)]
    ranges = (-745.1, 709.78), (-1.0, 1.0), (-1e-9, 1e-9), (-745.13, -708.0), (709.0, 709.782712893)
    for low, high in ranges:
        numbers += [low, high, *np.random.default_rng(1).uniform(low, high, 4000).tolist()]
    assert max(ulps(exponential(x), math.exp(x)) for x in numbers) <= 2.0
    numbers = [math.exp(0.5 * x) for x in numbers] + [math.sqrt(0.5), 5e-324, 1e300]
    assert max(ulps(logarithm(x), math.log(x)) for x in numbers if x != 1.0) <= 1.0
    assert logarithm(1.0) == 0.0


def test_exponential_and_normal_distribution_are_exact_at_their_ends():
    with np.errstate(over="ignore"):
        assert [exponential(x) for x in (0.0, -0.0, 5e-324)] == [1.0] * 3
        assert {exponential(x) for x in (709.7828, 710.0, 1e308, math.inf)} == {math.inf}
        assert {exponential(x) for x in (-745.2, -746.0, -1e308, -math.inf)} == {0.0}
    assert normal_distribution(0.0) == pytest.approx(0.5, rel=1e-15)
    assert {normal_distribution(x) for x in (9.0, 1e300, math.inf)} == {1.0}
    assert {normal_distribution(x) for x in (-1e300, -math.inf)} == {0.0}
    assert math.isnan(exponential(math.nan))
    assert math.isnan(normal_distribution(math.nan))


def tail(x: float) -> float:
    """Phi(-x) by Laplace's continued fraction, in decimal: scipy loses three digits out there."""
    with localcontext() as context:
        context.prec = 40
        number = fraction = Decimal(x)
        for k in range(200, 0, -1):
            fraction = number + k / fraction
        two_pi = Decimal("6.283185307179586476925286766559005768394")
        return float((-number * number / 2).exp() / two_pi.sqrt() / fraction)


def test_normal_distribution_has_thirteen_digits_and_fourteen_in_its_tail():
    numbers = np.linspace(-13.0, 40.0, 5001)
    found = [normal_distribution(x) for x in numbers.tolist()]
    np.testing.assert_allclose(found, ndtr(numbers), rtol=1e-13, atol=0.0)
    for x in [5.0, 36.9999999999, 37.0, *np.random.default_rng(2).uniform(5.0, 37.5, 100).tolist()]:
        assert normal_distribution(-x) == pytest.approx(tail(x), rel=1e-14, abs=0.0)


REFERENCE = {LOGISTIC: expit, PROBIT: ndtr, LINEAR: lambda x: np.clip(x, 0.0, 1.0)}
SLOPES = {
    LOGISTIC: lambda x: expit(x) * expit(-x),
    PROBIT: lambda x: np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi),
    LINEAR: np.ones_like,
}


@pytest.mark.parametrize("link", LINKS)
def test_probabilities_and_slopes_agree_with_scipy(link):
    scores = np.array([*SPECIAL, *np.random.default_rng(3).uniform(-12.0, 12.0, 2000)])
    found, slopes = probabilities(link, scores), densities(link, scores)
    np.testing.assert_allclose(found, REFERENCE[link](scores), rtol=1e-13, atol=1e-200)
    assert found.tolist() == [probability(link, x) for x in scores.tolist()]
    np.testing.assert_allclose(slopes, SLOPES[link](scores), rtol=1e-13, atol=1e-200)
    assert slopes.tolist() == [slope(link, x) for x in scores.tolist()]
    if link != LINEAR:
        np.testing.assert_allclose(found + probabilities(link, -scores), 1.0, atol=3e-16)
    for function in (probabilities, densities):
        assert function(link, np.empty(0)).shape == (0,)


@pytest.mark.parametrize("link", LINKS)
def test_saturated_scores_are_certain_and_have_no_slope(link):
    with np.errstate(over="ignore"):
        for score in (800.0, 1e154, 1e308, math.inf):
            assert probabilities(link, np.array([score, -score])).tolist() == [1.0, 0.0]
        for score in (1e4, -1e4, math.inf) if link != LINEAR else ():
            assert slope(link, score) == 0.0


def test_a_residual_keeps_its_digits_where_one_minus_sigma_cancels_and_a_linear_one_is_not_cut():
    for link in (LOGISTIC, PROBIT):
        for score in (0.0, 1.0, -3.0, 12.0, 30.0, -30.0):
            expected = float(REFERENCE[link](-score))
            assert residual(link, score, True) == pytest.approx(expected, rel=3e-13, abs=0.0)
            assert residual(link, -score, False) == -residual(link, score, True)
    for score in (-3.0, 0.0, 0.25, 1.0, 7.0):
        assert residual(LINEAR, score, True) == 1.0 - score
        assert residual(LINEAR, score, False) == -score
