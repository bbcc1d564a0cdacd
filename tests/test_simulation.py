"""Worlds, the loop, and what is measured of a run."""

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr

from longrank import PROBIT, UCB, InvalidInput, Oracle, Outcome, Payoffs, Random, named, unit_rows
from longrank.simulation import (
    CheckoutWorld,
    CoverageWorld,
    LogisticWorld,
    Run,
    Stream,
    TableWorld,
    average_reward,
    cumulative_reward,
    ncr,
    ncr_published,
    pseudo_regret,
    run_stream,
    scaled_regret,
    simulate,
)

U = np.array([1.5, -1.0, 0.5])


def topics(items):
    """Coverage of three topics."""
    weights = np.exp(2 * items)
    return weights / weights.sum(axis=1, keepdims=True)


def worlds():
    rng = np.random.default_rng(0)
    table = unit_rows(rng.standard_normal((25, 3))), rng.random(25)
    return [
        LogisticWorld(U, items=10, seed=1),
        CoverageWorld(U, topics=topics, dim=3, items=10, seed=1),
        TableWorld(*table, size=10, seed=1),
    ]


@pytest.mark.parametrize("number", range(3))
def test_a_round_is_the_same_whenever_it_is_dealt(number):
    world, other = worlds()[number], worlds()[number]
    rounds = [world.deal(t) for t in range(3)]
    for t in (2, 0, 1):
        again, order = other.deal(t), np.arange(len(rounds[t].items))
        assert np.array_equal(again.items, rounds[t].items)
        assert np.array_equal(again.draws, rounds[t].draws)
        assert again.play(order) == rounds[t].play(order)
        assert again.play(order[:0]) == Outcome(0, False)
        np.testing.assert_allclose(np.linalg.norm(again.items, axis=1), 1.0, rtol=1e-14)
    assert not np.array_equal(rounds[0].items[:5], rounds[1].items[:5])
    assert not np.array_equal(LogisticWorld(U, seed=2).deal(0).items[:5], rounds[0].items[:5])


@pytest.mark.parametrize(("link", "sigma"), [("logistic", expit), (PROBIT, ndtr)])
def test_a_logistic_world_succeeds_with_sigma_of_the_score(link, sigma):
    settings = {} if link == "logistic" else {"link": link}
    dealt = LogisticWorld(U, items=10, seed=1, **settings).deal(0)
    order = np.array([7, 2, 5])
    chances = sigma(dealt.items[order] @ U)
    np.testing.assert_allclose(dealt.probabilities(order), chances, rtol=1e-12)


def test_a_coverage_world_succeeds_with_sigma_of_what_is_new():
    dealt = worlds()[1].deal(0)
    order = np.array([4, 9, 0, 6])
    c, expected = topics(dealt.items), []
    for place, item in enumerate(order):
        rest = np.prod(1 - c[order[:place]], axis=0)
        expected.append(expit(U @ (2 * c[item] * rest - 1) / math.sqrt(3)))
    np.testing.assert_allclose(dealt.probabilities(order), expected, rtol=1e-12)


@pytest.mark.parametrize("number", [0, 1])
def test_outcomes_come_as_often_as_the_probabilities_say(number):
    world, order, n = worlds()[number], np.array([3, 1, 4]), 4000
    seen, expected, variance = np.zeros(4), np.zeros(4), np.zeros(4)
    for t in range(n):
        dealt = world.deal(t)
        p = dealt.probabilities(order)
        strings = np.append(p, 1.0) * np.append(1.0, np.cumprod(1 - p))
        outcome = dealt.play(order)
        seen[outcome.tried - 1 if outcome.succeeded else 3] += 1
        expected += strings
        variance += strings * (1 - strings)
    assert np.abs((seen - expected) / np.sqrt(variance)).max() < 4


PRICED = Payoffs([0.9, 0.8, 0.5], [-0.1, -0.2, -0.3, -0.9])


