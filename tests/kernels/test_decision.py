"""A decision is an order, a length and a receipt, put together from the other kernels."""

import math

import numpy as np
import pytest

from longrank import Payoffs, Ranking
from longrank.kernels import (
    best_length,
    decide,
    decide_plain,
    greedy_plain,
    probabilities,
    sequence_values,
)


def allocate(n, dim):
    return np.empty(n, np.int64), np.empty(n * (3 + dim) + 1)


SCHEDULES = {
    "vanilla": Payoffs.vanilla,
    "exponential": Payoffs.exponential,
    "dear": lambda budget: Payoffs.linear(budget, attempt_cost=0.15),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("link", [0, 1, 2])
def test_a_decision_is_its_parts_put_together(link, schedule):
    for n in (0, 1, 6):
        for least in (0, 1, 6):
            rng = np.random.default_rng(n)
            payoffs = SCHEDULES[schedule](n)
            order, rows = rng.permutation(9)[:n], rng.normal(size=(n, 3))
            means, scores = rng.normal(size=n) - 1.0, rng.normal(size=n) - 1.0
            least = min(least, n)
            chosen, numbers = allocate(n, 3)
            rewards, losses = payoffs.rewards, payoffs.losses
            last = rewards, losses, link, least, chosen, numbers, 1.0
            length = decide(order, rows, means, scores, last)
            ranking = Ranking.from_buffer(chosen[:length], numbers, 3)
            every = probabilities(link, scores)
            assert length == max(best_length(every, rewards, losses, 1.0), least) == len(ranking)
            np.testing.assert_array_equal(ranking.order, order[:length])
            np.testing.assert_array_equal(ranking.probabilities, every[:length])
            np.testing.assert_array_equal(ranking.estimates, probabilities(link, means[:length]))
            values = sequence_values(every, rewards, losses, 1.0)
            np.testing.assert_array_equal(ranking.values, values)
            np.testing.assert_array_equal(ranking.features, rows[:length])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(7, 3), (1, 1), (300, 5)])
def test_a_plain_decision_is_greedy_and_decide(shape, dtype):
    for least in (0, 1):
        rng = np.random.default_rng(3)
        items = (rng.normal(size=shape) / 9.0).astype(dtype)
        count, dim = min(4, shape[0]), shape[1]
        belief = (-2.0 * rng.random(dim), np.eye(dim) / 3.0, 0.5, math.inf)
        payoffs = Payoffs.linear(count, attempt_cost=0.2)
        rewards, losses = payoffs.rewards, payoffs.losses
        apart, at_once = allocate(count, dim), allocate(count, dim)
        greedy = greedy_plain(items, *belief, count)
        paid = rewards, losses, 0, least
        length = decide(*greedy, (*paid, *apart, 1.0))
        assert length == decide_plain(items, *belief, (*paid, *at_once, 1.0))
        assert Ranking.from_buffer(apart[0][:length], apart[1], dim) == Ranking.from_buffer(
            at_once[0][:length], at_once[1], dim
        )
