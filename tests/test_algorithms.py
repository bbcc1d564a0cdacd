"""Ind and Dep against the transcription; the other policies and each step against closed forms."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, ndtr

import transcription
from longrank import (
    UCB,
    Coverage,
    EpsilonGreedy,
    OnlineNewton,
    Outcome,
    Payoffs,
    Plain,
    Random,
    named,
    theory,
)

K, D_ITEMS, T = 40, 10, 200
SCENARIOS = {
    "vanilla": Payoffs.vanilla,
    "exponential": Payoffs.exponential,
    "linear": lambda b: Payoffs.linear(b, attempt_cost=1 / (2 * b)),
}
FEATURES = {"Ind": Plain(), "Dep": Coverage(np.eye(D_ITEMS))}
CASES = [
    *((b, "vanilla", "theory") for b in (1, 10)),
    *((b, "exponential", "tuned") for b in (5, 40)),
    *((b, "linear", "bold") for b in (1, 10)),
]


def settings(name, b):
    """D, alpha, rate and the log-odds of success where x.u = 0."""
    return {
        "theory": (1.0, theory.exploration(b, D_ITEMS, T, 0.05), None, -1.0),
        "tuned": (3.0, 0.1, 5.0, -1.0),
        "bold": (10.0, 0.1, 20.0, -6.0 if b >= 10 else -3.0),
    }[name]


def draw_items(algorithm, rng, k=K, b=10):
    if algorithm == "Dep":  # coverage so small that b items leave a rest, and no ties
        return min(0.8, 8 / b) * rng.random((k, D_ITEMS)) ** 4
    items = rng.standard_normal((k, D_ITEMS))
    items[:, 0] = 4.0  # a constant, so that a low rate of success can be learned
    return items * rng.uniform(0.5, 1.0, (k, 1)) / np.linalg.norm(items, axis=1, keepdims=True)


def play(order, y):
    """The outcome, and the paper's s_j along the order."""
    signs, seen = np.zeros(len(order), int), 0
    for place, item in enumerate(order):
        signs[place], seen = (1 if y[item] else -1), place + 1
        if y[item]:
            return Outcome(seen, True), signs
    return Outcome(seen, False), signs


def assert_close(actual, expected, relative):
    assert np.abs(actual - expected).max() <= relative * np.abs(expected).max()


def assert_same_run(algorithm, ours, theirs, rounds, odds, seed, b=10):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(D_ITEMS)
    u *= 8.0 / np.linalg.norm(u)
    for t, (payoffs, k) in enumerate(rounds):
        items = draw_items(algorithm, rng, k, b)
        y = rng.random(k) < expit(odds + items @ u)
        J_t, X = theirs.rank(items, payoffs.rewards, payoffs.losses)
        ranking = ours.rank(items, payoffs)
        assert ranking.order.tolist() == J_t.tolist(), f"round {t}"
        outcome, signs = play(J_t, y)
        theirs.learn(X, signs)
        ours.learn(ranking, outcome)
    assert_close(ours.learner.weights, theirs.w, 1e-10)
    assert_close(ours.learner.inverse, np.linalg.inv(theirs.M), 1e-10)


@pytest.mark.parametrize(("b", "scenario", "setting"), CASES)
@pytest.mark.parametrize("algorithm", ["Ind", "Dep"])
def test_the_algorithm_is_the_paper_s(algorithm, b, scenario, setting):
    D, alpha, rate, odds = settings(setting, b)
    learner = OnlineNewton(D_ITEMS, max_budget=b, radius=D, rate=rate)
    ours = UCB(learner, features=FEATURES[algorithm], exploration=alpha)
    c_sigma_prime = math.exp(-D) / (1 + math.exp(-D)) ** 2
    theirs = getattr(transcription, algorithm)(D_ITEMS, b, D, alpha, rate or 1 / c_sigma_prime)
    payoffs = SCENARIOS[scenario](b)
    assert_same_run(algorithm, ours, theirs, [(payoffs, K)] * T, odds, seed=b, b=b)
    assert theirs.projections > 0 or setting != "theory"


