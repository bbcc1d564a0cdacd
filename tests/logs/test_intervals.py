"""Intervals: by hand, and how often they cover a truth that is known exactly."""

from __future__ import annotations

import numpy as np
import pytest
from exact_world import LOGS, logged_by, true_value
from scipy import stats
from small_world import JUDGED, believing, chance, logged

from longrank import PlackettLuce
from longrank.logs import History, OutcomeModel, evaluate
from longrank.logs.evaluation.estimators import doubly_robust, importance, robust_variance
from longrank.logs.evaluation.evidence import gather
from longrank.logs.evaluation.intervals import (
    IntervalSettings,
    bernstein,
    bootstrap,
    cautions,
    effective_size,
    mean_interval,
    normal,
    ratio,
    ratio_interval,
)

RUNS, ROUNDS = 800, 400


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
        for i, one in enumerate((importance(here, settings), doubly_robust(here, settings))):
            covered[i] += one.low <= truth <= one.high
    least, most = stats.binom.ppf([0.001, 0.999], RUNS, [0.93, 0.97])
    assert (covered >= least).all(), covered / RUNS
    assert (covered <= most).all(), covered / RUNS


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("early", [0.0, 0.4])
def test_a_model_that_is_right_expects_the_squares_that_there_are(log, early):
    make, payoffs = LOGS[log]
    world = logged_by(make(), payoffs, early)
    model = OutcomeModel(np.array([[1.5, -1.0, 0.0]]), np.array([[0.0, early, early, 0.0]]), None)
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


def test_the_bootstrap_of_a_symmetric_mean_is_that_of_student():
    values = np.random.default_rng(0).normal(size=400)
    low, high, method = mean_interval(values, 1.0, IntervalSettings(resamples=4000))
    wanted = stats.t.interval(0.95, 399, values.mean(), values.std(ddof=1) / 20.0)
    np.testing.assert_allclose((low, high), wanted, atol=0.006)
    found = normal(float(values.mean()), values.var() / 400, IntervalSettings())
    np.testing.assert_allclose(found, wanted, atol=0.002)
    assert method == "bootstrap"


def test_the_bootstrap_reaches_further_where_the_tail_is():
    values = np.random.default_rng(0).lognormal(sigma=1.5, size=300)
    low, high, _ = mean_interval(values, 1.0, IntervalSettings())
    assert high - values.mean() > 1.5 * (values.mean() - low)
    mirrored = mean_interval(-values, 1.0, IntervalSettings())
    np.testing.assert_allclose(mirrored[:2], (-high, -low), rtol=0.01)


def test_what_hangs_on_one_decision_has_no_upper_end_and_what_never_varies_has_both():
    values = np.zeros(50)
    assert mean_interval(values, 1.0, IntervalSettings())[:2] == (0.0, 0.0)
    values[7] = 1.0
    low, high, _ = mean_interval(values, 1.0, IntervalSettings())
    assert (low <= 0.02, high) == (True, np.inf)


def test_a_ratio_with_equal_weights_is_a_mean():
    terms, weights = np.random.default_rng(0).lognormal(size=(200, 1)), np.full((200, 1), 2.0)
    value, low, high = ratio_interval(terms, weights, IntervalSettings())
    assert value == pytest.approx(terms.mean() / 2.0)
    wanted = mean_interval(terms[:, 0] / 2.0, 1.0, IntervalSettings())[:2]
    np.testing.assert_allclose((low, high), wanted, rtol=1e-9)


def test_the_influence_of_a_decision_is_how_far_it_moves_a_ratio():
    rng = np.random.default_rng(0)
    plain, terms, weights = rng.normal(size=50), rng.random((50, 2)), rng.random((50, 2))
    value, influence = ratio(plain, terms, weights)
    for i in range(3):  # a little more of decision i
        more = np.append(np.arange(50).repeat(1000), i)
        moved, _ = ratio(plain[more], terms[more], weights[more])
        assert (moved - value) * len(more) == pytest.approx(influence[i] - plain.mean(), rel=1e-3)


def test_few_effective_decisions_are_noted_by_every_estimator_with_an_interval():
    def noted(rounds, **settings):
        history = History(logged(chance(), rounds))
        found = evaluate(history, {"x": JUDGED["chance"]()}, resamples=20, **settings)
        return {e.estimator for e in found if any("may be too narrow" in n for n in e.notes)}

    weighted = {"importance sampling", "importance sampling, self-normalised"}
    doubly = {"doubly robust", "doubly robust, self-normalised"}
    assert noted(60) == weighted | doubly | {"model", "mean reward"}
    assert noted(150) == weighted | doubly
    assert noted(150, interval="bernstein") == weighted | doubly
    assert noted(500) == set()
    assert cautions(100.0, "bootstrap") == ()


def test_the_bernstein_interval_is_wider_than_the_bootstrap_and_holds_the_mean():
    values = np.random.default_rng(0).random(400)
    settings = IntervalSettings(resamples=300)
    low, high = bernstein(values, 1.0, settings)
    narrow = bootstrap(values[:, None], lambda m: m[:, 0], values, settings)
    assert low < narrow[0] < values.mean() < narrow[1] < high
    log = np.log(4.0 / 0.05)
    reach = np.sqrt(2.0 * values.var(ddof=1) * log / 400) + 7.0 * log / (3.0 * 399)
    assert high == pytest.approx(values.mean() + reach)
    assert bernstein(values[:1], 1.0, settings) == (-np.inf, np.inf)


def test_bernstein_intervals_are_given_where_wanted():
    found = evaluate(
        History(logged(chance(), 60)), {"x": JUDGED["chance"]()}, interval="bernstein", resamples=20
    )
    by = {e.estimator: e.method for e in found}
    assert by["importance sampling"] == by["doubly robust"] == by["model"] == "bernstein"
    assert by["doubly robust, self-normalised"] == "normal"
    assert by["importance sampling, self-normalised"] == "bootstrap"


def test_the_effective_size_is_that_of_equal_weights():
    assert effective_size(np.ones(7)) == 7.0
    assert effective_size(np.array([1.0, 0.0, 0.0])) == 1.0
    assert effective_size(np.zeros(3)) == 0.0
