"""Links: logistic, probit, and the linear one of the ridge learner."""

import math

import numpy as np
import pytest

from longrank import LOGISTIC, PROBIT, Link
from longrank.kernels.link import densities, probabilities
from longrank.links import LINEAR, LINKS, sigmoid


@pytest.mark.parametrize("link", LINKS.values())
@pytest.mark.parametrize("scores", [0.5, [0.5], np.float32(0.5), np.full((2, 3), 0.5)])
def test_a_link_takes_numbers_of_any_shape_and_keeps_it(link, scores):
    assert set(link.probability(scores).ravel()) == set(link.probability([0.5]))
    assert link.probability(scores).shape == link.slope(scores).shape == np.shape(scores)


@pytest.mark.parametrize("link", LINKS.values())
def test_a_link_is_its_kernel_for_any_array(link):
    scores = np.linspace(-9.0, 9.0, 181)
    frozen = scores.copy()
    frozen.flags.writeable = False
    for version in (scores[::2], frozen[::2], scores[::2].tolist()):
        expected = probabilities(link.code, scores)[::2]
        np.testing.assert_array_equal(link.probability(version), expected)
        np.testing.assert_array_equal(link.slope(version), densities(link.code, scores)[::2])
    assert link.ceiling == (1.0 if link is LINEAR else math.inf)


@pytest.mark.parametrize(
    ("value", "link"),
    [("logistic", LOGISTIC), ("probit", PROBIT), (LOGISTIC, LOGISTIC), (PROBIT, PROBIT)],
)
def test_a_link_is_given_by_itself_or_by_name(value, link):
    assert sigmoid("link", value) is link


def test_a_link_cannot_be_changed():
    with pytest.raises(AttributeError):
        LOGISTIC.code = 1
    assert Link("logistic", 0) == LOGISTIC
