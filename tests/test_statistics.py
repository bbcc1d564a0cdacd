"""Whether the policies learn as the paper says: confidence, regret, and who beats whom."""

import numpy as np
import pytest

from longrank import UCB, Coverage, OnlineNewton, Payoffs, Plain, Random, named, theory
from longrank.simulation import CoverageWorld, LogisticWorld, pseudo_regret, simulate

pytestmark = pytest.mark.compiled  # thousands of rounds

HORIZON = 10_000
SCENARIOS = {
    "vanilla": Payoffs.vanilla(5),
    "exponential": Payoffs.exponential(5),
    "linear": Payoffs.linear(5, attempt_cost=0.15),
}


def direction(d, seed, norm=1.0):
    u = np.random.default_rng(seed).standard_normal(d)
    return u * norm / np.linalg.norm(u)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("seed", [0, 1])
def test_under_theory_s_alpha_it_learns_and_alpha_is_a_hundred_times_what_is_needed(seed, scenario):
    """What theory promises cannot fail here, so it is compared with what can.

    Alpha is 11,930 and Theorem 1 bounds the regret by 445,347, where 200 rounds cannot cost more
    than 400. With 50 seeds no run needed more than 60 for alpha, and none lost more than 72 % of
    what a random order loses; a learner that mistakes success for failure loses at least 92 %.
    """
    b, d, T, delta, D = 5, 5, 200, 0.05, 1.0
    payoffs = SCENARIOS[scenario]
    world = LogisticWorld(direction(d, seed, norm=D), items=20, seed=seed)
    alpha = theory.exploration(b, d, T, delta, D)
    policy = UCB(OnlineNewton(d, max_budget=b, radius=D), exploration=alpha)
    chance = Random(rng=seed)
    regret, by_chance, needed = 0.0, 0.0, 0.0
    for t in range(T):
        dealt = world.deal(t)
        means, widths = policy.learner.score(dealt.items)
        needed = max(needed, np.max(np.abs(dealt.items @ world.weights - means) / widths) ** 2)
        ranking = policy.rank(dealt.items, payoffs)
        policy.learn(ranking, dealt.play(ranking.order))
        best = dealt.optimum(payoffs)
        regret += best - dealt.value(ranking.order, payoffs)
        by_chance += best - dealt.value(chance.rank(dealt.items, payoffs).order, payoffs)
    assert needed <= alpha / 100, f"alpha would have to be {needed:.1f}, is {alpha:.0f}"
    assert regret < 0.8 * by_chance, f"regret {regret:.1f}, of a random order {by_chance:.1f}"
    worst = T * (payoffs.rewards[0] - payoffs.losses[-1])
    assert worst < theory.regret_bound(b, d, T, delta, D) / 1000  # Theorem 1 does not bind


def exponent(run):
    """Of pseudo-regret over T = 200, ..., 10,000, by least squares in the logarithms."""
    T = np.geomspace(200, HORIZON, 30).astype(int)
    return np.polyfit(np.log(T), np.log(pseudo_regret(run)[T - 1]), 1)[0]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_regret_of_ind_grows_sublinearly_and_that_of_rand_linearly(scenario):
    world = LogisticWorld(direction(10, seed=3, norm=2.0), items=50, seed=3)
    ind = named("ind", dim=10, max_budget=5, exploration=1.0, rate=4.0, radius=2.0)
    learned = simulate(ind, world, SCENARIOS[scenario], HORIZON)
    assert exponent(learned) < 0.7, f"exponent {exponent(learned):.3f}"
    played = simulate(Random(rng=3), world, SCENARIOS[scenario], HORIZON)
    assert 0.95 < exponent(played) < 1.05, f"exponent {exponent(played):.3f}"
    ratio = pseudo_regret(learned)[-1] / pseudo_regret(played)[-1]
    assert ratio < 0.05, f"regret of Ind is {ratio:.1%} of Rand's"


CENTRES = np.random.default_rng(0).standard_normal((4, 6))


def topics(items):
    """Shares of six topics, mostly one of them."""
    shares = np.exp(5.0 * items @ CENTRES)
    return shares / shares.sum(axis=1, keepdims=True)


class Alone(Plain):
    """The rows of Dep for items with nothing above them, wherever they stand."""

    def encode(self, items, dim, lazy=False):
        c = topics(np.asarray(items))
        return super().encode((2 * c - 1) / np.sqrt(c.shape[1]), dim, lazy)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_dep_beats_ind_on_a_world_of_coverage(scenario):
    gains = []
    for seed in range(2):
        noise = np.random.default_rng(seed).uniform(-0.5, 0.5, 6)
        u = np.array([3.0, 2.5, 2.0, -1.0, -1.0, -1.0]) + noise
        world = CoverageWorld(u, topics=topics, dim=4, items=30, seed=seed)
        runs = []
        for size, view in ((6, Coverage(topics)), (4, Plain()), (6, Alone())):
            learner = OnlineNewton(size, max_budget=5, radius=4.0, rate=4.0)
            policy = UCB(learner, features=view, exploration=0.5)
            runs.append(simulate(policy, world, SCENARIOS[scenario], 500))
        dep, *ind = (run.expected.sum() / run.optimum.sum() for run in runs)
        gains.append(dep - max(ind))
    assert min(gains) > 0.04, f"gains as shares of the optimum {np.round(gains, 3)}"
