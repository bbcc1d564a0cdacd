"""Very many candidates with prices: the plan is that of all of them, at the price of a few."""

import math

import numpy as np
import pytest

from longrank import (
    LCB,
    UCB,
    Blocks,
    Laplace,
    Outcome,
    Payoffs,
    Records,
    Thompson,
    kernels,
    named,
    recommended,
    unit_rows,
)
from longrank.features.tabular import Numbers
from longrank.planning import contenders, priced, scores_of

COUNT, DIM = 3_000, 6
PAYOFFS = {
    "constant": Payoffs.vanilla(5),
    "linear": Payoffs.linear(5, attempt_cost=0.05, give_up=-0.1),
    "falling": Payoffs.exponential(5),
    "impatient": Payoffs.linear(5, attempt_cost=0.02).patient(0.7),
}
PRICES = {
    "costs": lambda rng, k: (rng.uniform(0.0, 0.3, k), None),
    "values": lambda rng, k: (rng.uniform(0.0, 0.3, k), rng.normal(size=k)),
    "margins": lambda rng, k: (rng.uniform(0.0, 2.0, k), rng.lognormal(size=k)),
    "shares": lambda rng, k: (None, -rng.lognormal(-1.0, 0.5, k)),
    "dear": lambda rng, k: (rng.uniform(2.0, 3.0, k), None),
}


def learned(policy, items, rounds=40):
    rng = np.random.default_rng(3)
    for _ in range(rounds):
        some = items[rng.integers(0, len(items), 30)]
        ranking = policy.rank(some, PAYOFFS["constant"])
        wins = some[ranking.order, 0] + 0.1 * rng.normal(size=len(ranking)) > 0.4
        tried = int(np.argmax(wins)) + 1 if wins.any() else len(ranking)
        policy.learn(ranking, Outcome(tried, bool(wins.any())))
    return policy


@pytest.fixture(scope="module")
def rows():
    items = np.random.default_rng(1).normal(size=(COUNT, DIM))
    items[:, 4] = np.random.default_rng(2).integers(0, 5, COUNT)
    return items


@pytest.fixture(scope="module")
def policies(rows):
    """Policies of each kind, and the candidates that each of them takes."""
    default = learned(recommended(dim=DIM), rows)
    large = unit_rows(np.random.default_rng(4).normal(size=(45_000, DIM)))
    newton = learned(named("ind", dim=DIM, max_budget=5, rate=5.0), large)
    features = {"features": default.features}
    return {
        "recommended": (default, rows),
        "ucb": (UCB(default.learner, exploration=0.04, rng=1, **features), rows),
        "lcb": (LCB(default.learner, caution=0.5, foresight=3, **features), rows),
        "thompson": (Thompson(default.learner, rng=1, **features), rows),
        "weights": (learned(Thompson(Laplace(DIM), rng=1), large), large),
        "ind": (newton, large),
    }


CASES = [
    ("recommended", "constant", "values"),
    ("recommended", "linear", "dear"),
    ("recommended", "falling", "costs"),
    ("ucb", "constant", "shares"),
    ("ucb", "impatient", "margins"),
    ("lcb", "linear", "costs"),
    ("thompson", "linear", "values"),
    ("thompson", "falling", "shares"),
    ("weights", "constant", "dear"),
    ("weights", "impatient", "costs"),
    ("ind", "linear", "margins"),
    ("ind", "falling", "values"),
]


@pytest.mark.parametrize(("name", "shape", "prices"), CASES)
def test_the_plan_is_that_of_all_candidates(policies, monkeypatch, name, shape, prices):
    policy, items = policies[name]
    payoffs = PAYOFFS[shape].priced(*PRICES[prices](np.random.default_rng(5), len(items)))
    if shape in ("constant", "impatient"):  # as if bounds left too many
        monkeypatch.setattr(contenders, "TIED", 100)
    assert len(policy.propose(items, payoffs, budget=0, rng=7)) == 0
    few = policy.propose(items, payoffs, rng=7)
    monkeypatch.setattr(priced, "find_contenders", lambda *_: None)
    everyone = policy.propose(items, payoffs, rng=7)
    for one, other in zip(few.parts()[:4], everyone.parts()[:4], strict=True):
        assert one.tolist() == other.tolist()
    assert few.features.tobytes() == everyone.features.tobytes()
    if shape != "falling":  # of which no order is exact: there are several bounds
        assert few == everyone


@pytest.mark.parametrize("prices", ["costs", "margins"])
def test_only_a_few_of_many_candidates_are_expanded(policies, rows, monkeypatch, prices):
    expanded, along = [], Numbers.along

    def spy(numbers, order):
        expanded.append(len(order))
        return along(numbers, order)

    monkeypatch.setattr(Numbers, "along", spy)
    monkeypatch.setattr(Numbers, "rows", property(lambda _: pytest.fail("all were expanded")))
    items = np.tile(rows, (10, 1))
    payoffs = PAYOFFS["constant"].priced(*PRICES[prices](np.random.default_rng(6), len(items)))
    policies["recommended"][0].propose(items, payoffs)
    assert sum(expanded) < len(items) / 2
    assert max(expanded) <= contenders.TIED


def test_a_policy_that_knows_nothing_plans_with_very_many(rows):
    policy = UCB(Blocks(), features=Records(dim=DIM), exploration=0.04)
    costs = np.random.default_rng(8).uniform(0.5, 1.0, COUNT)
    costs[[17, 2_300]] = 0.1
    assert set(policy.rank(rows, Payoffs.vanilla(2).priced(costs)).order) == {17, 2_300}


def test_no_eigenvalue_exceeds_its_bound():
    rng = np.random.default_rng(9)
    assert contenders._largest_eigenvalue(np.zeros((3, 3))) == 0.0
    for d in (1, 2, 5, 40):
        half = rng.normal(size=(d, d))
        matrix = half @ half.T * 10.0 ** rng.integers(-6, 6)
        largest = float(np.linalg.eigvalsh(matrix)[-1])
        assert largest <= contenders._largest_eigenvalue(matrix) * (1.0 + 1e-12)
        assert contenders._largest_eigenvalue(matrix) <= largest * d**0.125


def test_bounds_hold_the_scores_of_all(policies, rows):
    policy, features = policies["recommended"][0], policies["recommended"][0].features
    candidates, belief = features.encode(rows), policy.learner.belief()
    given = candidates.numbers.items, candidates.numbers.view, belief.weights
    outline = contenders._outline(kernels.outline_tabular, *given)
    low, high = contenders._bound_scores(outline, belief, 0.3, 0.3)
    means, widths = belief.score(features.rows(candidates))
    scores = scores_of(means, widths, 0.3, belief.ceiling)
    assert (low <= means).all()
    assert (low <= scores).all()
    assert (scores <= high).all()
    assert not math.isinf(float(high.max()))
