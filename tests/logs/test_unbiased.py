"""Importance sampling and doubly robust in a world whose every log is known: exact expectations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from exact_world import LOGS, MONEY, logged_by, planned, true_value
from small_world import FREE, PAYOFFS, believing, greedy

from longrank import EpsilonGreedy, Payoffs, PlackettLuce
from longrank.logs.evaluation.support import no_support

JUDGED = {
    "greedy": lambda: greedy([1.5, -1.0]),
    "chance": lambda: PlackettLuce(believing([1.5, -1.0]), temperature=0.5, rng=3),
    "epsilon": lambda: EpsilonGreedy(believing([1.5, -1.0]), epsilon=0.3, rng=3),
}


def terms(found):
    """What importance sampling and doubly robust take the mean of."""
    final = found.weights[np.arange(len(found.last)), found.last]
    return final * found.rewards, found.starts + (found.weights * found.deltas).sum(axis=1)


@pytest.mark.parametrize(("log", "early"), list(product(LOGS, (0.0, 0.4))))
def test_their_expectation_is_the_true_value(log, early):
    make, payoffs = LOGS[log]
    world = logged_by(make(), payoffs, early)
    for judged in JUDGED.values():
        policy = judged()
        truth = true_value(policy, payoffs, early)
        for estimates in terms(world.evidence(policy)):
            assert world.chances @ estimates == pytest.approx(truth, abs=1e-12)


PAIRS = [
    *(("Plackett-Luce", judged) for judged in JUDGED),
    ("uniform", "greedy"),
    ("epsilon-greedy", "epsilon"),
]


@pytest.mark.parametrize("money", MONEY)
def test_it_is_where_candidates_have_prices(money):
    for log, judged in PAIRS:
        make, payoffs = LOGS[log]
        payoffs, real, early = MONEY[money].price(payoffs), MONEY[money].real, 0.4
        world = logged_by(make(), payoffs, early, real)
        policy = JUDGED[judged]()
        truth = true_value(policy, payoffs, early, real)
        for estimates in terms(world.evidence(policy)):
            assert world.chances @ estimates == pytest.approx(truth, abs=1e-12)


def test_a_policy_that_saves_tries_is_refused_where_the_log_made_all():
    make, payoffs = LOGS["uniform"]
    world = logged_by(make(), planned(payoffs))
    assert "no support" in no_support(world.evidence(JUDGED["chance"]()))


def test_the_propensity_of_the_sequence_alone_serves_importance_sampling():
    make, payoffs = LOGS["Plackett-Luce"]
    world = logged_by(make(), payoffs)
    for row in world.rows:
        del row["prefix_propensities"]
    for judged in JUDGED.values():
        policy = judged()
        weighted, _ = terms(world.evidence(policy))
        assert world.chances @ weighted == pytest.approx(true_value(policy, payoffs), abs=1e-12)


def test_doubly_robust_has_at_most_the_variance_in_nine_of_ten_settings():
    fewer = []
    pay = {
        "uniform": (FREE, Payoffs.exponential(2)),
        "epsilon-greedy": (Payoffs.vanilla(2),),
        "Plackett-Luce": (PAYOFFS, Payoffs.linear(2, attempt_cost=0.1, give_up=-0.3)),
    }
    for log, judged, early in product(LOGS, JUDGED, (0.0, 0.4)):
        for payoffs in pay[log]:
            world = logged_by(LOGS[log][0](), payoffs, early)
            weighted, doubly = terms(world.evidence(JUDGED[judged]()))
            spread = [world.chances @ (x - world.chances @ x) ** 2 for x in (weighted, doubly)]
            fewer.append(spread[1] <= spread[0])
    assert len(fewer) == 30
    assert np.mean(fewer) >= 0.9
