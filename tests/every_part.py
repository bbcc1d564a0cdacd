"""Every implementation of each interface: a new one goes into these tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from longrank import (
    LCB,
    UCB,
    Coverage,
    EpsilonGreedy,
    Laplace,
    MaximumLikelihood,
    Mixture,
    Number,
    OnlineNewton,
    Oracle,
    PlackettLuce,
    Plain,
    Polynomial,
    Random,
    Records,
    Ridge,
    Schema,
    SparseLaplace,
    Tabular,
    Text,
    Thompson,
    cautious,
    recommended,
)
from longrank.testing import DIM, MAX_BUDGET

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
    "ucb/laplace/tabular": lambda: UCB(
        Laplace(DIM + 1, penalty=0.3), features=Tabular(DIM), exploration=0.5, foresight=3
    ),
    "plackett-luce/tabular": lambda: PlackettLuce(
        Laplace(DIM + 1), features=Tabular(DIM), temperature=0.2, rng=18
    ),
    "epsilon-greedy/tabular": lambda: EpsilonGreedy(
        Laplace(DIM + 1), features=Tabular(DIM), epsilon=0.5, rng=19
    ),
    "thompson/polynomial": lambda: Thompson(Laplace(15), features=Polynomial(2), rng=17),
    "thompson/plain": lambda: Thompson(LEARNERS["laplace"](), rng=14),
    "thompson/maximum": lambda: Thompson(
        LEARNERS["newton-tuned"](), features=FEATURES["maximum"](), scale=0.5, rng=15
    ),
    "recommended": lambda: recommended(dim=DIM, max_budget=MAX_BUDGET),
    "lcb/newton": lambda: LCB(LEARNERS["newton-logistic"](), caution=0.7),
    "lcb/ridge": lambda: LCB(LEARNERS["ridge"](), caution=0.3),
    "lcb/polynomial": lambda: LCB(Laplace(15), features=Polynomial(2), caution=0.5),
    "lcb/foresight": lambda: LCB(LEARNERS["laplace"](), caution=0.5, foresight=3),
    "cautious": lambda: cautious(dim=DIM, max_budget=MAX_BUDGET),
    "random": lambda: Random(rng=12),
    "oracle/plain": lambda: Oracle(TRUTH),
    "oracle/probit": lambda: Oracle(TRUTH, link="probit"),
    "oracle/matrix": lambda: Oracle(TRUTH, features=FEATURES["matrix"]()),
    "oracle/exact": lambda: Oracle(TRUTH, features=FEATURES["mixture"](), exact=True),
}

SCHEMA = Schema(
    {"fee": "category", "amount": Number(log=True), "note": Text()},
    cross=[("id", "brand"), ("id", "amount"), ("id", "note"), ("id", "region")],
    ignore=["live", "words"],
)


def _records(schema: Schema | None = None) -> Records:
    return Records(schema and Schema.from_state(schema.state()))


def _declared() -> UCB:
    return UCB(SparseLaplace(columns=256), features=_records(SCHEMA), exploration=0.3)


# For rounds of records.
RECORD_POLICIES = {
    "ucb": lambda: UCB(SparseLaplace(max_budget=MAX_BUDGET), exploration=0.3),
    "ucb/probing": lambda: UCB(SparseLaplace(), exploration=0.1, probing=True),
    "ucb/foresight": lambda: UCB(SparseLaplace(), exploration=0.3, foresight=3),
    "thompson": lambda: Thompson(SparseLaplace(), rng=21),
    "thompson/optimistic": lambda: Thompson(
        SparseLaplace(), features=_records(), scale=0.7, rng=22, optimistic=True
    ),
    "plackett-luce": lambda: PlackettLuce(SparseLaplace(), temperature=0.4, rng=23),
    "epsilon-greedy": lambda: EpsilonGreedy(SparseLaplace(), epsilon=0.5, rng=24),
    "recommended": lambda: recommended(max_budget=MAX_BUDGET),
    "lcb": lambda: LCB(SparseLaplace(), caution=0.5, foresight=2),
    "cautious": lambda: cautious(max_budget=MAX_BUDGET),
    "declared": _declared,
    "random": lambda: Random(rng=25),
}
