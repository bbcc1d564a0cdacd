"""Policies that decide by chance know the exact probability of every sequence."""

import itertools
from itertools import permutations

import numpy as np
import pytest

from longrank import (
    UCB,
    Blocks,
    Coverage,
    EpsilonGreedy,
    InvalidInput,
    OnlineNewton,
    Outcome,
    Payoffs,
    PlackettLuce,
    Random,
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
COSTS, VALUES = [0.1, 0.0, 0.3, 0.05], [0.0, 0.4, 1.5, -0.3]
CONTEXT = {"brand": "visa", "amount": 120.0}


def taught(policy):
    """A policy of records that knows what succeeds with which brand."""
    for best, brand in (([0, 2], "visa"), ([1], "amex"), ([3, 0], "visa")):
        receipt = policy.receipt(RECORDS, PAYOFFS["vanilla"], best, context={"brand": brand})
        for succeeded in (True, False, True):
            policy.learn(receipt, Outcome(len(best), succeeded))
    return policy


SQUARES = Coverage(lambda items: items**2)


def records_policies():
    yield "plackett-luce", lambda: taught(PlackettLuce(Blocks(), temperature=0.7, rng=1))
    yield "epsilon-greedy", lambda: taught(EpsilonGreedy(Blocks(), epsilon=0.4, rng=1))
    yield "random", lambda: Random(rng=2)


def array_policies():
    for name, more in (("plain", {}), ("coverage", {"features": SQUARES})):
        luce = {"temperature": 0.7, "rng": 1} | more
        yield f"plackett-luce/{name}", lambda luce=luce: PlackettLuce(believing(), **luce)
        greedy = {"epsilon": 0.4, "rng": 1} | more
        yield f"epsilon-greedy/{name}", lambda greedy=greedy: EpsilonGreedy(believing(), **greedy)
    yield "random", lambda: Random(rng=2)


def priced(items, payoffs):
    """The same with costs and values, which records tell themselves, and some impatience."""
    if items is ITEMS:
        return items, payoffs.priced(COSTS, VALUES).patient(0.6)
    prices = zip(items, COSTS, VALUES, strict=True)
    return [each | {"cost": c, "value": v} for each, c, v in prices], payoffs.patient(0.6)


CASES = {f"arrays/{name}": (make, ITEMS, {}) for name, make in array_policies()}
CASES |= {f"records/{n}": (make, RECORDS, {"context": CONTEXT}) for n, make in records_policies()}
every_policy = pytest.mark.parametrize(("make", "items", "given"), CASES.values(), ids=CASES)


@every_policy
def test_the_probabilities_of_all_sequences_and_lengths_add_up_to_1(make, items, given):
    policy = make()
    before = policy.to_bytes()
    for payoffs, budget in itertools.product(PAYOFFS.values(), (None, 2, 0)):
        for asked, paid in ((items, payoffs), priced(items, payoffs)):
            chances = [policy.propensity(asked, paid, order, budget, **given) for order in ALL]
            assert sum(chances) == pytest.approx(1.0, abs=1e-12)
    prefixes = policy.propensities(items, PAYOFFS["linear"], [2, 0, 1], **given)
    for n in range(1, 4):
        begin = [order for order in ALL if order[:n] == [2, 0, 1][:n]]
        chances = [policy.propensity(items, PAYOFFS["linear"], o, **given) for o in begin]
        assert prefixes[n - 1] == pytest.approx(sum(chances), abs=1e-12)
    assert policy.to_bytes() == before  # asking draws nothing


@pytest.mark.parametrize("with_prices", [False, True])
@every_policy
def test_sequences_are_played_as_often_as_their_propensity_says(make, items, given, with_prices):
    policy, payoffs, rounds = make(), PAYOFFS["linear"], 2000 if items is ITEMS else 600
    if with_prices:
        items, payoffs = priced(items, payoffs)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(rounds):
        order = tuple(policy.rank(items, payoffs, **given).order.tolist())
        counts[order] = counts.get(order, 0) + 1
    for order in ALL:
        p = policy.propensity(items, payoffs, order, **given)
        seen = counts.get(tuple(order), 0)
        assert abs(seen - rounds * p) <= 4.5 * np.sqrt(rounds * p * (1.0 - p)) + 3.0 * (p > 0)


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
    policy = PlackettLuce(believing(), temperature=0.7, rng=1)
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
    policy = taught(PlackettLuce(Blocks(), temperature=0.7, rng=1))
    chances = [
        policy.choices(RECORDS, PAYOFFS["vanilla"], [0], context={"brand": brand})[0]
        for brand in ("visa", "amex")
    ]
    assert chances[0][0] > 1.05 * chances[1][0]
    assert chances[1][1] > 1.05 * chances[0][1]
