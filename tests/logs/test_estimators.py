"""Estimates against the truth of a world, and against the formulas of others."""

import numpy as np
import pytest
from small_world import FREE, JUDGED, TRUTH, chance, logged, weighted

from longrank import Random
from longrank.logs import History, evaluate, fit
from longrank.logs.evaluation.estimators import doubly_robust, importance, self_normalised
from longrank.logs.evaluation.evidence import gather
from longrank.logs.evaluation.intervals import IntervalSettings
from longrank.logs.evaluation.outcome_model import calibration
from longrank.logs.evaluation.sample import Sample
from longrank.simulation import LogisticWorld


def test_every_estimator_finds_a_uniform_log_of_the_judged_policy():
    policy, world = JUDGED["greedy"](), LogisticWorld(TRUTH, items=5, seed=10**6)
    dealt = [world.deal(t) for t in range(2500)]
    truth = np.mean([one.value(policy.rank(one.items, FREE).order, FREE) for one in dealt])
    history = History(logged(Random(rng=5), 1000, 7, FREE))
    found = evaluate(history, {"x": JUDGED["greedy"]()}, resamples=200)
    assert not [e for e in found if e.refused]
    for e in found[1:]:
        if e.estimator == "model":
            assert e.value == pytest.approx(truth, abs=0.05)
            assert np.isnan([e.low, e.high]).all()
        else:
            assert e.low <= truth <= e.high, str(e)
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
        action[i], ours[i] = d.order, d.prefix_propensities
        reward[i, d.outcome.tried - 1] = d.reward
        theirs[i] = policy.propensities(d.items, FREE, d.order)[:-1]
        dist[i] = policy.choices(d.items, FREE, d.order)[:3, :5]
        p = model.predict(d)
        for j in range(d.outcome.tried):
            mean, after = dist[i, j] @ p, FREE.losses[3]
            for further in range(2, j, -1):
                after = mean * FREE.rewards[further] + (1.0 - mean) * after
            q_hat[i, j] = p * FREE.rewards[j] + (1.0 - p) * after
    iw = theirs / ours
    before = np.concatenate([np.ones((120, 1)), iw[:, :-1]], axis=1)
    taken = np.take_along_axis(q_hat, action[:, :, None], axis=2)[:, :, 0]
    cascade_dr = (iw * (reward - taken) + before * (dist * q_hat).sum(axis=2)).sum() / 120
    sample = Sample(found, IntervalSettings(resamples=2))
    assert importance(sample).value == pytest.approx((reward * iw).sum() / 120, abs=1e-9)
    snrips = (reward * iw / iw.mean(axis=0)).sum() / 120
    assert self_normalised(sample).value == pytest.approx(snrips, abs=1e-9)
    robust = doubly_robust(sample)
    assert robust.value == pytest.approx(cascade_dr, abs=1e-9)


def test_weights_that_are_off_by_chance_are_noted():
    settings = IntervalSettings(resamples=2)
    for average in (0.85, 1.0, 1.2):
        weights = np.random.default_rng(0).exponential(size=(400, 1))
        weights *= average / weights.mean()
        noted = "".join(importance(Sample(weighted(weights), settings)).notes)
        assert (f"average {average:.2f} instead of 1" in noted) == (average != 1.0)


def test_evaluation_leaves_the_policies_as_they_are():
    policies = {name: make() for name, make in JUDGED.items()}
    before = {name: policy.to_bytes() for name, policy in policies.items()}
    evaluate(History(logged(chance(), 30)), policies, resamples=5)
    assert {name: policy.to_bytes() for name, policy in policies.items()} == before


def test_the_model_is_calibrated_where_it_is_right_and_knows_early_stops():
    history = History(logged(chance(), 1200, 3, early=0.3))
    model = fit(history)
    bins = calibration(model.predictions)
    assert len(bins) == 10
    assert max(abs(predicted - true) for predicted, true, _ in bins) < 0.12
    assert model.stops[-1, 1] == pytest.approx(0.3, abs=0.06)
