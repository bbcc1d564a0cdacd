"""The recommended policy and its parts: no trap, no drift, no tuning."""

import numpy as np
import pytest

from giving_up import small_world
from longrank import (
    UCB,
    Laplace,
    Outcome,
    Payoffs,
    Plain,
    Ranking,
    Thompson,
    recommended,
    unit_rows,
)
from longrank.datasets import table
from longrank.links import LOGISTIC
from longrank.policies import from_bytes
from longrank.simulation import (
    LogisticWorld,
    PaymentWorld,
    Stream,
    TableWorld,
    pseudo_regret,
    run_stream,
    simulate,
)

PAYOFFS = Payoffs.linear(1, attempt_cost=0.3)


def gives_up(probing: bool) -> UCB:
    """A policy that is sure, after bad luck, that nothing ever succeeds."""
    policy = UCB(Laplace(1, penalty=0.1), features=Plain(), exploration=0.01, probing=probing)
    for _ in range(40):
        policy.learner.update([1.0], False)
    return policy


def test_without_probing_it_gives_up_for_ever_and_with_it_finds_out():
    trapped, free = gives_up(False), gives_up(True)
    for _ in range(3000):
        for policy in (trapped, free):
            ranking = policy.rank([[1.0]], PAYOFFS)
            policy.learn(ranking, Outcome(len(ranking), len(ranking) == 1))
    assert len(trapped.rank([[1.0]], PAYOFFS)) == 0
    assert trapped.learner.updates == 40
    assert len(free.rank([[1.0]], PAYOFFS)) == 1


def test_where_giving_up_is_right_probes_become_rare_but_come_within_32_rounds():
    policy, tried = gives_up(True), []
    for _ in range(5000):
        ranking = policy.rank([[1.0]], PAYOFFS)
        policy.learn(ranking, Outcome(len(ranking), False))
        tried.append(len(ranking))
    early = np.cumsum(tried)[:256]
    assert (early <= 8.0 * np.log2(np.arange(1, 257)) + 1.0).all()
    gaps = np.diff(np.flatnonzero(tried))
    assert gaps.max() == 32
    assert (gaps[-100:] == 32).all()
    assert policy.given_up == 5000


def test_a_probe_is_as_long_as_would_pay_if_all_were_half_a_deviation_better():
    payoffs, items = (
        Payoffs([0.48] * 4, -0.52 * np.arange(5)),
        np.array([[1.0], [0.7], [0.4], [0.1]]),
    )
    lengths = []
    for known in (2, 4, 40):
        policy = UCB(Laplace(1, penalty=0.2), features=Plain(), exploration=0.0, probing=True)
        for _ in range(known):
            policy.learner.update([1.0], False)
        assert len(policy.rank(items, payoffs)) == 0
        means, widths = policy.learner.score(items)
        hopeful = np.sort(LOGISTIC.probability(means + 0.5 * widths))[::-1]
        lengths.append(len(policy.rank(items, payoffs)))
        assert lengths[-1] == max(payoffs.best_length(hopeful), 1)
        assert policy.given_up == 2
    assert lengths == [4, 1, 1]


def test_a_probe_goes_on_where_that_is_free_and_is_the_same_for_a_seed_and_pure():
    payoffs = Payoffs([1.0] * 4, [0.0, -0.9, -0.9, -0.9, -0.9])
    candidates = {"arrays": np.eye(5), "records": list("abcde")}
    for kind, policy in {"arrays": recommended(dim=5), "records": recommended()}.items():
        for _ in range(60):
            receipt = policy.receipt(candidates[kind], payoffs, range(4))
            policy.learn(receipt, Outcome(4, False))
        policy.given_up = 1
        before = policy.to_bytes()
        probe = policy.propose(candidates[kind], payoffs, rng=3)
        assert probe == policy.propose(candidates[kind], payoffs, rng=np.random.default_rng(3))
        assert len(probe) == 4  # giving up after the first would cost as much
        assert probe.value < probe.values[0]
        assert len(policy.propose(candidates[kind], payoffs, rng=3, probe=False)) == 0
        assert len(policy.propose(candidates[kind], payoffs, 0)) == 0
        assert len(policy.propose(candidates[kind][:0], payoffs)) == 0
        assert policy.to_bytes() == before
        assert policy.record_decision(Ranking.from_bytes(probe.to_bytes()))