@pytest.mark.parametrize("number", range(3))
def test_the_value_of_a_sequence_is_its_expected_reward(number):
    dealt = worlds()[number].deal(0)
    a, b = dealt.probabilities(np.array([8, 2]))
    by_hand = a * 0.9 + (1 - a) * (b * 0.8 + (1 - b) * -0.3)
    assert dealt.value(np.array([8, 2]), PRICED) == pytest.approx(by_hand, abs=1e-14)
    assert dealt.value(np.array([], int), PRICED) == -0.1


@pytest.mark.parametrize("exact", [True, False])
def test_the_optimum_is_what_the_oracle_would_earn(exact):
    for t in range(5):
        free = LogisticWorld(U, items=7, seed=2).deal(t)
        best = Oracle(U).rank(free.items, PRICED)
        assert free.optimum(PRICED) == pytest.approx(best.value, abs=1e-14)
        assert free.value(best.order, PRICED) == pytest.approx(best.value, abs=1e-14)
        world = CoverageWorld(3 * U, topics=topics, dim=3, items=7, seed=2, exact=exact)
        bound = world.deal(t)
        best = Oracle(3 * U, features=world.oracle.features, exact=exact).rank(bound.items, PRICED)
        assert bound.optimum(PRICED) == best.value
        assert bound.value(best.order, PRICED) == pytest.approx(best.value, abs=1e-14)


def test_hindsight_is_an_immediate_success_if_any_and_an_independent_item_fares_alike_anywhere():
    for world in worlds():
        for t in range(3):
            dealt = world.deal(t)
            alone = [dealt.play(np.array([i])).succeeded for i in range(len(dealt.items))]
            if not isinstance(world, CoverageWorld):  # an item fares the same wherever it stands
                order = np.random.default_rng(t).permutation(len(alone))
                tried = 1 + np.append(np.array(alone)[order], True).argmax()
                assert dealt.play(order) == Outcome(min(int(tried), len(alone)), any(alone))
            assert dealt.hindsight(PRICED) == (0.9 if any(alone) else -0.1)
            assert dealt.hindsight(Payoffs([], [-0.1])) == -0.1
    none, one = (TableWorld(np.zeros((3, 1)), [0, x, 0], seed=0).deal(0) for x in (0, 1))
    assert (none.hindsight(PRICED), one.hindsight(PRICED)) == (-0.1, 0.9)
    hopeless = CoverageWorld([50.0], topics=lambda x: 0 * x, dim=1, items=4, seed=0)
    assert hopeless.deal(0).hindsight(PRICED) == -0.1


def test_a_table_world_deals_every_item_once_per_pass_and_labels_are_outcomes():
    items = np.arange(23.0)[:, None]
    world = TableWorld(items, np.full(23, 0.5), size=10, seed=3, passes=2)
    assert world.rounds == 6
    dealt = [world.deal(t) for t in range(6)]
    assert [len(d.items) for d in dealt] == [10, 10, 3, 10, 10, 3]
    passes = [np.concatenate([d.items[:, 0] for d in dealt[i : i + 3]]) for i in (0, 3)]
    assert [sorted(one) for one in passes] == [list(range(23))] * 2
    assert not np.array_equal(*passes)
    draws = [np.concatenate([d.draws for d in dealt[i : i + 3]]) for i in (0, 3)]
    assert np.array_equal(draws[0][np.argsort(passes[0])], draws[1][np.argsort(passes[1])])
    even = TableWorld(np.zeros((20, 1)), np.zeros(20), size=10, seed=0)
    assert [len(even.deal(t).items) for t in range(even.rounds)] == [10, 10]
    labels = np.array([0, 1, 0, 0, 1] * 20)
    world = TableWorld(labels[:, None], labels, size=10, seed=4)
    for dealt in map(world.deal, range(world.rounds)):
        outcomes = [dealt.play(np.array([i])).succeeded for i in range(10)]
        assert np.array_equal(outcomes, dealt.items[:, 0] == 1)


