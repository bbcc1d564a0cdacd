"""Intervals: by hand, and how often they cover a truth that is known exactly."""

import numpy as np
import pytest
from exact_world import LOGS, logged_by, true_value
from scipy import stats
from small_world import believing, chance, logged

from longrank import PlackettLuce
from longrank.logs import History, OutcomeModel, evaluate
from longrank.logs.evaluation.estimators import doubly_robust, importance
from longrank.logs.evaluation.evidence import gather
from longrank.logs.evaluation.intervals import (
    IntervalSettings,
    _grouped,
    betting,
    bootstrap,
    cautions,
    effective_size,
    lower,
    mean_interval,
    ratio,
    ratio_interval,
    score,
    stakes,
)
from longrank.logs.evaluation.outcome_model import Seen
from longrank.logs.evaluation.sample import Sample, robust_variance

RUNS, ROUNDS = 250, 300


def judged():
    return PlackettLuce(believing([1.5, -1.0]), temperature=0.5, rng=3)


@pytest.mark.parametrize("log", ["epsilon-greedy", "Plackett-Luce"])
def test_intervals_cover_the_truth_as_often_as_they_say(log):
    make, payoffs = LOGS[log]
    world = logged_by(make(), payoffs)
    truth, found = true_value(judged(), payoffs), world.evidence(judged())
    rng, covered = np.random.default_rng(5), np.zeros(2)
    for seed in range(RUNS):
        rows = world.sample(ROUNDS, rng)
        settings = IntervalSettings(resamples=200, seed=seed)
        here = found.take(rows)
        sample = Sample(here, settings)
        for i, one in enumerate((importance(sample), doubly_robust(sample))):
            covered[i] += one.low <= truth <= one.high
    # what leaves room for the unseen, or holds for every number, covers more than it says
    assert (covered >= stats.binom.ppf(0.001, RUNS, 0.95)).all(), covered / RUNS


def test_what_is_staked_on_a_value_depends_neither_on_it_nor_on_what_follows():
    values = np.random.default_rng(2).random(40)
    other = np.where(np.arange(40) < 20, values, 5.0)
    np.testing.assert_array_equal(stakes(values, 0.05)[:21], stakes(other, 0.05)[:21])


def test_each_end_of_an_interval_by_betting_errs_with_half_the_risk():
    values = np.random.default_rng(3).random(50)
    low, high = betting(values, 1.0 - values, 0.05)
    assert (low, high) == (lower(values, 0.025), 1.0 - lower(1.0 - values, 0.025))


NOTHING = Seen(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))


@pytest.mark.parametrize(("log", "early"), [*zip(LOGS, (0.0, 0.4, 0.4), strict=True)])
def test_a_model_that_is_right_expects_the_squares_that_there_are(log, early):
    make, payoffs = LOGS[log]
    world = logged_by(make(), payoffs, early)
    weights, stops = np.array([[1.5, -1.0, 0.0]]), np.array([[0.0, early, early, 0.0]])
    model = OutcomeModel(weights, stops, None, NOTHING)
    found = gather(judged(), History(world.rows), model, draws=0)
    sums = (found.weights * found.deltas).sum(axis=1)
    for power, expected in zip((2, 4), found.expected.T, strict=True):
        assert world.chances @ sums**power == pytest.approx(world.chances @ expected, rel=1e-9)


def test_the_log_is_believed_as_far_as_it_contradicts_the_model():
    rng = np.random.default_rng(0)
    starts, sums = rng.normal(size=2000), rng.normal(size=2000)
    terms = starts + sums

    def found(terms, sums, square, fourth):
        return 2000 * robust_variance(terms, sums, np.tile([square, fourth], (2000, 1)))

    right = found(terms, sums, 1.0, 3.0)  # of a standard normal
    assert right == pytest.approx(terms.var() - (sums**2).mean() + 1.0)
    wrong = found(terms, sums, 0.3, 0.27)
    assert wrong == pytest.approx(terms.var(), rel=0.01)
    rare = np.where(np.arange(2000) == 0, -40.0, 0.0)  # seen once, and expected twice
    seen = (starts + rare).var()
    assert found(starts + rare, rare, 1.6, 2560.0) == pytest.approx(seen + 0.8)


def resampled(values, **settings):
    """The bootstrap of a mean."""
    return bootstrap(values[:, None], lambda mean: mean[:, 0], values, IntervalSettings(**settings))


def test_the_bootstrap_of_a_symmetric_mean_is_that_of_student():
    values = np.random.default_rng(0).normal(size=400)
    wanted = stats.t.interval(0.95, 399, values.mean(), values.std(ddof=1) / 20.0)
    np.testing.assert_allclose(resampled(values, resamples=4000), wanted, atol=0.006)


def test_the_bootstrap_of_very_many_resamples_groups_of_them(monkeypatch):
    values = np.random.default_rng(0).exponential(size=10_003) ** 2
    alone = resampled(values)
    monkeypatch.setattr("longrank.logs.evaluation.intervals._GROUPS", 3_000)
    grouped = resampled(values)
    assert grouped != alone
    assert grouped == pytest.approx(alone, rel=0.01)
    assert _grouped(values).mean() == pytest.approx(values.mean(), rel=1e-12)


