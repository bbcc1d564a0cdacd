"""Links: logistic, probit, and the linear one of the ridge learner."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, ndtr

from longrank import LOGISTIC, PROBIT, InvalidInput, Link
from longrank.links import LINEAR, LINKS, sigmoid

SCORES = np.linspace(-9.0, 9.0, 181)


@pytest.mark.parametrize(
    ("link", "curve"),
    [(LOGISTIC, expit), (PROBIT, ndtr), (LINEAR, lambda x: np.clip(x, 0.0, 1.0))],
)
def test_a_link_is_its_curve(link, curve):
    np.testing.assert_allclose(link.probability(SCORES), curve(SCORES), rtol=1e-13)


@pytest.mark.parametrize("link", [LOGISTIC, PROBIT])
def test_the_slope_is_the_derivative(link):
    step = 1e-5
    difference = link.probability(SCORES + step) - link.probability(SCORES - step)
    np.testing.assert_allclose(link.slope(SCORES), difference / (2.0 * step), atol=1e-10)


@pytest.mark.parametrize("link", LINKS.values())
@pytest.mark.parametrize("scores", [0.5, [0.5], np.float32(0.5), np.full((2, 6), 0.5)[:, ::2]])
def test_a_link_takes_numbers_of_any_shape_and_keeps_it(link, scores):
    assert set(link.probability(scores).ravel()) == set(link.probability([0.5]))
    assert link.probability(scores).shape == link.slope(scores).shape == np.shape(scores)


@pytest.mark.parametrize(
    ("value", "link"),
    [("logistic", LOGISTIC), ("probit", PROBIT), (LOGISTIC, LOGISTIC), (PROBIT, PROBIT)],
)
def test_a_link_is_given_by_itself_or_by_name(value, link):
    assert sigmoid("link", value) is link


@pytest.mark.parametrize("value", ["linear", LINEAR, "cauchit", "", None, 0])
def test_what_is_no_sigmoid_is_refused(value):
    with pytest.raises(InvalidInput, match=r"^link must be 'logistic' or 'probit', got "):
        sigmoid("link", value)


def test_a_link_cannot_be_changed():
    with pytest.raises(AttributeError):
        LOGISTIC.code = 1
    assert Link("logistic", 0) == LOGISTIC
