"""Extreme settings are refused in one sentence, or leave every number finite."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank import (
    PROBIT,
    UCB,
    InvalidInput,
    Laplace,
    MaximumLikelihood,
    OnlineNewton,
    Payoffs,
    PlackettLuce,
    Ridge,
    theory,
)
from longrank.learners import Learner

DIM = 3
SIZES = st.sampled_from([0.0, 1e-320, 1e-162, 1e-100, 1e-9, 0.5, 1.0])
ROWS = st.lists(
    st.tuples(st.lists(st.floats(-1.0, 1.0), min_size=DIM, max_size=DIM), SIZES, st.booleans()),
    min_size=1,
    max_size=25,
)


def learned(learner: Learner, rows: list[tuple[list[float], float, bool]]) -> Learner:
    for direction, size, success in rows:
        row = np.array(direction)
        norm = float(np.linalg.norm(row))
        learner.update(size * row / max(norm, 1e-12), success)
    return learner


def assert_sound(learner: Learner) -> None:
    """Finite, and no variance is negative by more than rounding."""
    assert np.isfinite(learner.weights).all()
    assert np.isfinite(learner.inverse).all()
    smallest = np.linalg.eigvalsh(learner.inverse)[0]
    assert smallest >= -1e-11 * max(1.0, 1.0 / learner.prior)
    budget = min(3, learner.max_budget or 3)
    ranking = UCB(learner, exploration=1.0).rank(np.eye(DIM), Payoffs.exponential(budget))
    assert np.isfinite(ranking.probabilities).all()
    assert np.isfinite(ranking.values).all()


def powers(low: int, high: int) -> st.SearchStrategy[float]:
    return st.integers(low, high).map(lambda n: 10.0**n)


@given(
    ROWS,
    powers(-12, 300),
    st.sampled_from(["logistic", "probit"]),
    st.sampled_from([0.0, 5e-324, 1e-9, 0.5, 1.0]),
)
@settings(max_examples=150, deadline=None)
def test_a_ridge_likelihood_or_laplace_belief_stays_finite(rows, penalty, link, forgetting):
    assert_sound(learned(MaximumLikelihood(DIM, penalty=penalty, link=link), rows))
    assert_sound(learned(Laplace(DIM, penalty=penalty, forgetting=forgetting), rows))
    assert_sound(learned(Ridge(DIM), rows))


@given(
    ROWS,
    powers(-300, 300),
    powers(-300, 100),
    st.sampled_from([1, 7, 10**9, 10**300]),
    st.sampled_from(["logistic", "probit"]),
)
@settings(max_examples=300, deadline=None)
def test_an_online_newton_belief_stays_finite(rows, radius, rate, max_budget, link):
    made = OnlineNewton(DIM, max_budget=max_budget, radius=radius, rate=rate, link=link)
    assert_sound(learned(made, rows))


@pytest.mark.parametrize("kind", [Laplace, MaximumLikelihood])
def test_the_smallest_penalty_learns_from_nearly_equal_rows(kind):
    rng = np.random.default_rng(0)
    rows = [([1.0, 1e-4 * z, 0.0], 1.0, bool(rng.random() < 0.3)) for z in rng.normal(size=500)]
    learner = learned(kind(DIM, penalty=1e-12), rows)
    assert_sound(learner)
    assert learner.weights[0] == pytest.approx(math.log(0.3 / 0.7), abs=0.3)


@pytest.mark.parametrize(("link", "radius"), [("logistic", 800.0), ("probit", 40.0)])
def test_a_large_radius_has_the_rate_of_the_paper_and_is_refused_without_a_finite_one(link, radius):
    rule = "radius must be small enough for the paper's rate, 1 / c_sigma', to be at most 1e\\+100"
    with pytest.raises(InvalidInput, match=rule):
        OnlineNewton(DIM, max_budget=2, radius=radius, link=link)
    made = OnlineNewton(DIM, max_budget=2, radius=radius, rate=5.0, link=link)
    assert_sound(learned(made, [([1.0, 0.0, 0.0], 1.0, True)] * 9))
    made = OnlineNewton(DIM, max_budget=2, radius=200.0)
    assert made.rate == pytest.approx(math.exp(200.0), rel=1e-12)
    assert_sound(learned(made, [([1.0, 0.5, 0.0], 1.0, i % 3 == 0) for i in range(30)]))


@pytest.mark.parametrize("temperature", [5e-324, 1e-300, 1.0, 1e300])
def test_plackett_luce_ranks_whatever_the_payoffs(temperature):
    for rewards, losses in (
        ([0.0, 0.0], [0.0, 0.0, -1.0]),
        ([0.0, 0.0], [0.0, -1.0, -1.0]),
        ([0.0], [0.0, 0.0]),
        ([0.0, 0.0], [0.0, 0.0, -5e-324]),
        ([1e12, 0.0], [-1e11, -1e11, -1e12]),
    ):
        policy = PlackettLuce(Ridge(2), temperature=temperature, rng=0)
        payoffs = Payoffs(rewards, losses)
        for _ in range(20):
            order = policy.rank(np.eye(2), payoffs).order
            assert 0.0 < policy.propensity(np.eye(2), payoffs, order) <= 1.0
    policy = PlackettLuce(Ridge(2), temperature=1.0, rng=0)
    payoffs = Payoffs([0.0, 0.0], [0.0, 0.0, -1.0])
    stop = policy.choices(np.eye(2), payoffs, [0, 1])[:, -1]
    assert 0.0 < stop[0] < 0.5  # a try that costs nothing competes with a stop that gains nothing
    assert stop[1] == 1.0  # and then nothing can be gained any more


@pytest.mark.parametrize("radius", [1.0, 35.0, 40.0, 100.0])
def test_the_remark_budget_is_a_minimum_for_large_radii(radius):
    b = theory.remark_budget(1, 10, 500, 0.05, radius)
    odds, slope = math.exp(radius), math.exp(-radius) / (1.0 + math.exp(-radius)) ** 2
    weight = 10 / (slope * (1.0 + math.exp(-radius))) ** 2

    def bound(real: float) -> float:
        inner = 500 * odds + math.log(500 / 0.05)
        return real * radius**2 + weight * math.log1p(inner / real)

    assert bound(b) <= min(bound(max(1.0, 0.9 * b)), bound(1.1 * b)) * (1 + 1e-12)


def test_the_constants_of_any_radius_are_numbers():
    for radius in (5e-324, 40.0, 800.0, 1.7e308):
        for link in (theory.LOGISTIC, PROBIT):
            assert 0.5 <= theory.c_sigma(radius, link) <= 1.0
            assert 0.0 <= theory.c_sigma_prime(radius, link) < 0.4
            found = theory.approximation_ratio(2, Payoffs.vanilla(2), [0.1], radius, link)
            assert 0.0 <= found.ratio <= 1.0
