"""What the prefixes of a log tell of a policy: exact expectations, and what can be earned."""

from __future__ import annotations

import numpy as np
import pytest
from exact_world import LOGS, MONEY, logged_by, planned, true_value
from small_world import FREE, PAYOFFS, believing, greedy

from longrank import EpsilonGreedy, PlackettLuce, Random

JUDGED = {
    "greedy": lambda: greedy([1.5, -1.0]),
    "short": lambda: greedy([6.0, 0.0]),
    "chance": lambda: PlackettLuce(believing([1.5, -1.0]), temperature=0.5, rng=3),
    "epsilon": lambda: EpsilonGreedy(believing([1.5, -1.0]), epsilon=0.3, rng=3),
}
PAIRS = [
    *(("Plackett-Luce", judged) for judged in JUDGED),
    ("uniform", "greedy"),
    ("uniform", "short"),
    ("uniform", "chance"),
    ("epsilon-greedy", "epsilon"),
]


@pytest.mark.parametrize(
    ("money", "early"), [(None, 0.0), ("planned", 0.0), ("known only afterwards", 0.4)]
)
def test_they_tell_what_the_policy_earns_and_stand_for_all_of_it(money, early):
    for log, judged in PAIRS:
        make, payoffs = LOGS[log]
        real = money is not None and MONEY[money].real
        if money is not None:
            payoffs = MONEY[money].price(payoffs)
        policy = JUDGED[judged]()
        world = logged_by(make(), payoffs, early, real)
        found = world.evidence(policy)
        truth = true_value(policy, payoffs, early, real)
        assert world.chances @ found.earned == pytest.approx(truth, abs=1e-12)
        assert world.chances @ found.final_masses == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(world.chances @ found.masses, 1.0, atol=1e-12)
        robust = found.starts + (found.weights * found.deltas).sum(axis=1)
        assert world.chances @ robust == pytest.approx(truth, abs=1e-12)
        if not real:
            least, most = found.earnable.T
            assert (least - 1e-12 <= found.rewards).all()
            assert (found.rewards <= most + 1e-12).all()


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
