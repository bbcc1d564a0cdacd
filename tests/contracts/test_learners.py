"""What every learner must do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr

from longrank import (
    LOGISTIC,
    PROBIT,
    BadFile,
    InvalidInput,
    MaximumLikelihood,
    OnlineNewton,
    Ridge,
    unit_rows,
)
from longrank.learners import from_state
from longrank.packing import pack, unpack


def history(n, seed=1):
    rng = np.random.default_rng(seed)
    rows = unit_rows(rng.normal(size=(n, 4)))
    return rows, rng.random(n) < expit(2.0 * rows[:, 0])


def taught(learner, n=30, seed=1):
    for row, success in zip(*history(n, seed), strict=True):
        learner.update(row, bool(success))
    return learner


def bits(learner):
    return pack(learner.state())


def revived(learner):
    return from_state(unpack(bits(learner)))


def test_a_fresh_learner_knows_nothing(make_learner):
    learner = make_learner()
    means, widths = learner.score(np.eye(4))
    assert (learner.updates, means.tolist()) == (0, [0.0] * 4)
    assert (widths == widths[0]).all()
    assert widths[0] > 0.0


def test_means_and_widths_are_those_of_weights_and_inverse(make_learner):
    learner, (rows, _) = taught(make_learner()), history(8, seed=2)
    means, widths = learner.score(rows)
    np.testing.assert_allclose(means, rows @ learner.weights, rtol=1e-12, atol=1e-14)
    squares = np.einsum("ki,ij,kj->k", rows, learner.inverse, rows)
    np.testing.assert_allclose(widths, np.sqrt(squares), rtol=1e-12)


STEADY = ["newton-logistic", "newton-probit", "newton-tuned", "ridge"]
STEADY += ["likelihood-logistic", "likelihood-probit"]


@pytest.mark.parametrize("make_learner", STEADY, indirect=True)  # for Laplace rows weigh unequally
def test_the_inverse_is_that_of_prior_and_rows(make_learner):
    learner = make_learner()
    M = np.linalg.inv(learner.inverse)
    rows, _ = history(30)
    taught(learner)
    np.testing.assert_allclose(learner.inverse, np.linalg.inv(M + rows.T @ rows), rtol=1e-9)
    np.testing.assert_array_equal(learner.inverse, learner.inverse.T)


def test_every_observed_item_counts_as_an_update(make_learner):
    learner = make_learner()
    learner.observe(history(3)[0], True)
    learner.observe(np.empty((0, 4)), False)
    learner.update([0.0, 0.0, 0.5, 0.0], False)
    assert learner.updates == 4


def test_widths_shrink_where_something_was_seen(make_learner):
    learner = make_learner()
    before = learner.score(np.eye(4))[1]
    learner.update([1.0, 0.0, 0.0, 0.0], True)
    after = learner.score(np.eye(4))[1]
    assert after[0] < before[0]
    np.testing.assert_array_equal(after[1:], before[1:])


@pytest.mark.parametrize("make_learner", [*STEADY, "laplace"], indirect=True)
@pytest.mark.parametrize("succeeded", [True, False])  # one that forgets does so by the cascade
def test_a_cascade_teaches_what_its_items_teach_one_by_one(make_learner, succeeded):
    one, other, (rows, _) = make_learner(), make_learner(), history(4)
    one.observe(rows, succeeded)
    for i, row in enumerate(rows):
        other.update(row, succeeded and i == 3)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(one.inverse, other.inverse)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 150])
def test_a_learner_comes_back_from_a_file_and_goes_on_bit_for_bit(make_learner, n):
    learner = taught(make_learner(), n)
    again = revived(learner)
    assert (bits(again), repr(again)) == (bits(learner), repr(learner))
    assert bits(taught(again, 80, seed=3)) == bits(taught(learner, 80, seed=3))


def test_a_saved_state_does_not_change_with_the_learner(make_learner):
    learner = taught(make_learner(), 5)
    state = learner.state()
    before = pack(state)
    taught(learner, 5)
    assert pack(state) == before


def test_what_always_succeeds_is_learned(make_learner):
    learner = make_learner()
    for row in np.tile(np.eye(4), (30, 1)):
        learner.update(row, bool(row[0]))
    probabilities = learner.link.probability(learner.score(np.eye(4))[0])
    assert probabilities.argmax() == 0
    assert probabilities[0] > probabilities[1:].max() + 0.1


BAD_ROWS = {
    r"row must have 4 columns, got 3": ([0.1] * 3, True),
    r"row must be finite, got nan in row 0, column 1": ([0.1, math.nan, 0.1, 0.1], True),
    r"row must have rows of norm at most 1 .*, got norm 2 in row 0": ([1.0] * 4, True),
    r"row must be one row of 4 numbers, got \(2, 4\)": (np.eye(4)[:2], True),
    r"row must hold numbers, got values of type <U1": (list("abcd"), True),
    r"success must be True or False, got 1": ([0.1] * 4, 1),
    r"success must be True or False, got None": ([0.1] * 4, None),
}


@pytest.mark.parametrize("message", BAD_ROWS)
def test_a_bad_update_is_refused_and_changes_nothing(make_learner, message):
    learner = taught(make_learner(), 5)
    before = bits(learner)
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        learner.update(*BAD_ROWS[message])
    assert bits(learner) == before


def test_rows_that_cannot_be_scored_are_refused(make_learner):
    with pytest.raises(InvalidInput, match=r"^features must have 4 columns, got 5$"):
        make_learner().score(np.eye(5))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ridge(0), r"dim must be at least 1, got 0"),
        (lambda: Ridge(2.0), r"dim must be a whole number, got 2\.0"),
        (lambda: OnlineNewton(2, max_budget=0), r"max_budget must be at least 1, got 0"),
        (lambda: OnlineNewton(2, max_budget=1, radius=0.0), r"radius must be above 0, got 0\.0"),
        (lambda: OnlineNewton(2, max_budget=1, rate=-1.0), r"rate must be above 0, got -1\.0"),
        (lambda: OnlineNewton(2, max_budget=1, link="linear"), r"link must be .*, got 'linear'"),
        (lambda: MaximumLikelihood(2, penalty=0.0), r"penalty must be above 0, got 0\.0"),
        (lambda: MaximumLikelihood(2, penalty=math.nan), r"penalty must be finite, got nan"),
        (lambda: MaximumLikelihood(2, link="tanh"), r"link must be .*, got 'tanh'"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        make()


@pytest.mark.parametrize("state", [{}, {"kind": "Truth"}, {"kind": "Perceptron"}])
def test_an_unknown_learner_is_refused(state):
    with pytest.raises(BadFile, match=r"^unknown learner .*: known are \['Laplace', 'MaximumLik"):
        from_state(state)


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
    np.testing.assert_allclose(taught(Ridge(4), 50).weights, expected, rtol=1e-10)


@pytest.mark.parametrize(("link", "curve"), [("logistic", expit), ("probit", ndtr)])
@pytest.mark.parametrize("penalty", [1e-7, 1e-3, 1.0, 1e3])
def test_maximum_likelihood_solves_its_equation(link, curve, penalty):
    rows, successes = history(70)
    learner = taught(MaximumLikelihood(4, penalty=penalty, link=link), 70)
    residuals = successes - curve(rows @ learner.weights)
    np.testing.assert_allclose(rows.T @ residuals, penalty * learner.weights, rtol=0, atol=1e-9)
