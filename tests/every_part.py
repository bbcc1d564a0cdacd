"""Every learner and feature map, and policies that differ: a new part goes into these tables."""

import numpy as np

from longrank import (
    LCB,
    UCB,
    Blocks,
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
    Random,
    Records,
    Ridge,
    Schema,
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


# Policies that differ in the code that ranks, draws, learns or is saved; not every combination.
POLICIES = {
    "ucb/newton-logistic/plain": lambda: UCB(LEARNERS["newton-logistic"](), exploration=0.5),
    "ucb/likelihood-probit/plain": lambda: UCB(LEARNERS["likelihood-probit"](), exploration=0.5),
    "ucb/ridge/matrix": lambda: UCB(
        LEARNERS["ridge"](), features=FEATURES["matrix"](), exploration=0.5
    ),
    "ucb/newton-probit/function": lambda: UCB(
        LEARNERS["newton-probit"](), features=FEATURES["function"](), exploration=0.5
    ),
    "ucb/laplace-forgetting/plain": lambda: UCB(
        Laplace(DIM, forgetting=0.05, max_budget=MAX_BUDGET), exploration=0.5
    ),
    "epsilon-greedy/plain": lambda: EpsilonGreedy(
        LEARNERS["newton-logistic"](), epsilon=0.5, rng=10
    ),
    "epsilon-greedy/maximum": lambda: EpsilonGreedy(
        LEARNERS["newton-logistic"](), features=FEATURES["maximum"](), epsilon=0.5, rng=11
    ),
    "plackett-luce/blocks": lambda: PlackettLuce(
        Blocks(), features=Records(dim=DIM), temperature=0.2, rng=18
    ),
    "plackett-luce/capped-sum": lambda: PlackettLuce(
        LEARNERS["newton-tuned"](), features=FEATURES["capped-sum"](), temperature=0.2, rng=13
    ),
    "thompson/plain": lambda: Thompson(LEARNERS["laplace"](), rng=14),
    "thompson/mixture": lambda: Thompson(
        LEARNERS["likelihood-logistic"](), features=FEATURES["mixture"](), scale=0.5, rng=15
    ),
    "recommended": lambda: recommended(dim=DIM, max_budget=MAX_BUDGET),
    "lcb/foresight": lambda: LCB(
        Blocks(max_budget=MAX_BUDGET), features=Records(dim=DIM), caution=0.5, foresight=3
    ),
    "cautious": lambda: cautious(dim=DIM, max_budget=MAX_BUDGET),
    "random": lambda: Random(rng=12),
    "oracle/exact": lambda: Oracle(TRUTH, features=FEATURES["mixture"](), exact=True),
}

SCHEMA = Schema(
    {"fee": "category", "amount": Number(log=True), "note": Text()},
    cross=[("id", "brand"), ("id", "amount"), ("id", "note"), ("id", "region")],
    ignore=["live", "words"],
)


def _declared() -> UCB:
    features = Records(Schema.from_state(SCHEMA.state()))
    return UCB(Blocks(columns=256), features=features, exploration=0.3)


# For rounds of records.
RECORD_POLICIES = {
    "recommended": lambda: recommended(max_budget=MAX_BUDGET),
    "declared": _declared,
    "thompson": lambda: Thompson(Blocks(), scale=0.7, rng=22),
    "plackett-luce": lambda: PlackettLuce(Blocks(), temperature=0.4, rng=23),
    "epsilon-greedy": lambda: EpsilonGreedy(Blocks(), epsilon=0.5, rng=24),
    "lcb": lambda: LCB(Blocks(), caution=0.5),
}

# For the contract of policies: each way to rank, to draw, to learn and to be saved.
CONTRACT = [
    "ucb/newton-probit/function",
    "ucb/likelihood-probit/plain",
    "ucb/laplace-forgetting/plain",
    "epsilon-greedy/maximum",
    "plackett-luce/blocks",
    "thompson/mixture",
    "recommended",
    "lcb/foresight",
    "random",
    "oracle/exact",
]
RECORD_CONTRACT = ["recommended", "declared", "plackett-luce", "lcb"]