def test_a_bad_argument_is_named_with_its_rule():
    for make, sentence in [
        (lambda: TableWorld(np.zeros((3, 1)), [0.5] * 2, seed=0), "chances must have 3 numbers"),
        (lambda: TableWorld(np.zeros((1, 1)), [1.5], seed=0), "chances must lie between 0 and 1"),
        (lambda: TableWorld(np.zeros((1, 1)), [0], size=0, seed=0), "size must be at least 1"),
        (lambda: TableWorld(np.zeros((1, 1)), [0], passes=0, seed=0), "passes must be at least 1"),
        (lambda: worlds()[2].deal(3), "t must be from 0 to 2"),
        (lambda: worlds()[2].deal(-1), "t must be from 0 to 2"),
        (lambda: worlds()[0].deal(-1), "t must be at least 0"),
        (lambda: LogisticWorld([math.nan], seed=0), "weights must be finite"),
        (lambda: LogisticWorld(U, items=0, seed=0), "items must be at least 1"),
        (lambda: CheckoutWorld(10, seed=0), "routes must be at most 9, got 10"),
        (lambda: CheckoutWorld(0, seed=0), "routes must be at least 1"),
        (lambda: CheckoutWorld(seed=0).deal(-1), "t must be at least 0"),
        (lambda: simulate(Random(rng=0), worlds()[0], PRICED), "rounds must be given"),
        (lambda: simulate(Random(rng=0), worlds()[2], PRICED, 4), "rounds must be at most 3"),
        (lambda: simulate(Random(rng=0), worlds()[0], PRICED, -1), "rounds must be at least 0"),
    ]:
        with pytest.raises(InvalidInput, match=sentence):
            make()


@pytest.mark.parametrize("number", range(3))
def test_simulate_ranks_plays_and_learns_round_after_round(number):
    world, payoffs = worlds()[number], [Payoffs.exponential(1 + t % 4) for t in range(3)]
    policy, twin = (named("ind", dim=3, max_budget=4, exploration=1.0) for _ in range(2))
    run = simulate(policy, world, lambda t: payoffs[t], 3)
    for t in range(3):
        dealt = world.deal(t)
        ranking = twin.rank(dealt.items, payoffs[t])
        outcome = dealt.play(ranking.order)
        twin.learn(ranking, outcome)
        assert run.rewards[t] == payoffs[t].reward(outcome)
        assert run.expected[t] == dealt.value(ranking.order, payoffs[t])
        assert run.optimum[t] == dealt.optimum(payoffs[t]) >= run.expected[t] - 1e-12
        assert run.hindsight[t] == dealt.hindsight(payoffs[t]) >= run.rewards[t]
        assert (run.lengths[t], run.tried[t]) == (len(ranking), outcome.tried)
    assert policy.to_bytes() == twin.to_bytes()


def test_simulate_plays_all_rounds_of_a_table_and_shows_its_progress():
    seen = []

    def progress(rounds):
        for t in rounds:
            seen.append(t)
            yield t

    world = TableWorld(np.zeros((25, 3)), np.full(25, 0.5), size=10, seed=1)
    run = simulate(Random(rng=0), world, Payoffs.vanilla(7), progress=progress)
    assert seen == [0, 1, 2]
    assert run.lengths.tolist() == [7, 7, 5]
    assert len(simulate(Random(rng=0), world, PRICED, 0).rewards) == 0


def made_up(rewards, expected=(), optimum=(), hindsight=()):
    count = np.zeros(len(rewards), int)
    return Run(*map(np.array, (rewards, expected, optimum, hindsight)), count, count)