def test_the_bootstrap_reaches_further_where_the_tail_is_without_end_if_that_is_one_decision():
    values = np.random.default_rng(0).lognormal(sigma=1.5, size=300)
    low, high = resampled(values)
    assert high - values.mean() > 1.5 * (values.mean() - low)
    np.testing.assert_allclose(resampled(-values), (-high, -low), rtol=0.01)
    values = np.zeros(50)
    assert resampled(values) == (0.0, 0.0)
    values[7] = 1.0
    low, high = resampled(values)
    assert (low <= 0.02, high) == (True, np.inf)


def test_room_is_left_for_what_was_too_rare_to_be_seen():
    """As if two more decisions had earned the most, or the least, that can be earned."""
    z = stats.norm.ppf(0.975)
    more = z**2 / 2.0
    values = np.append(np.zeros(200 - 30), np.ones(30))
    low, high, method = mean_interval(values, (0.0, 1.0), IntervalSettings())
    assert method == "normal"
    n, rate = 200.0, 0.15
    for end, extreme, sign in ((low, 0.0, -1.0), (high, 1.0, 1.0)):
        middle = (n * rate + more * extreme) / (n + more)
        square = n * values.var(ddof=1) + n * (rate - middle) ** 2 + more * (extreme - middle) ** 2
        assert end == pytest.approx(middle + sign * z * np.sqrt(square) / (n + more))
    low, high, _ = mean_interval(np.zeros(200), (0.0, 1.0), IntervalSettings())
    assert low == 0.0
    exact = 1.0 - 0.025 ** (1.0 / 200.0)  # Clopper, Pearson
    assert exact < high < 1.5 * exact
    assert score(2.0, 0.01, 100.0, (0.0, 1.0), IntervalSettings())[1] == 1.0


@pytest.mark.parametrize("n", [20, 120, 1000])
def test_the_interval_of_a_rate_covers_it(n):
    """Exactly: with the probability of each number of successes."""
    for rate in (0.01, 0.1, 0.5):
        covered = 0.0
        for wins, likely in enumerate(stats.binom.pmf(np.arange(n + 1), n, rate)):
            if likely > 1e-6:
                values = np.random.default_rng(wins).permutation(np.arange(n) < wins).astype(float)
                low, high, _ = mean_interval(values, (0.0, 1.0), IntervalSettings())
                assert low < high
                covered += likely * (low <= rate <= high)
        assert covered >= 0.93


def test_a_ratio_with_equal_weights_is_a_mean_and_influence_is_how_far_a_decision_moves_it():
    terms, weights = np.random.default_rng(0).lognormal(size=(200, 1)), np.full((200, 1), 2.0)
    assert effective_size(weights[:, 0]) == pytest.approx(200.0)
    value, low, high = ratio_interval(terms, weights, IntervalSettings())
    assert value == pytest.approx(terms.mean() / 2.0)
    np.testing.assert_allclose((low, high), resampled(terms[:, 0] / 2.0), rtol=1e-9)
    rng = np.random.default_rng(0)
    plain, terms, weights = rng.normal(size=50), rng.random((50, 2)), rng.random((50, 2))
    value, influence = ratio(plain, terms, weights)
    for i in range(3):  # a little more of decision i
        more = np.append(np.arange(50).repeat(1000), i)
        moved, _ = ratio(plain[more], terms[more], weights[more])
        assert (moved - value) * len(more) == pytest.approx(influence[i] - plain.mean(), rel=1e-3)


def test_few_effective_decisions_get_intervals_that_hold_for_every_number():
    def methods(rounds, **settings):
        history = History(logged(chance(2), rounds, 1))  # whose weights are not doubtful by chance
        found = evaluate(history, {"x": chance(temperature=0.8)}, resamples=20, **settings)
        noted = {e.estimator for e in found if any("by betting" in n for n in e.notes)}
        assert noted == {e.estimator for e in found if e.method == "betting"}
        return {e.estimator: e.method for e in found if not e.refused}

    few, many = methods(60), methods(300)
    weighted = ("importance sampling", "importance sampling, self-normalised")
    doubly = ("doubly robust", "doubly robust, self-normalised")
    assert {few[name] for name in (*weighted, *doubly, "mean reward")} == {"betting"}
    assert {many[name] for name in weighted} == {"bootstrap"}
    assert {many[name] for name in (*doubly, "mean reward")} == {"normal"}
    certain = methods(300, interval="betting")
    assert {certain[name] for name in (*weighted, *doubly, "mean reward")} == {"betting"}
    assert cautions(100.0, "bootstrap") == ()
    sizes = [effective_size(np.array(weights)) for weights in ([1.0, 0.0, 0.0], [0.0] * 3)]
    assert sizes == [1.0, 0.0]
