"""Policies that decide by chance know the exact probability of every sequence."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from longrank import (
    UCB,
    Coverage,
    EpsilonGreedy,
    InvalidInput,
    OnlineNewton,
    Outcome,
    Payoffs,
    PlackettLuce,
    Random,
    SparseLaplace,
    unit_rows,
)

ITEMS = unit_rows(np.random.default_rng(0).normal(size=(4, 3)))
ALL = [list(order) for n in range(4) for order in permutations(range(4), n)]
PAYOFFS = {
    "linear": Payoffs.linear(3, attempt_cost=0.2, give_up=-0.1),
    "vanilla": Payoffs.vanilla(3),
    "hopeless": Payoffs([0.0] * 3, [0.0, -1.0, -2.0, -3.0]),
}


def believing():
    learner = OnlineNewton(3, max_budget=3)
    learner.weights[:] = [1.0, -2.0, 0.5]
    return learner


RECORDS = [{"id": "a", "fee": 0.2}, {"id": "b", "fee": 3.0}, {"id": "c"}, {"id": "d", "fee": 0.5}]
CONTEXT = {"brand": "visa", "amount": 120.0}


def taught(policy):
    """A policy of records that knows what succeeds with which brand."""
    for best, brand in (([0, 2], "visa"), ([1], "amex"), ([3, 0], "visa")):
        receipt = policy.receipt(RECORDS, PAYOFFS["vanilla"], best, context={"brand": brand})
        for succeeded in (True, False, True):
            policy.learn(receipt, Outcome(len(best), succeeded))
    return policy


SQUARES = Coverage(lambda items: items**2)
POLICIES = {
    "plackett-luce": lambda: PlackettLuce(believing(), temperature=0.7, rng=1),
    "plackett-luce/coverage": lambda: PlackettLuce(
        believing(), features=SQUARES, temperature=0.7, rng=1
    ),
    "epsilon-greedy": lambda: EpsilonGreedy(believing(), epsilon=0.4, rng=1),
    "epsilon-greedy/coverage": lambda: EpsilonGreedy(
        believing(), features=SQUARES, epsilon=0.4, rng=1
    ),
    "random": lambda: Random(rng=2),
}
RECORD_POLICIES = {
    "plackett-luce/records": lambda: taught(PlackettLuce(SparseLaplace(), temperature=0.7, rng=1)),
    "epsilon-greedy/records": lambda: taught(EpsilonGreedy(SparseLaplace(), epsilon=0.4, rng=1)),
    "random/records": lambda: Random(rng=2),
}
ARRAYS = {name: (make, ITEMS, {}) for name, make in POLICIES.items()}
GIVEN = {name: (make, RECORDS, {"context": CONTEXT}) for name, make in RECORD_POLICIES.items()}
CASES = ARRAYS | GIVEN
every_policy = pytest.mark.parametrize(("make", "items", "given"), CASES.values(), ids=CASES)


@every_policy
def test_a_prefix_is_as_likely_as_all_that_begin_with_it(make, items, given):
    policy, payoffs = make(), PAYOFFS["linear"]
    prefixes = policy.propensities(items, payoffs, [2, 0, 1], **given)
    for n in range(1, 4):
        begin = [order for order in ALL if order[:n] == [2, 0, 1][:n]]
        total = sum(policy.propensity(items, payoffs, order, **given) for order in begin)
        assert prefixes[n - 1] == pytest.approx(total, abs=1e-12)
    assert prefixes[-1] == policy.propensity(items, payoffs, [2, 0, 1], **given)


@every_policy
def test_asking_for_propensities_draws_nothing(make, items, given):
    policy = make()
    before = policy.to_bytes()
    policy.propensities(items, PAYOFFS["linear"], [1, 2], **given)
    assert policy.to_bytes() == before


@pytest.mark.parametrize("scenario", PAYOFFS)
def test_plackett_luce_near_temperature_0_is_greedy_length_included(scenario):
    rng = np.random.default_rng(4)
    for _ in range(20):
        learner = OnlineNewton(3, max_budget=3)
        learner.weights[:] = 2.0 * rng.normal(size=3)
        cold = PlackettLuce(learner, temperature=1e-4, rng=0)
        best = UCB(learner, exploration=0.0)
        order = best.rank(ITEMS, PAYOFFS[scenario]).order
        assert cold.rank(ITEMS, PAYOFFS[scenario]).order.tolist() == order.tolist()


def test_plackett_luce_can_stop_anywhere_where_tries_cost_and_never_where_they_are_free():
    policy = POLICIES["plackett-luce"]()
    assert all(policy.propensity(ITEMS, PAYOFFS["linear"], order) > 0.0 for order in ALL)
    assert all(policy.propensity(ITEMS, PAYOFFS["vanilla"], o) == 0.0 for o in ALL if len(o) < 3)
    assert policy.propensity(ITEMS, PAYOFFS["hopeless"], []) == 1.0


@pytest.mark.parametrize(
    ("order", "rule"),
    [([0, 0], "no item twice"), ([4], "items from 0 to 3"), ([0.5], "list of whole numbers")],
)
def test_a_sequence_that_cannot_be_is_refused(order, rule):
    for make, items, given in CASES.values():
        with pytest.raises(InvalidInput, match=rule):
            make().propensity(items, PAYOFFS["linear"], order, **given)


def test_the_context_changes_the_propensities_of_records():
    policy = RECORD_POLICIES["plackett-luce/records"]()
    chances = [
        policy.choices(RECORDS, PAYOFFS["vanilla"], [0], context={"brand": brand})[0]
        for brand in ("visa", "amex")
    ]
    assert chances[0][0] > 1.05 * chances[1][0]
    assert chances[1][1] > 1.05 * chances[0][1]


def test_a_temperature_of_0_is_refused():
    with pytest.raises(InvalidInput, match="temperature must be above 0"):
        PlackettLuce(believing(), temperature=0.0, rng=0)
