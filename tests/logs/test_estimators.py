"""Estimates on worlds whose truth is known; benchmarks/logs.py has the full counts."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from small_world import FREE, PAYOFFS, TRUTH, believing, chance, greedy, logged

from longrank import EpsilonGreedy, InvalidInput, Outcome, Payoffs, PlackettLuce, Random
from longrank.logs import ESTIMATORS, History, evaluate, fit
from longrank.logs.evaluate import gather
from longrank.logs.importance import importance, no_support, self_normalised
from longrank.logs.model import calibration, values_along
from longrank.logs.robust import doubly_robust
from longrank.logs.value import Settings, bernstein, bootstrap, effective_size
from longrank.simulation import LogisticWorld

JUDGED = {
    "greedy": lambda: greedy([2.0, -1.0, 1.0, 0.0]),
    "chance": lambda: PlackettLuce(believing([2.0, -1.0, 1.0, 0.0]), temperature=0.5, rng=3),
    "epsilon": lambda: EpsilonGreedy(believing([2.0, -1.0, 1.0, 0.0]), epsilon=0.3, rng=3),
    "short": lambda: greedy([1.5, -2.0, 0.0, -0.5]),
}


def earned(policy, rounds, seed, payoffs=PAYOFFS):
    """What a policy earns in the very rounds of a log, with the very same luck."""
    world = LogisticWorld(TRUTH, items=5, seed=seed)
    rewards = []
    for t in range(rounds):
        dealt = world.deal(t)
        rewards.append(payoffs.reward(dealt.play(policy.rank(dealt.items, payoffs).order)))
    return np.array(rewards)


def true_value(policy, payoffs=PAYOFFS, early=0.0, rounds=2500):
    world, policy = LogisticWorld(TRUTH, items=5, seed=10**6), copy.deepcopy(policy)
    total = 0.0
    for t in range(rounds):
        dealt = world.deal(t)
        order = policy.rank(dealt.items, payoffs).order
        stops = np.append(0.0, np.full(len(order), early))
        total += values_along(dealt.probabilities(order), stops, payoffs)[0]
    return total / rounds


# -- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["greedy", "short"])
@pytest.mark.parametrize("payoffs", [PAYOFFS, FREE, Payoffs.exponential(3)])
def test_what_a_policy_would_have_earned_lies_in_the_bounds_in_every_decision(name, payoffs):
    for seed in range(2):
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
    found = {e.estimator: e for e in evaluate({"same": maker}, history, resamples=50)}
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


@pytest.mark.parametrize(("order", "outcome", "judged", "wanted"), BOUNDS.values(), ids=BOUNDS)
def test_bounds_by_hand(order, outcome, judged, wanted):
    from longrank.logs.bounds import bound
    from longrank.logs.decision import Decision
    from longrank.logs.target import Target
    from longrank.policies.randomised import certain_choices

    payoffs = Payoffs([1.0, 0.5, 0.2], [0.0, -0.1, -0.2, -0.3])
    played = np.array(order, np.int64)
    decision = Decision(1, 1, played, outcome, np.zeros((4, 1)), payoffs=payoffs, budget=3)
    other = np.array(judged, np.int64)
    target = Target(certain_choices(other, 4, played), other, len(other))
    np.testing.assert_allclose(bound(decision, target), wanted, atol=1e-12)


# -- refusals -------------------------------------------------------------------------------------


def test_a_deterministic_log_is_refused_with_the_reason_and_gets_bounds():
    rows = logged(greedy([0.5, 0.5, 0.5, 0.5]), 60)
    without = {e.estimator: e for e in evaluate({"x": JUDGED["greedy"]()}, History(rows))}
    assert "a deterministic policy made the log" in without["importance sampling"].refused
    certain = [
        row | {"propensity": 1.0, "prefix_propensities": [1.0] * len(row["order"])} for row in rows
    ]
    found = {e.estimator: e for e in evaluate({"x": JUDGED["greedy"]()}, History(certain))}
    for name in ("importance sampling", "doubly robust", "importance sampling, self-normalised"):
        assert "a deterministic log gives bounds only" in found[name].refused
    assert "a deterministic log shows only what it played" in found["replay"].refused
    for estimates in (without, found):
        assert not estimates["bounds"].refused
        assert estimates["bounds"].low < estimates["bounds"].high
        assert not estimates["model"].refused


def test_a_policy_that_stops_where_the_log_never_does_is_refused():
    history = History(logged(Random(rng=1), 100, items=3))
    stops = greedy([6.0, 0.0, 0.0, 0.0])
    found = {e.estimator: e for e in evaluate({"x": stops}, history, resamples=10)}
    assert "it always uses up the budget" in found["importance sampling"].refused
    assert "it always uses up the budget" in found["doubly robust"].refused


def test_weights_that_do_not_average_1_are_refused():
    weights, last = np.full((400, 2), 0.3), np.zeros(400, np.int64)
    assert "the weights average 0.300 in place of 1" in no_support(weights, last, np.zeros(400))
    assert "began as this policy would" in no_support(0.0 * weights, last, np.zeros(400))
    assert no_support(weights / 0.3, last, np.zeros(400)) == ""


def test_a_log_without_candidates_or_payoffs_is_refused_with_the_reason(sound):
    rows = [{k: v for k, v in row.items() if k != "items"} for row in sound()]
    found = evaluate({"x": greedy([0.0, 0.0])}, History(rows))
    assert [e.estimator for e in found] == list(ESTIMATORS)
    assert {e.refused for e in found} == {"3 of 3 decisions have no items"}


def test_replay_wants_equally_likely_sequences_and_a_match():
    found = {
        e.estimator: e for e in evaluate({"x": JUDGED["greedy"]()}, History(logged(chance(), 50)))
    }
    assert "not equally likely" in found["replay"].refused
    few = {
        e.estimator: e
        for e in evaluate({"x": JUDGED["greedy"]()}, History(logged(Random(rng=1), 3, 0, FREE)))
    }
    assert "none of the 3 decisions played" in few["replay"].refused


def test_settings_out_of_range_are_refused(sound):
    with pytest.raises(InvalidInput, match="interval must be 'bootstrap' or 'bernstein'"):
        evaluate({}, History(sound()), interval="normal")


# -- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "early"), [("greedy", 0.0), ("chance", 0.4), ("epsilon", 0.0), ("short", 0.4)]
)
def test_importance_sampling_and_doubly_robust_are_right_on_average(name, early):
    truth = true_value(JUDGED[name](), early=early)
    values = []
    for seed in range(8):
        history = History(logged(chance(seed), 150, seed, early=early))
        found = gather(JUDGED[name](), history, fit(history), draws=0)
        final = found.weights[np.arange(150), found.last]
        terms = found.starts + (found.weights * found.deltas).sum(axis=1)
        values.append([(final * found.rewards).mean(), terms.mean()])
    means, errors = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / np.sqrt(8)
    assert (np.abs(means - truth) < 4.0 * errors + 0.02).all()


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    truth = true_value(JUDGED["chance"]())
    covered = np.zeros(2)
    for seed in range(12):
        history = History(logged(chance(seed), 150, 100 + seed))
        found = gather(JUDGED["chance"](), history, fit(history), draws=0)
        settings = Settings(resamples=200, seed=seed)
        args = found.starts, found.deltas, found.weights, 0.0, settings
        for i, one in enumerate(
            (
                importance("", found.rewards, found.weights, found.last, settings),
                doubly_robust("", *args),
            )
        ):
            covered[i] += one.low <= truth <= one.high
    assert (covered >= 9).all()  # of 12; 11 are expected


def test_every_estimator_finds_a_uniform_log_of_the_judged_policy():
    truth = true_value(JUDGED["greedy"](), FREE)
    history = History(logged(Random(rng=5), 1000, 7, FREE))
    found = evaluate({"x": JUDGED["greedy"]()}, history, resamples=200)
    assert not [e for e in found if e.refused]
    for e in found[1:]:
        assert e.low - 0.05 <= truth <= e.high + 0.05, str(e)
    replayed = {e.estimator: e for e in found}["replay"]
    assert 5 < replayed.rounds < 60


def test_the_formulas_of_open_bandit_pipeline_give_the_same_values():
    """RIPS, SNRIPS and Cascade-DR on arrays of shape (rounds, length), as it computes them."""
    policy, history = JUDGED["chance"](), History(logged(chance(), 120, 3, FREE))
    model = fit(history)
    found = gather(policy, history, model, draws=0)
    reward, theirs, ours = (np.zeros((120, 3)) for _ in range(3))
    q_hat, dist = np.zeros((120, 3, 5)), np.zeros((120, 3, 5))
    action = np.zeros((120, 3), np.int64)
    for i, d in enumerate(history.decisions()):
        action[i], ours[i] = d.order, d.prefix
        reward[i, d.outcome.tried - 1] = d.reward
        theirs[i] = policy.propensities(d.items, FREE, d.order)[:-1]
        dist[i] = policy.choices(d.items, FREE, d.order)[:3, :5]
        p = model.chances(d.items, i)
        for j in range(d.outcome.tried):
            mean, after = dist[i, j] @ p, FREE.losses[3]
            for further in range(2, j, -1):
                after = mean * FREE.rewards[further] + (1.0 - mean) * after
            q_hat[i, j] = p * FREE.rewards[j] + (1.0 - p) * after
    iw = theirs / ours
    before = np.concatenate([np.ones((120, 1)), iw[:, :-1]], axis=1)
    taken = np.take_along_axis(q_hat, action[:, :, None], axis=2)[:, :, 0]
    cascade_dr = (iw * (reward - taken) + before * (dist * q_hat).sum(axis=2)).sum() / 120
    settings = Settings(resamples=2)
    args = found.rewards, found.weights, found.last, settings
    assert importance("", *args).value == pytest.approx((reward * iw).sum() / 120, abs=1e-9)
    snrips = (reward * iw / iw.mean(axis=0)).sum() / 120
    assert self_normalised("", *args).value == pytest.approx(snrips, abs=1e-9)
    robust = doubly_robust("", found.starts, found.deltas, found.weights, 0.0, settings)
    assert robust.value == pytest.approx(cascade_dr, abs=1e-9)


def test_sequence_propensities_alone_serve_importance_sampling():
    rows = [
        {k: v for k, v in row.items() if k != "prefix_propensities"}
        for row in logged(chance(), 800, 5)
    ]
    found = {
        e.estimator: e for e in evaluate({"x": JUDGED["chance"]()}, History(rows), resamples=100)
    }
    truth = true_value(JUDGED["chance"]())
    assert found["importance sampling"].low - 0.1 < truth < found["importance sampling"].high + 0.1
    assert "no prefix_propensities" in found["doubly robust"].refused


def test_evaluation_leaves_the_policies_as_they_are():
    policies = {name: make() for name, make in JUDGED.items()}
    before = {name: policy.to_bytes() for name, policy in policies.items()}
    evaluate(policies, History(logged(chance(), 30)), resamples=5)
    assert {name: policy.to_bytes() for name, policy in policies.items()} == before


# -- parts ----------------------------------------------------------------------------------------


def test_the_bernstein_interval_is_wider_than_the_bootstrap_and_holds_the_mean():
    values = np.random.default_rng(0).random(400)
    settings = Settings(resamples=300)
    low, high = bernstein(values, 1.0, settings)
    narrow = bootstrap(values[:, None], lambda m: m[:, 0], settings)
    assert low < narrow[0] < values.mean() < narrow[1] < high
    log = np.log(4.0 / 0.05)
    reach = np.sqrt(2.0 * values.var(ddof=1) * log / 400) + 7.0 * log / (3.0 * 399)
    assert high == pytest.approx(values.mean() + reach)
    assert bernstein(values[:1], 1.0, settings) == (-np.inf, np.inf)


def test_bernstein_intervals_are_given_where_wanted():
    found = evaluate(
        {"x": JUDGED["chance"]()}, History(logged(chance(), 60)), interval="bernstein", resamples=20
    )
    by = {e.estimator: e.method for e in found}
    assert by["importance sampling"] == by["doubly robust"] == by["model"] == "bernstein"
    assert by["doubly robust, self-normalised"] == "bootstrap"


def test_the_effective_size_is_that_of_equal_weights():
    assert effective_size(np.ones(7)) == 7.0
    assert effective_size(np.array([1.0, 0.0, 0.0])) == 1.0
    assert effective_size(np.zeros(3)) == 0.0


def test_the_model_is_calibrated_where_it_is_right_and_knows_early_stops():
    history = History(logged(chance(), 1200, 3, early=0.3))
    model = fit(history)
    bins = calibration(model.predictions)
    assert len(bins) == 10
    assert max(abs(predicted - true) for predicted, true, _ in bins) < 0.12
    assert model.early(0, 2)[1] == pytest.approx(0.3, abs=0.06)
    assert model.early(0, 6)[-1] == 0.0