def test_giving_up_counts_where_something_could_be_tried_and_is_saved():
    policy = gives_up(True)
    for _ in range(25):
        policy.rank([[1.0]], PAYOFFS)
    policy.rank(np.empty((0, 1)), PAYOFFS)  # nothing to try is not giving up
    policy.rank([[1.0]], PAYOFFS, budget=0)
    again = from_bytes(policy.to_bytes())
    assert (again.probing, again.given_up) == (True, 25)
    fresh = gives_up(True)
    ahead = [
        [len(each.rank([[1.0]], PAYOFFS)) for _ in range(40)] for each in (policy, again, fresh)
    ]
    assert ahead[0] == ahead[1] != ahead[2]
    assert again.to_bytes() == policy.to_bytes()


WORLDS = 40


@pytest.mark.compiled  # thousands of rounds
def test_it_never_gives_up_for_ever_where_playing_is_better_nor_plays_where_it_is_not():
    seen, near = {"plays": 0, "gives up": 0}, 0
    for seed in range(WORLDS):
        stream, payoffs, plays = small_world(seed)
        run = run_stream(recommended(dim=stream.items.shape[1]), stream, payoffs)
        lengths, earned = run.lengths[-1000:], run.rewards[-1000:].mean()
        if plays.any() and plays[-1000:].any():
            seen["plays"] += 1
            assert (lengths > 0).any(), seed
        elif not plays.any():
            seen["gives up"] += 1
            if (lengths == 0).mean() < 0.95:  # so near the break-even that playing costs nothing
                near += 1
                assert earned > payoffs.losses[0] - 0.02, seed
    assert min(seen.values()) >= 10
    assert near <= WORLDS // 20


def test_it_learns_digits_without_tuning():
    data = table("digits-3", 0)
    world = TableWorld(data.items, data.chances, size=100, seed=0, passes=10)
    stream, payoffs = Stream.of(world), Payoffs.exponential(10)
    policy = recommended(dim=10)
    reward = run_stream(policy, stream, payoffs).rewards.sum()
    base = stream.random_reward(payoffs)
    assert (reward - base) / (stream.hindsight(payoffs).sum() - base) > 0.97


@pytest.mark.compiled
@pytest.mark.parametrize("cost", [0.02, 0.08, 0.2])
def test_it_earns_nearly_what_the_truth_would_in_payments(cost):
    payoffs, shares = Payoffs.linear(5, attempt_cost=cost), []
    for seed in range(3):
        world = PaymentWorld(8, seed=seed)
        run = simulate(recommended(dim=world.dim), world, payoffs, 3000)
        shares.append(run.expected.sum() / run.optimum.sum())
    assert np.mean(shares) > 0.97


@pytest.mark.compiled  # thousands of rounds
def test_forgetting_follows_a_change_and_costs_little_without_one():
    payoffs = Payoffs.linear(5, attempt_cost=0.08)
    before, after = PaymentWorld(8, seed=3), PaymentWorld(8, seed=30)
    after.homes = before.homes
    half = 2000

    def reward(forgetting: float, second: PaymentWorld, rounds: range) -> np.ndarray:
        policy, earned = recommended(dim=before.dim, forgetting=forgetting), []
        for t in rounds:
            dealt = (before if t < half else second).deal(t)
            ranking = policy.rank(dealt.items, payoffs)
            policy.learn(ranking, dealt.play(ranking.order))
            earned.append(dealt.value(ranking.order, payoffs))
        return np.array(earned)

    drifting = reward(0.0003, after, range(2 * half))[-half // 2 :].mean()
    fresh = reward(0.0, after, range(half, 2 * half))[-half // 2 :].mean()
    assert drifting >= 0.95 * fresh
    calm = [reward(share, before, range(2 * half)).mean() for share in (0.0003, 0.0)]
    assert calm[0] >= 0.98 * calm[1]


def test_thompson_sampling_learns_too_and_its_scale_of_zero_is_greed():
    world, payoffs = LogisticWorld([2.0, -2.0, 1.0], items=20, seed=0), Payoffs.exponential(3)
    run = simulate(Thompson(Laplace(3), rng=0), world, payoffs, 2000)
    regret = pseudo_regret(run)
    assert regret[-1] - regret[1000] < 0.35 * regret[1000]
    greedy = UCB(Laplace(3), exploration=0.0)
    sure = Thompson(Laplace(3), rng=0, scale=0.0)
    for policy in (greedy, sure):
        policy.learner.update([0.6, 0.3, 0.1], True)
    items = unit_rows(np.random.default_rng(1).normal(size=(9, 3)))
    assert sure.rank(items, payoffs).order.tolist() == greedy.rank(items, payoffs).order.tolist()
