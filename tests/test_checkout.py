"""Payments as records: outcomes, final declines, outages, and the optimum by enumeration."""

import itertools
import json

import numpy as np
import pytest

from longrank import Outcome, Payoffs, Ranking
from longrank.simulation import CheckoutRound, CheckoutWorld, TableWorld, simulate

PRICED = Payoffs([0.9, 0.8, 0.5], [-0.1, -0.2, -0.3, -0.9])
FIELDS = ["brand", "country", "currency", "merchant", "amount", "recurring"]


def reached(dealt, order, payoffs):
    """The expected reward of a sequence, by going through all that can happen."""
    if not len(order):
        return payoffs.losses[0]
    total, alive = 0.0, 1.0
    for place, route in enumerate(order):
        p, final = dealt.chances[route], dealt.finals[route]
        stops = final if place < len(order) - 1 else 1.0
        total += alive * (p * payoffs.rewards[place] + (1 - p) * stops * payoffs.losses[place + 1])
        alive *= (1 - p) * (1 - stops)
    return total


def test_a_payment_is_the_same_whenever_it_is_dealt():
    world, other = CheckoutWorld(seed=3), CheckoutWorld(seed=3)
    rounds = [world.deal(t) for t in (0, 1, 2500)]
    for t, dealt in reversed(list(zip((0, 1, 2500), rounds, strict=True))):
        again = other.deal(t)
        assert (again.items, again.context) == (dealt.items, dealt.context)
        for part in ("draws", "chances", "finals"):
            assert np.array_equal(getattr(again, part), getattr(dealt, part))
    assert rounds[0].context != rounds[1].context
    assert CheckoutWorld(seed=4).deal(0).items != rounds[0].items


def test_routes_and_payments_are_plain_records_of_the_caller():
    world = CheckoutWorld(seed=0)
    dealt = world.deal(0)
    names = ["id", "region", "acquirer", "load", "status"]
    assert [list(route) for route in dealt.items] == [names] * 7
    assert list(dealt.context) == FIELDS
    assert json.loads(json.dumps([dealt.items, dealt.context])) == [dealt.items, dealt.context]
    dealt.items[0]["region"] = "elsewhere"
    assert world.deal(0).items == CheckoutWorld(seed=0).deal(0).items


@pytest.mark.parametrize("payoffs", [PRICED, Payoffs.vanilla(2), Payoffs([], [-0.5])])
def test_the_optimum_is_the_best_of_all_sequences(payoffs):
    world = CheckoutWorld(4, seed=2)
    for t in range(5):
        dealt = world.deal(t)
        tried = [
            (reached(dealt, order, payoffs), order)
            for length in range(payoffs.budget + 1)
            for order in itertools.permutations(range(4), length)
        ]
        for value, order in tried:
            assert dealt.value(np.array(order, int), payoffs) == pytest.approx(value, abs=1e-12)
        assert dealt.optimum(payoffs) == pytest.approx(max(tried)[0], abs=1e-12)
    dealt = CheckoutWorld(2, seed=2).deal(0)  # more tries than routes
    both = [dealt.value(np.array(order), Payoffs.vanilla(5)) for order in ([0, 1], [1, 0])]
    assert dealt.optimum(Payoffs.vanilla(5)) == max(both)


def test_the_plan_sorts_by_chance_and_earns_at_most_the_optimum():
    world, losses, short = CheckoutWorld(5, seed=1), 0, 0
    dear = Payoffs.linear(3, attempt_cost=0.2, give_up=-0.1)
    for t in range(100):
        dealt = world.deal(t)
        order = dealt.plan(dear)
        best = np.sort(dealt.chances)[::-1][:3]
        assert np.array_equal(dealt.chances[order], best[: dear.best_length(best)])
        short += len(order) < 3
        value, optimum = dealt.value(order, dear), dealt.optimum(dear)
        assert value <= optimum + 1e-12
        losses += value < optimum - 1e-9
    assert short  # it gives up where that is better,
    assert losses  # and knows nothing of final declines


def test_a_final_decline_leaves_the_rest_unobserved():
    chances, finals = np.array([0.5, 0.5, 0.5]), np.array([0.2, 0.2, 0.2])
    order = np.array([2, 0, 1])

    def play(*draws):
        return CheckoutRound([{}] * 3, np.array(draws), chances, finals, {}).play(order)

    assert play(0.6, 0.6, 0.95) == Outcome(1, False)
    assert play(0.95, 0.1, 0.6) == Outcome(2, False)
    assert play(0.6, 0.1, 0.89) == Outcome(3, True)
    assert play(0.6, 0.6, 0.6) == Outcome(3, False)
    assert play(0.95, 0.1, 0.1) == Outcome(1, True)


def test_outcomes_come_as_often_as_the_world_says():
    world, order, n = CheckoutWorld(seed=5), np.array([3, 1, 4]), 2000
    seen, expected, ended = [], [], 0
    for t in range(n):
        dealt = world.deal(t)
        outcome = dealt.play(order)
        seen.append(PRICED.reward(outcome))
        expected.append(dealt.value(order, PRICED))
        ended += outcome.tried < 3 and not outcome.succeeded
    error = np.subtract(seen, expected)
    assert abs(error.mean()) < 4 * error.std() / n**0.5
    assert 0.01 * n < ended < 0.3 * n


def test_amounts_have_a_heavy_tail():
    world = CheckoutWorld(1, seed=0)
    amounts = np.array([world.deal(t).context["amount"] for t in range(3000)])
    assert amounts.min() > 0
    assert amounts.max() > 100 * np.median(amounts)
    assert np.sort(amounts)[-30:].sum() > 0.2 * amounts.sum()  # the largest of a hundred


def test_a_route_that_is_down_fails_and_says_so_a_little_later():
    world, unnoticed, noticed = CheckoutWorld(seed=1), 0, 0
    for t in range(0, 3000, 3):
        dealt = world.deal(t)
        down, known = world._states(t)
        assert [route["status"] == "down" for route in dealt.items] == known.tolist()
        assert not (known & ~down).any()
        assert (dealt.chances[down] < 0.1).all()
        unnoticed += (down & ~known).sum()
        noticed += known.sum()
    assert 0 < unnoticed < noticed < 0.15 * 7 * 1000
    states = np.array([world._states(t)[0] for t in range(2000)])
    assert not np.array_equal(states[:1000], states[1000:])


class Spy:
    """Plays the routes as they come, and remembers what it was given and told."""

    def __init__(self):
        self.given, self.told = [], []

    def rank(self, items, payoffs, **settings):
        self.given.append((items, settings))
        count = payoffs.budget
        return Ranking.without_belief(np.arange(count), np.zeros((count, 1)), 3, 0.0)

    def learn(self, ranking, outcome):
        outcome.check(len(ranking))
        self.told.append(outcome)


def test_simulate_hands_over_the_context_where_there_is_one():
    world, spy = CheckoutWorld(seed=0), Spy()
    run = simulate(spy, world, PRICED, 20)
    rounds = [world.deal(t) for t in range(20)]
    assert spy.given == [(dealt.items, {"context": dealt.context}) for dealt in rounds]
    assert spy.told == [dealt.play(np.arange(3)) for dealt in rounds]
    assert (run.optimum >= run.expected - 1e-12).all()
    assert (run.hindsight >= run.rewards).all()
    spy = Spy()
    simulate(spy, TableWorld(np.zeros((3, 1)), [0.5] * 3, seed=0), PRICED)
    assert [settings for _, settings in spy.given] == [{}]