@pytest.mark.parametrize("algorithm", ["Ind", "Dep"])
def test_it_is_also_where_budgets_payoffs_and_set_sizes_change(algorithm):
    settings = {"dim": D_ITEMS, "max_budget": 10, "exploration": 1.0, "rate": 10.0, "radius": 2.0}
    settings |= {"topics": np.eye(D_ITEMS)} if algorithm == "Dep" else {}
    theirs = getattr(transcription, algorithm)(D_ITEMS, 10, 2.0, 1.0, 10.0)
    shapes = list(SCENARIOS.values())
    rounds = [(shapes[t % 3](1 + t % 10), 1 + t % 17) for t in range(T)]
    ours = named(algorithm.lower(), **settings)
    assert_same_run(algorithm, ours, theirs, rounds, -3.0, seed=1)


LINEAR = [(Payoffs.linear(10, attempt_cost=0.05), K)] * T


def test_the_probit_link_and_epsilon_greedy_are_algorithm_1_otherwise():
    ours = named("ind", dim=D_ITEMS, max_budget=10, exploration=0.5, radius=1.0, link="probit")
    slope = math.exp(-0.5) / math.sqrt(2 * math.pi)
    theirs = transcription.Ind(D_ITEMS, 10, 1.0, 0.5, 1 / slope, sigma=ndtr)
    assert_same_run("Ind", ours, theirs, LINEAR, -3.0, seed=2)
    assert theirs.projections > 0
    ours = named("eps", dim=D_ITEMS, max_budget=10, epsilon=0.0, rng=0, rate=5.0, radius=3.0)
    theirs = transcription.Ind(D_ITEMS, 10, 3.0, 0.0, 5.0)  # without a bonus
    start = draw_items("Ind", np.random.default_rng(9))[0]  # with w = 0 every item ties
    ours.learner.update(start, True)
    theirs.learn([start], [1])
    assert_same_run("Ind", ours, theirs, LINEAR, -3.0, seed=3)


def hopeless(epsilon):
    """A policy that would try nothing of its own accord."""
    learner = OnlineNewton(2, max_budget=5)
    learner.weights[:] = -10.0
    return EpsilonGreedy(learner, epsilon=epsilon, rng=0)


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_epsilon_is_the_share_of_random_rounds_and_these_use_the_full_budget(epsilon):
    policy, items, n = hopeless(epsilon), np.full((20, 2), 0.5), 4000
    lengths = [len(policy.rank(items, Payoffs.linear(5, attempt_cost=0.1))) for _ in range(n)]
    assert set(lengths) <= {0, 5}
    spread = math.sqrt(epsilon * (1 - epsilon) / n)
    assert np.mean(np.array(lengths) == 5) == pytest.approx(epsilon, abs=4 * spread)


@pytest.mark.parametrize("policy", [Random(rng=0), hopeless(1.0)], ids=["rand", "eps"])
def test_random_rounds_give_every_item_every_place_equally_often(policy):
    items, n = np.full((6, 2), 0.5), 6000
    counts = np.zeros((3, 6))
    for _ in range(n):
        order = policy.rank(items, Payoffs.exponential(3)).order
        assert len(set(order.tolist())) == 3
        counts[np.arange(3), order] += 1
    assert np.abs(counts - n / 6).max() < 4.5 * math.sqrt(n * (1 / 6) * (5 / 6))


