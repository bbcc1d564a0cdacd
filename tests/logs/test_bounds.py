"""Bounds without assumptions: by hand, and against what a policy would have earned."""

from itertools import permutations

import numpy as np
import pytest
from small_world import FREE, JUDGED, PAYOFFS, PRICED, TRUTH, greedy, logged, weigh_decision

from longrank import Outcome, Payoffs
from longrank.logs import History, evaluate, fit
from longrank.logs.decision import Decision
from longrank.logs.evaluation.evidence import gather
from longrank.policies import Randomised
from longrank.simulation import LogisticWorld

PLAYED = [
    *((name, PRICED) for name in JUDGED),
    *(("greedy", payoffs) for payoffs in (PAYOFFS, FREE, Payoffs.exponential(3))),
    ("short", PAYOFFS),
    ("epsilon", Payoffs([1.0], [-0.2] * 2).priced(None, [0.0] + [-2.0] * 4)),  # some do harm
]


@pytest.mark.parametrize(("name", "payoffs"), PLAYED)
def test_what_a_policy_would_have_earned_lies_in_the_bounds(name, payoffs):
    """With the very same luck; for a randomised policy on average over all that it may play."""
    policy = JUDGED[name]()
    rounds = 10 if isinstance(policy, Randomised) else 60
    history = History(logged(greedy([0.5, 0.5, 0.5, 0.5]), rounds, 1, payoffs))
    low, high, exact = gather(policy, history, fit(history), draws=0).bounds.T
    world, earned = LogisticWorld(TRUTH, items=5, seed=1), np.zeros(rounds)
    orders = [order for n in range(payoffs.budget + 1) for order in permutations(range(5), n)]
    for t in range(rounds):
        dealt = world.deal(t)
        played = [(policy.rank(dealt.items, payoffs).order, 1.0)]
        if isinstance(policy, Randomised):
            likely = (policy.propensity(dealt.items, payoffs, order) for order in orders)
            played = list(zip(map(np.array, orders), likely, strict=True))
        for order, share in played:
            if share:
                earned[t] += share * payoffs.along(order).reward(dealt.play(order))
    assert (low <= earned + 1e-12).all()
    assert (earned <= high + 1e-12).all()
    np.testing.assert_allclose(low[exact == 1.0], earned[exact == 1.0])


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


PRICES = [0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 1.0, -2.0]
BOUNDS_WITH_PRICES = {
    "success in the prefix": ([0, 1], Outcome(2, True), [0, 1, 2], (0.2, 0.2, 1.0)),
    "stops before": ([0, 1], Outcome(2, True), [0], (-0.2, -0.2, 1.0)),
    "stops before, with a bill": ([0, 1], Outcome(2, True, (0.5, 0.2)), [0], (-0.6, -0.6, 1.0)),
    "differs later": ([0, 1], Outcome(2, True), [0, 2], (-0.6, 1.1, 0.0)),
    "differs after a bill": ([0, 1], Outcome(2, True, (0.5, 0.2)), [0, 2], (-1.0, 0.7, 0.0)),
    "a success that harms": ([0], Outcome(1, True), [3], (-1.4, -0.5, 0.0)),
    "goes on, or ends by itself": ([0, 1], Outcome(2, False), [0, 1, 3], (-2.5, -0.5, 0.0)),
    "stopped early": ([0, 1, 2], Outcome(1, False), [0, 2], (-0.2, -0.2, 1.0)),
}


@pytest.mark.parametrize("prices", [None, PRICES])
def test_bounds_by_hand(prices):
    payoffs = Payoffs([1.0, 0.5, 0.2], [0.0, -0.1, -0.2, -0.3])
    payoffs = payoffs if prices is None else payoffs.priced(*prices)
    cases = BOUNDS_WITH_PRICES if prices else BOUNDS
    for kind, (order, outcome, judged, wanted) in cases.items():
        played = np.array(order, np.int64)
        told = {"outcome": outcome, "items": np.zeros((4, 1)), "payoffs": payoffs, "budget": 3}
        bounds = weigh_decision(Decision(1, 1, played, **told), judged)["bounds"]
        np.testing.assert_allclose(bounds[0], wanted, atol=1e-12, err_msg=kind)
