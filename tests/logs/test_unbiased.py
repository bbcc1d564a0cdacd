"""Importance sampling and doubly robust in a world whose every log is known: exact expectations."""

from itertools import product

import numpy as np
import pytest
from exact_world import LOGS, MONEY, logged_by, planned, true_value
from small_world import FREE, PAYOFFS, believing, greedy

from longrank import EpsilonGreedy, Payoffs, PlackettLuce, Random
from longrank.logs.evaluation.intervals import IntervalSettings
from longrank.logs.evaluation.sample import Sample
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


JUDGED_TOO = JUDGED | {"short": lambda: greedy([6.0, 0.0])}
PAIRS = [
    *(("Plackett-Luce", judged) for judged in JUDGED),
    ("Plackett-Luce", "short"),
    ("uniform", "greedy"),
    ("uniform", "short"),
    ("epsilon-greedy", "epsilon"),
]


@pytest.mark.parametrize("money", [None, *MONEY])
def test_it_is_where_candidates_have_prices_and_prefixes_tell_it_too(money):
    for log, judged in PAIRS:
        make, payoffs = LOGS[log]
        real, early = money is not None and MONEY[money].real, 0.4 if money else 0.0
        payoffs = payoffs if money is None else MONEY[money].price(payoffs)
        world = logged_by(make(), payoffs, early, real)
        policy = JUDGED_TOO[judged]()
        truth, found = true_value(policy, payoffs, early, real), world.evidence(policy)
        weighted, robust = terms(found)
        assert world.chances @ robust == pytest.approx(truth, abs=1e-12)
        if judged != "short":  # the weights of sequences want the log to stop as well
            assert world.chances @ weighted == pytest.approx(truth, abs=1e-12)
        # what prefixes tell the policy earns, and that they stand for all of it
        assert world.chances @ found.earned == pytest.approx(truth, abs=1e-12)
        assert world.chances @ found.final_masses == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(world.chances @ found.masses, 1.0, atol=1e-12)
        sample = Sample(found, IntervalSettings())
        above, below, *_ = sample.scaled()
        share = (truth - sample.least) / sample.span
        assert world.chances @ above == pytest.approx(share, abs=1e-12)
        assert world.chances @ below == pytest.approx(1.0 - share, abs=1e-12)
        if not real:
            least, most = found.earnable.T
            assert (least - 1e-12 <= found.rewards).all()
            assert (found.rewards <= most + 1e-12).all()


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


def test_a_log_that_always_uses_up_its_budget_tells_of_a_policy_that_does_not():
    """What today's importance sampling cannot say, whose weights want the log to stop as well."""
    for payoffs in (PAYOFFS, planned(PAYOFFS)):
        world, policy = logged_by(Random(rng=0), payoffs), greedy([6.0, 0.0])
        found = world.evidence(policy)
        assert found.stops.max() > 0.0
        truth = true_value(policy, payoffs)
        assert world.chances @ found.earned == pytest.approx(truth, abs=1e-12)
        assert abs(world.chances @ (found.final_weights * found.rewards) - truth) > 1e-3


def test_they_stand_for_less_where_the_log_stops_and_the_policy_goes_on():
    world = logged_by(LOGS["uniform"][0](), FREE)
    cut = [row for row in world.rows if row["order"][0] != 0]
    kept = np.array([row["order"][0] != 0 for row in world.rows])
    assert 0 < len(cut) < len(world.rows)
    found = world.evidence(JUDGED["chance"]())
    assert (found.masses[kept].T @ world.chances[kept] < 0.9).all()