def test_c_ucb1_orders_by_its_upper_bounds_cut_at_1_and_plays_the_full_budget():
    rng, c, payoffs = np.random.default_rng(5), 0.7, Payoffs.vanilla(10)
    policy, M, B = named("c-ucb1", dim=D_ITEMS, exploration=c**2), np.eye(D_ITEMS), 0.0
    cut = 0
    for _ in range(200):
        items = draw_items("Ind", rng)
        U = items @ np.linalg.solve(M, B * np.ones(D_ITEMS))
        U += c * np.sqrt(np.einsum("ki,ij,kj->k", items, np.linalg.inv(M), items))
        U = np.minimum(U, 1.0)
        ranking = policy.rank(items, payoffs)
        assert ranking.order.tolist() == np.argsort(-U, kind="stable")[:10].tolist()
        np.testing.assert_allclose(
            ranking.probabilities, np.clip(U[ranking.order], 0.0, 1.0), rtol=1e-10, atol=1e-14
        )
        cut += np.count_nonzero(U == 1.0)
        outcome, signs = play(ranking.order, rng.random(K) < 0.4 + items[:, 1])
        policy.learn(ranking, outcome)
        for x, s in zip(items[ranking.order], signs, strict=True):
            M, B = M + abs(s) * np.outer(x, x), B + (s == 1) * x
    assert cut > 0


def belief(seed, rate):
    """A learner in the middle of its life, its M, and a row that calls for a projection."""
    rng = np.random.default_rng(seed)
    learner, M = OnlineNewton(4, max_budget=3, radius=0.5, rate=rate), 3.0 * np.eye(4)
    for _ in range(20):
        x = rng.uniform(-0.5, 0.5, 4)
        learner.update(x, bool(rng.random() < 0.5))
        M += np.outer(x, x)
    x = rng.uniform(-0.5, 0.5, 4)
    learner.weights[:] = rng.standard_normal(4) + 2.0 * np.sign(rng.random() - 0.5) * x / (x @ x)
    assert abs(learner.weights @ x) > learner.radius
    return learner, M, x


@pytest.mark.parametrize("seed", range(8))
def test_the_projection_is_the_nearest_point_in_the_norm_of_m(seed):
    learner, M, x = belief(seed, rate=1e-300)  # a step too small to be seen
    w, D = learner.weights.copy(), learner.radius

    def distance(v):
        return (v - w) @ M @ (v - w)

    found = minimize(
        distance,
        np.zeros(4),
        jac=lambda v: 2 * M @ (v - w),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda v: [D - v @ x, D + v @ x]},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    learner.update(x, True)
    np.testing.assert_allclose(learner.weights, found.x, atol=1e-5)
    assert distance(learner.weights) == pytest.approx(found.fun, rel=1e-9)
    assert abs(learner.weights @ x) == pytest.approx(D, abs=1e-14)


@pytest.mark.parametrize("success", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_the_newton_step_minimises_the_linear_loss_plus_the_distance_in_the_new_norm(seed, success):
    rate, s = 7.0, 1 if success else -1
    learner, M, x = belief(seed, rate)
    w_prime = transcription.project(learner.weights, M, x, learner.radius)
    slope = -s * expit(-s * (w_prime @ x)) * x  # of the logistic loss log(1 + exp(-s w.x))
    M = M + np.outer(x, x)
    found = minimize(
        lambda v: slope @ v + (v - w_prime) @ M @ (v - w_prime) / (2 * rate),
        np.zeros(4),
        jac=lambda v: slope + M @ (v - w_prime) / rate,
        method="BFGS",
        options={"gtol": 1e-10},
    )
    learner.update(x, success)
    np.testing.assert_allclose(learner.weights, found.x, atol=1e-8)


@pytest.mark.parametrize("directions", [10, 2])
def test_the_inverse_is_exact_after_100_000_updates(directions):
    rng = np.random.default_rng(6)
    rows = np.zeros((100_000, 10))
    rows[:, :directions] = rng.standard_normal((100_000, directions))
    rows[::1000] = rng.standard_normal((100, 10))  # the other directions hardly ever
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    learner = OnlineNewton(10, max_budget=10)
    learner.observe(rows, True)
    direct = np.linalg.inv(10 * np.eye(10) + rows.T @ rows)
    assert np.array_equal(learner.inverse, learner.inverse.T)
    error = np.abs(learner.inverse - direct).max() / np.abs(direct).max()
    assert error < 1e-10, f"relative error {error:.1e}"
