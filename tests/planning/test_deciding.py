"""One decision: at each position the best by its score, whatever the features are."""

import math

import numpy as np
import pytest

from every_part import FEATURES
from longrank import UCB, Blocks, Laplace, Payoffs, Records, Ridge, unit_rows
from longrank.planning import Optimism, Round, decide, follow
from longrank.testing import RecordRounds

ITEMS = unit_rows(np.random.default_rng(1).random((9, 4)) ** 3)
MAPS = FEATURES | {"arrays": lambda: Records(dim=4)}


def learner_of(length, kind=Laplace):
    learner, rng = kind(length), np.random.default_rng(length)
    factor = rng.normal(size=(length, length))
    factor /= np.linalg.norm(factor)  # no covariance exceeds that of the prior
    learner.weights[:], learner.inverse[:] = rng.normal(size=length), factor @ factor.T
    return learner


def blocks(length):
    learner = Blocks()
    learner.extend(length)
    return learner


def along(features, candidates, order):
    rows = features.along(candidates, np.array(order))
    return rows.dense if features.sparse else rows


def dealt(features, items, count, length=None):
    return Round(features, features.encode(items, length), Payoffs.vanilla(count), count)


@pytest.mark.parametrize(
    ("name", "bonus"),
    [*((name, 0.7) for name in MAPS), ("plain", -0.5), ("arrays", -0.5), ("maximum", 0.0)],
)
def test_each_position_has_the_best_item_given_those_above_it(name, bonus):
    features = MAPS[name]()
    length = len(along(features, features.encode(ITEMS, None), [0])[0])
    learner = learner_of(length, blocks if features.sparse else Laplace)
    this = dealt(features, ITEMS, 9, length)
    ranking = decide(learner, this, Optimism(bonus))
    rows = along(features, this.candidates, ranking.order)
    np.testing.assert_array_equal(ranking.features, rows)
    estimates = learner.link.probability(rows @ learner.weights)
    np.testing.assert_allclose(ranking.estimates, estimates, rtol=1e-12)
    for i in range(9):
        for other in np.setdiff1d(np.arange(9), ranking.order[:i]):
            row = along(features, this.candidates, [*ranking.order[:i], other])[-1]
            score = row @ learner.weights + bonus * math.sqrt(row @ learner.inverse @ row)
            assert learner.link.probability(score) <= ranking.probabilities[i] + 1e-12
    hopeless = decide(learner, this, Optimism(-9.0))  # whatever the scores, each once
    assert sorted(hopeless.order.tolist()) == list(range(9))
    equal = dealt(features, np.tile(ITEMS[0], (5, 1)), 5, length)
    assert decide(learner, equal, Optimism(bonus)).order.tolist() == [0, 1, 2, 3, 4]


def test_bonuses_of_their_own_and_drawn_weights_decide_and_a_ceiling_makes_equal():
    this, learner = dealt(FEATURES["plain"](), ITEMS, 9, 4), learner_of(4)
    bonus = np.random.default_rng(2).normal(size=9)
    means, widths = learner.score(ITEMS)
    order = decide(learner, this, Optimism(bonus)).order
    assert order.tolist() == np.argsort(-(means + bonus * widths), kind="stable").tolist()
    drawn = np.random.default_rng(3).normal(size=4)
    ranking = decide(learner, this, Optimism(weights=drawn))
    assert ranking.order.tolist() == np.argsort(-(ITEMS @ drawn), kind="stable").tolist()
    estimates = learner.link.probability(means[ranking.order])
    np.testing.assert_allclose(ranking.estimates, estimates, rtol=1e-12)
    ranking = decide(learner_of(4, Ridge), this, Optimism(1e3))
    assert ranking.order.tolist() == list(range(9))
    assert (ranking.probabilities == 1.0).all()


@pytest.mark.parametrize("priced", [False, True])
def test_records_are_ranked_by_their_scores(priced):
    policy = UCB(Blocks(), exploration=0.25)
    RecordRounds.play(policy, range(12))
    features, learner = policy.features, policy.learner
    records = RecordRounds.candidates(13, np.random.default_rng(1))
    size = len(records)
    this = dealt(features, records, size)
    if priced:
        this = this._replace(payoffs=this.payoffs.priced(np.zeros(size)))
    ranking = decide(learner, this, Optimism(0.5))
    means, widths = learner.score(features.rows(this.candidates))
    scores = means + 0.5 * widths
    assert ranking.order.tolist() == np.argsort(-scores, kind="stable").tolist()
    chances = learner.link.probability(scores[ranking.order])
    np.testing.assert_allclose(ranking.probabilities, chances, rtol=1e-12)
    assert ranking.features == features.along(this.candidates, ranking.order)
    nameless = {name: value for name, value in records[0].items() if name != "id"}
    same = dealt(features, [nameless] * 5, 5)
    assert decide(learner, same, Optimism(0.5)).order.tolist() == [0, 1, 2, 3, 4]


def test_a_given_order_is_followed_for_as_long_as_it_pays():
    features, learner = FEATURES["plain"](), Laplace(4)
    learner.weights[0] = 20.0
    items, costly = np.eye(4), Payoffs.linear(4, attempt_cost=0.2)
    this = dealt(features, items, 4, 4)._replace(payoffs=costly)
    learner.weights[1:] = -20.0
    assert len(follow(learner, this, np.array([1, 0, 2]))) == 2
    assert len(follow(learner, this._replace(minimum=3), np.array([1, 0, 2]))) == 3
