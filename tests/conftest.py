"""What several test files share: every implementation of each interface, and rounds to play."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from longrank import (
    UCB,
    Coverage,
    EpsilonGreedy,
    Laplace,
    MaximumLikelihood,
    Mixture,
    OnlineNewton,
    Oracle,
    Outcome,
    Payoffs,
    PlackettLuce,
    Plain,
    Polynomial,
    Random,
    Ranking,
    Ridge,
    Thompson,
    recommended,
    unit_rows,
)

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")

DIM, MAX_BUDGET = 4, 5

FEATURES = {
    "plain": Plain,
    "matrix": lambda: Coverage(np.eye(DIM)),
    "mixture": lambda: Coverage(
        Mixture(np.full(DIM, 0.25), 0.8 * np.eye(DIM), np.tile(2.5 * np.eye(DIM), (DIM, 1, 1)))
    ),
    "function": lambda: Coverage(lambda items: items**2),
    "capped-sum": lambda: Coverage(np.eye(DIM), gain=np.minimum),
    "maximum": lambda: Coverage(np.eye(DIM), gain=lambda r, c: np.maximum(c - (1.0 - r), 0.0)),
}

# These make rows of another length than the items'.
POLYNOMIALS = {
    "polynomial-1": lambda: Polynomial(1),
    "polynomial-2": lambda: Polynomial(2),
}

LEARNERS = {
    "newton-logistic": lambda: OnlineNewton(DIM, max_budget=MAX_BUDGET),
    "newton-probit": lambda: OnlineNewton(DIM, max_budget=MAX_BUDGET, radius=2.0, link="probit"),
    "newton-tuned": lambda: OnlineNewton(DIM, max_budget=MAX_BUDGET, radius=0.3, rate=20.0),
    "ridge": lambda: Ridge(DIM),
    "likelihood-logistic": lambda: MaximumLikelihood(DIM, penalty=0.1),
    "likelihood-probit": lambda: MaximumLikelihood(DIM, link="probit"),
    "laplace": lambda: Laplace(DIM, penalty=0.3),
    "laplace-forgetting": lambda: Laplace(DIM, forgetting=0.05, max_budget=MAX_BUDGET),
}

TRUTH = [3.0, 1.0, -2.0, 0.5]


def _ucb(learner: str, features: str) -> Callable[[], UCB]:
    return lambda: UCB(LEARNERS[learner](), features=FEATURES[features](), exploration=0.5)


def _eps(features: str) -> Callable[[], EpsilonGreedy]:
    learner = LEARNERS["newton-logistic"]
    return lambda: EpsilonGreedy(learner(), features=FEATURES[features](), epsilon=0.5, rng=11)


def _plackett_luce(learner: str, features: str) -> Callable[[], PlackettLuce]:
    learned, seen = LEARNERS[learner], FEATURES[features]
    return lambda: PlackettLuce(learned(), features=seen(), temperature=0.2, rng=13)


def _expanding(features: str) -> Callable[[], UCB]:
    def make() -> UCB:
        seen = POLYNOMIALS[features]()
        return UCB(Laplace(seen.length(DIM), penalty=0.3), features=seen, exploration=0.5)

    return make


POLICIES = {
    **{f"ucb/{name}/plain": _ucb(name, "plain") for name in LEARNERS},
    **{f"ucb/{name}/matrix": _ucb(name, "matrix") for name in LEARNERS},
    **{f"ucb/newton-logistic/{name}": _ucb("newton-logistic", name) for name in FEATURES},
    **{f"ucb/laplace/{name}": _expanding(name) for name in POLYNOMIALS},
    "epsilon-greedy/plain": _eps("plain"),
    "epsilon-greedy/maximum": _eps("maximum"),
    "plackett-luce/plain": _plackett_luce("newton-tuned", "plain"),
    "plackett-luce/likelihood": _plackett_luce("likelihood-probit", "plain"),
    "plackett-luce/maximum": _plackett_luce("newton-tuned", "maximum"),
    "plackett-luce/polynomial": lambda: PlackettLuce(
        Laplace(15), features=Polynomial(2), temperature=0.2, rng=16
    ),
    "thompson/polynomial": lambda: Thompson(Laplace(15), features=Polynomial(2), rng=17),
    "thompson/plain": lambda: Thompson(LEARNERS["laplace"](), rng=14),
    "thompson/maximum": lambda: Thompson(
        LEARNERS["newton-tuned"](), features=FEATURES["maximum"](), scale=0.5, rng=15
    ),
    "recommended": lambda: recommended(dim=DIM, max_budget=MAX_BUDGET),
    "random": lambda: Random(rng=12),
    "oracle/plain": lambda: Oracle(TRUTH),
    "oracle/probit": lambda: Oracle(TRUTH, link="probit"),
    "oracle/matrix": lambda: Oracle(TRUTH, features=FEATURES["matrix"]()),
    "oracle/exact": lambda: Oracle(TRUTH, features=FEATURES["mixture"](), exact=True),
}


@pytest.fixture(params=[*FEATURES, *POLYNOMIALS])
def features(request):
    """A feature map for items of length 4."""
    return (FEATURES | POLYNOMIALS)[request.param]()


@pytest.fixture(params=LEARNERS)
def make_learner(request):
    """Makes a fresh learner of rows of length 4."""
    return LEARNERS[request.param]


@pytest.fixture(params=POLICIES)
def make_policy(request):
    """Makes a fresh policy for items of length 4 and budgets up to 5."""
    return POLICIES[request.param]


@pytest.fixture(
    params=[
        name
        for name in POLICIES
        if name.startswith(("ucb", "epsilon", "plackett", "thompson", "recommended"))
    ]
)
def student(request):
    """A fresh policy that learns."""
    return POLICIES[request.param]()


@pytest.fixture(params=[name for name in POLICIES if name != "random"])
def believer(request):
    """A fresh policy that learns, or that knows."""
    return POLICIES[request.param]()


@pytest.fixture
def policy(make_policy):
    """A fresh policy."""
    return make_policy()


def _deal(t: int) -> tuple[np.ndarray, Payoffs, int]:
    """Round t: from no item to eight, a budget from 0 to 5, each of the payoff shapes."""
    rng = np.random.default_rng([2021, t])
    items = unit_rows(rng.random((rng.integers(0, 9), DIM)))
    cost = rng.choice([0.02, 0.19])
    shapes = (Payoffs.vanilla, Payoffs.exponential, lambda b: Payoffs.linear(b, attempt_cost=cost))
    return items, shapes[t % 3](MAX_BUDGET), int(rng.integers(0, MAX_BUDGET + 1))


def _happen(t: int, ranking: Ranking) -> Outcome:
    """Any outcome that the ranking can have: nothing tried, an early stop, success, failure."""
    rng = np.random.default_rng([2022, t])
    tried = int(rng.integers(0, len(ranking) + 1))
    return Outcome(tried, bool(tried and rng.random() < 0.5))


@pytest.fixture
def rank():
    """Ranks rounds without learning; returns receipts and outcomes."""

    def rank(policy, rounds: Iterable[int]) -> list[tuple[Ranking, Outcome]]:
        rankings = [(t, policy.rank(*_deal(t))) for t in rounds]
        return [(ranking, _happen(t, ranking)) for t, ranking in rankings]

    return rank


@pytest.fixture
def play(rank):
    """Ranks and learns at once, round after round; returns the receipts."""

    def play(policy, rounds: Iterable[int]) -> list[Ranking]:
        receipts = []
        for t in rounds:
            [(ranking, outcome)] = rank(policy, [t])
            policy.learn(ranking, outcome)
            receipts.append(ranking)
        return receipts

    return play


@pytest.fixture(scope="session")
def real_mnist() -> Path:
    """The folder with the real MNIST: LONGRANK_MNIST, or beside the repository."""
    beside = Path(__file__).parents[2] / "shared" / "data" / "mnist"
    folder = Path(os.environ.get("LONGRANK_MNIST") or beside)
    if not (folder / "train-images-idx3-ubyte.gz").is_file():
        absent = f"the real MNIST is not in {folder}: set LONGRANK_MNIST to its folder"
        if os.environ.get("CI"):
            pytest.fail(absent)
        pytest.skip(absent)
    return folder
