"""Bounds without assumptions: by hand, and against what a policy would have earned."""

from __future__ import annotations

import numpy as np
import pytest
from small_world import FREE, JUDGED, PAYOFFS, TRUTH, greedy, logged, weigh_decision

from longrank import Outcome, Payoffs
from longrank.logs import History, evaluate, fit
from longrank.logs.decision import Decision
from longrank.logs.evaluation.evidence import gather
from longrank.simulation import LogisticWorld


def earned(policy, rounds, seed, payoffs=PAYOFFS):
    """What a policy earns in the very rounds of a log, with the very same luck."""
    world = LogisticWorld(TRUTH, items=5, seed=seed)
    rewards = []
    for t in range(rounds):
        dealt = world.deal(t)
        rewards.append(payoffs.reward(dealt.play(policy.rank(dealt.items, payoffs).order)))
    return np.array(rewards)


@pytest.mark.parametrize("payoffs", [PAYOFFS, FREE, Payoffs.exponential(3)])
def test_what_a_policy_would_have_earned_lies_in_the_bounds_in_every_decision(payoffs):
    for seed, name in enumerate(["greedy", "short"]):
        rows = logged(greedy([0.5, 0.5, 0.5, 0.5]), 60, seed, payoffs)
        history = History(rows)
        low, high, exact = gather(JUDGED[name](), history, fit(history)).bounds.T
        rewards = earned(JUDGED[name](), 60, seed, payoffs)
        assert (low <= rewards + 1e-12).all()
        assert (rewards <= high + 1e-12).all()
        known = exact == 1.0
        np.testing.assert_allclose(low[known], rewards[known])
        np.testing.assert_allclose(high[known], rewards[known])
        assert 0.0 < known.mean() < 1.0


def test_the_policy_that_made_the_log_is_known_exactly():
    maker = greedy([0.5, 0.5, 0.5, 0.5])
    history = History(logged(maker, 60))
    found = {e.estimator: e for e in evaluate(history, {"same": maker}, resamples=50)}
    assert found["bounds"].exact == 1.0
    np.testing.assert_allclose(found["bounds"].value, found["mean reward"].value)
    np.testing.assert_allclose(found["bounds"].low, found["bounds"].high)


BOUNDS = {
    # the log's order and outcome, what is judged, and the bounds by hand
    "success in the prefix": ([0, 1], Outcome(2, True), [0, 1, 2], (0.5, 0.5, 1.0)),
    "stops before": ([0, 1], Outcome(2, True), [0], (-0.1, -0.1, 1.0)),
    "differs at once": ([0, 1], Outcome(1, True), [1, 0], (-0.2, 1.0, 0.0)),
    "differs later": ([0, 1], Outcome(2, True), [0, 2], (-0.2, 0.5, 0.0)),
    "goes on": ([0, 1], Outcome(2, False), [0, 1, 2], (-0.3, 0.2, 0.0)),
    "the same": ([0, 1], Outcome(2, False), [0, 1], (-0.2, -0.2, 1.0)),
    "stopped early": ([0, 1, 2], Outcome(1, False), [0, 2], (-0.1, -0.1, 1.0)),
    "nothing played": ([], Outcome(0, False), [0], (-0.1, 1.0, 0.0)),
    "plays nothing": ([0], Outcome(1, True), [], (0.0, 0.0, 1.0)),
}


PRICED = {
    "success in the prefix": ([0, 1], Outcome(2, True), [0, 1, 2], (0.2, 0.2, 1.0)),
    "stops before": ([0, 1], Outcome(2, True), [0], (-0.2, -0.2, 1.0)),
    "stops before, with a bill": ([0, 1], Outcome(2, True, (0.5, 0.2)), [0], (-0.6, -0.6, 1.0)),
    "differs later": ([0, 1], Outcome(2, True), [0, 2], (-0.6, 1.1, 0.0)),
    "differs after a bill": ([0, 1], Outcome(2, True, (0.5, 0.2)), [0, 2], (-1.0, 0.7, 0.0)),
    "a success that harms": ([0], Outcome(1, True), [3], (-1.4, -0.5, 0.0)),
    "goes on, or ends by itself": ([0, 1], Outcome(2, False), [0, 1, 3], (-2.5, -0.5, 0.0)),
    "stopped early": ([0, 1, 2], Outcome(1, False), [0, 2], (-0.2, -0.2, 1.0)),
}


@pytest.mark.parametrize("prices", [None, ([0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 1.0, -2.0])])
def test_bounds_by_hand(prices):
    payoffs = Payoffs([1.0, 0.5, 0.2], [0.0, -0.1, -0.2, -0.3])
    payoffs = payoffs if prices is None else payoffs.priced(*prices)
    for kind, (order, outcome, judged, wanted) in (PRICED if prices else BOUNDS).items():
        played = np.array(order, np.int64)
        told = {"outcome": outcome, "items": np.zeros((4, 1)), "payoffs": payoffs, "budget": 3}
        bounds = weigh_decision(Decision(1, 1, played, **told), judged)["bounds"]
        np.testing.assert_allclose(bounds[0], wanted, atol=1e-12, err_msg=kind)
