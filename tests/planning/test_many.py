"""Very many items: the ranking is that of scoring them all."""

import numpy as np
import pytest

from longrank import LCB, InvalidInput, OnlineNewton, Outcome, Payoffs, Thompson, named
from longrank.planning.contenders import LARGE, eigenvalue_bounds

DIM, BUDGET = 16, 8
PAYOFFS = Payoffs.vanilla(BUDGET)
NEWTON = {"dim": DIM, "max_budget": BUDGET, "rate": 5.0, "radius": 3.0}
POLICIES = {
    "ind": lambda: named("ind", **NEWTON),
    "ind-bold": lambda: named("ind", exploration=100.0, **NEWTON),
    "ind-greedy": lambda: named("ind", exploration=0.0, **NEWTON),
    "lcb": lambda: LCB(OnlineNewton(DIM, max_budget=BUDGET, rate=5.0, radius=3.0), caution=0.5),
    "c-ucb1": lambda: named("c-ucb1", dim=DIM, exploration=0.1),
    "c-ucb1-all-at-the-ceiling": lambda: named("c-ucb1", dim=DIM, exploration=1e4),
    "gl-cdcm": lambda: named("gl-cdcm", dim=DIM),
    "eps": lambda: named("eps", rng=0, epsilon=0.5, **NEWTON),
}


def many(seed: int, dtype: type = np.float32) -> np.ndarray:
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(LARGE // DIM + 77, DIM))
    items *= rng.uniform(0.3, 1.0, (len(items), 1)) / np.linalg.norm(items, axis=1, keepdims=True)
    return items.astype(dtype)


def taught(policy, rounds: int):
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        ranking = policy.rank(many(2)[rng.integers(0, 1000, 50)], PAYOFFS)
        policy.learn(ranking, Outcome(1, bool(rng.random() < 0.5)))
    return policy


def exhaustive(policy, items: np.ndarray) -> np.ndarray:
    means, widths = policy.learner.score(items)
    scores = np.minimum(means + policy.bonus * widths, policy.learner.link.ceiling)
    return np.argsort(-scores, kind="stable")[:BUDGET]


@pytest.mark.parametrize(
    ("name", "rounds", "dtype"),
    [
        ("ind", 0, np.float32),
        ("ind", 200, np.float64),
        ("ind-bold", 200, np.float32),
        ("ind-greedy", 3, np.float64),
        ("lcb", 200, np.float32),
        ("c-ucb1", 200, np.float32),
        ("c-ucb1-all-at-the-ceiling", 3, np.float32),
        ("gl-cdcm", 30, np.float64),
    ],
)
def test_the_ranking_of_many_is_the_exhaustive_one(name, rounds, dtype):
    policy, items = taught(POLICIES[name](), rounds), many(5, dtype)
    assert policy.rank(items, PAYOFFS).order.tolist() == exhaustive(policy, items).tolist()


def test_a_draw_of_the_weights_ranks_many_by_that_draw():
    items = many(5)
    sampled = Thompson(taught(POLICIES["ind"](), 20).learner, rng=3)
    chosen = sampled.rank(items, PAYOFFS)
    few = items[np.sort(chosen.order)]  # few enough to be scored one by one, with the same draw
    again = Thompson(sampled.learner, rng=3).rank(few, PAYOFFS)
    assert np.sort(chosen.order)[again.order].tolist() == chosen.order.tolist()
    by_means = np.argsort(-sampled.learner.score(items)[0], kind="stable")[:BUDGET]
    assert chosen.order.tolist() != by_means.tolist()
    part = items[: LARGE // DIM - 1]
    inside = Thompson(sampled.learner, rng=3).rank(part, PAYOFFS).order
    expected = [i for i in chosen.order.tolist() if i < len(part)]
    assert [i for i in inside.tolist() if i in expected] == expected


@pytest.mark.parametrize("seed", range(5))
def test_eigenvalues_lie_within_their_bounds(seed):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(6, int(rng.integers(1, 9))))
    matrix = half @ half.T + rng.choice([0.0, 1.0, 9.0]) * np.eye(6)
    low, high = eigenvalue_bounds(matrix)
    found = np.linalg.eigvalsh(matrix)
    assert 0.0 <= low <= found[0] + 1e-9
    assert found[-1] <= high * (1.0 + 1e-12) <= 6.0 * found[-1]
    assert eigenvalue_bounds(np.eye(3) / 4.0) == (0.25, 0.25)


@pytest.mark.parametrize("name", ["ind", "eps"])
def test_a_bad_row_among_many_is_refused_and_nothing_has_changed(name):
    for value, message in (
        (np.nan, "items must be finite, got nan in row 9000, column 3"),
        (-np.inf, "items must be finite, got -inf in row 9000, column 3"),
        (2.0, "items must have rows of norm at most 1"),
    ):
        policy, items = POLICIES[name](), many(0)
        items[9000, 3] = value
        before = policy.to_bytes()
        with pytest.raises(InvalidInput, match=message):
            policy.rank(items, PAYOFFS)
        assert policy.to_bytes() == before


def test_ties_among_many_go_to_the_lower_index_and_no_budget_to_none():
    items = np.full((LARGE, 2), np.float32(0.25))
    policy = named("ind", dim=2, max_budget=BUDGET)
    assert policy.rank(items, PAYOFFS).order.tolist() == list(range(BUDGET))
    assert len(policy.rank(items, Payoffs.vanilla(0))) == 0


def test_random_rounds_over_many_learn_from_the_items_as_they_are():
    policy, items = POLICIES["eps"](), many(7)
    for _ in range(6):
        ranking = policy.rank(items, PAYOFFS)
        assert np.array_equal(ranking.features, items[ranking.order].astype(np.float64))


@pytest.mark.parametrize("seed", range(2))
def test_scores_that_differ_by_rounding_only_are_ranked_exactly(seed):
    """The bounds of such items are their scores, but for rounding: none may be ruled out by it."""
    rng = np.random.default_rng(seed)
    one = rng.random(DIM)
    items = rng.permuted(np.tile(one / (2 * np.linalg.norm(one)), (LARGE // DIM + 77, 1)), axis=1)
    policy = named("ind", **NEWTON)
    policy.learner.weights[:] = 0.7
    policy.learner.inverse[:] = 0.3 * np.eye(DIM)
    means, _ = policy.learner.score(items)
    assert 0.0 < np.ptp(means) < 1e-14
    np.testing.assert_array_equal(policy.rank(items, PAYOFFS).order, exhaustive(policy, items))
