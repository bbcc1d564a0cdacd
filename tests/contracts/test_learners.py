"""Every learner keeps the contract of learners."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, ndtr

from every_part import LEARNERS
from longrank import LOGISTIC, PROBIT, Blocks, MaximumLikelihood, OnlineNewton, Ridge
from longrank.learners import from_state
from longrank.packing import pack, unpack
from longrank.testing import LearnerContract, SparseLearnerContract
from longrank.testing.learner_contract import history, sparse, teach


class TestLearners(LearnerContract):
    @pytest.fixture(autouse=True, params=LEARNERS)
    def _each(self, request):
        self.make_learner = LEARNERS[request.param]


class TestBlocks(SparseLearnerContract):
    @pytest.fixture(autouse=True, params=[256, 1 << 18])
    def _each(self, request):
        self.make_learner = lambda: Blocks(columns=request.param, max_budget=9)


class TestBlocksWithNumbers(SparseLearnerContract):
    def rows(self, numbers):
        return replace(sparse(numbers), dense=numbers)

    def make_learner(self):
        return Blocks(penalty=0.3, forgetting=0.01)


def revived(learner):
    return from_state(unpack(pack(learner.saved())))


STEADY = ["newton-logistic", "newton-probit", "newton-tuned", "ridge"]
STEADY += ["likelihood-logistic", "likelihood-probit"]


@pytest.mark.parametrize("make_learner", STEADY, indirect=True)  # for Laplace rows weigh unequally
def test_the_inverse_is_that_of_prior_and_rows(make_learner):
    learner = make_learner()
    M = np.linalg.inv(learner.inverse)
    rows, _ = history(30)
    teach(learner)
    np.testing.assert_allclose(learner.inverse, np.linalg.inv(M + rows.T @ rows), rtol=1e-9)
    np.testing.assert_array_equal(learner.inverse, learner.inverse.T)


@pytest.mark.parametrize("make_learner", [*STEADY, "laplace"], indirect=True)
def test_a_cascade_teaches_what_its_items_teach_one_by_one(make_learner):
    for succeeded in (True, False):  # one that forgets does so by the cascade
        whole, single, (rows, _) = make_learner(), make_learner(), history(4)
        whole.observe(rows, succeeded)
        for i, row in enumerate(rows):
            single.update(row, succeeded and i == 3)
        np.testing.assert_allclose(whole.weights, single.weights, rtol=1e-9, atol=1e-11)
        np.testing.assert_array_equal(whole.inverse, single.inverse)


@pytest.mark.parametrize(("link", "radius"), [(LOGISTIC, 1.0), (LOGISTIC, 3.0), (PROBIT, 1.0)])
def test_the_rate_of_the_theory_is_one_over_the_smallest_slope(link, radius):
    learner = OnlineNewton(2, max_budget=3, radius=radius, link=link)
    assert learner.rate == 1.0 / link.slope(radius)
    learner.rate = 7.0
    assert learner.rate == revived(learner).rate == 7.0
    learner.rate = None
    assert learner.rate == 1.0 / link.slope(radius)


def test_ridge_is_ridge_regression():
    rows, successes = history(50)
    expected = np.linalg.solve(np.eye(4) + rows.T @ rows, rows.T @ successes)
    np.testing.assert_allclose(teach(Ridge(4), 50).weights, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("link", "curve", "penalty"),
    [("logistic", expit, 1e-7), ("logistic", expit, 1e3), ("probit", ndtr, 1e-3)],
)
def test_maximum_likelihood_solves_its_equation(link, curve, penalty):
    rows, successes = history(70)
    learner = teach(MaximumLikelihood(4, penalty=penalty, link=link), 70)
    residuals = successes - curve(rows @ learner.weights)
    np.testing.assert_allclose(rows.T @ residuals, penalty * learner.weights, rtol=0, atol=1e-9)