def test_metrics_are_what_they_say():
    run = made_up([1.0, -0.5, 0.5, 1.0], [0.5, 0.2, 0.1, 0.4], [0.6, 0.4, 0.4, 0.4], [1.0] * 4)
    random = made_up([0.0, -0.5, 0.5, -1.0])
    assert cumulative_reward(run) == 2.0
    assert average_reward(run) == pytest.approx([1.0, 0.25, 1 / 3, 0.5])
    assert ncr(run, random) == pytest.approx(3.0 / 5.0)
    assert ncr_published(run, random) == pytest.approx(3.0 / 6.0)
    assert pseudo_regret(run) == pytest.approx([0.1, 0.3, 0.6, 0.6])
    assert scaled_regret(run, 0.5) == pytest.approx([-0.2, -0.2, -0.1, -0.3])
    ratios = np.array([1.0, 0.5, 0.5, 0.0])
    assert scaled_regret(run, ratios) == pytest.approx([0.1, 0.1, 0.2, -0.2])
    perfect = made_up([1.0, 1.0], hindsight=[1.0, 1.0])
    assert math.isnan(ncr(perfect, perfect))
    assert ncr_published(perfect, perfect) == 0.0
    assert ncr_published(made_up([1.0, 0.0], hindsight=[1, 1]), perfect) == -1.0
    with pytest.raises(InvalidInput, match="random must have 2 rounds, got 1"):
        ncr(perfect, made_up([0.0]))


STREAMED = {
    "rand": lambda: named("rand", rng=1),
    "eps": lambda: named("eps", dim=3, max_budget=30, epsilon=0.3, rng=1),
    "ind": lambda: named("ind", dim=3, max_budget=30, exploration=0.1),
    "gl-cdcm": lambda: named("gl-cdcm", dim=3),
    "dep": lambda: named("dep", dim=3, max_budget=30, topics=np.eye(3), exploration=0.1),
}


@pytest.mark.parametrize(
    ("name", "payoffs"),
    [
        *((name, Payoffs.exponential(4)) for name in STREAMED),
        *((name, Payoffs.vanilla(30)) for name in ("ind", "dep")),
        *((name, Payoffs.exponential(30)) for name in ("ind", "dep")),
        *((name, Payoffs.linear(30, attempt_cost=0.02)) for name in ("ind", "dep")),
    ],
)
def test_a_run_through_a_stream_is_that_of_simulate_and_leaves_the_policy_alone(name, payoffs):
    rng = np.random.default_rng(0)
    items = np.abs(unit_rows(rng.standard_normal((395, 3))))
    world = TableWorld(items, 0.3 * rng.random(395), size=40, seed=1, passes=2)
    policy = STREAMED[name]()
    before = policy.to_bytes()
    played = run_stream(policy, Stream.of(world), payoffs)
    assert policy.to_bytes() == before
    run = simulate(policy, world, payoffs)
    assert played.rewards.tobytes() == run.rewards.tobytes()
    assert played.lengths.tobytes() == run.lengths.tobytes()
    assert played.tried.tobytes() == run.tried.tobytes()
    assert played.policy.to_bytes() == policy.to_bytes()


def test_an_order_is_made_no_further_than_needed(monkeypatch):
    budgets = []
    real = UCB.propose

    def watched(self, items, payoffs, budget=None, **more):
        budgets.append(budget)
        return real(self, items, payoffs, budget, **more)

    monkeypatch.setattr(UCB, "propose", watched)
    wins = np.zeros(200, np.bool_)
    wins[[3, 55]] = True
    stream = Stream(np.tile(np.eye(2), (100, 1)), np.array([0, 50, 100, 150, 200]), wins)
    run = run_stream(named("c-ucb1", dim=2), stream, Payoffs.vanilla(40))
    assert budgets[:2] == [8, 8]
    assert budgets[2:] == [8, 32, None] * 2
    assert run.lengths.tolist() == [40] * 4


def test_a_stream_with_fees_pays_them():
    stream = Stream(np.eye(3) / 2, np.array([0, 3]), np.array([False, False, True]))
    costs = stream.with_fees(0.1, 0.2, seed=1)
    run = run_stream(Random(rng=1), costs, Payoffs.vanilla(3))
    assert run.spent[0] == pytest.approx(1.0 - run.rewards[0])
    assert 0.1 * run.tried[0] <= run.spent[0] <= 0.2 * run.tried[0]
