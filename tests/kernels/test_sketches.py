"""A sketch bounds the scores that exact rows have, whatever the columns are like."""

from __future__ import annotations

import numpy as np
import pytest

from longrank import unit_rows
from longrank.features import Tabular
from longrank.kernels import KNOTS, normal_scores
from longrank.kernels.sketches import bound_scores, sketch

BONUS, PRIOR = 0.4, 0.5


def columns(rng, count):
    """Columns of every kind: tails, shifts, few values, tiny and huge units."""
    normal = rng.normal(size=count)
    return np.array(
        [
            normal,
            rng.standard_cauchy(count),
            np.exp(3.0 * rng.normal(size=count)),
            rng.integers(0, 5, count),
            rng.integers(0, 40, count),
            np.full(count, 3.0),
            rng.random(count) < 0.1,
            1e6 + rng.normal(size=count),
            1e-9 * rng.normal(size=count),
            1e12 * rng.uniform(-1.0, 1.0, count),
            1e-310 * rng.normal(size=count),
            np.where(rng.random(count) < 0.8, 0.0, normal),
            1e15 + rng.integers(0, 3, count),
        ],
        np.float64,
    ).T


def features_of(sample):
    features = Tabular(sample.shape[1])
    features._take(sample)
    assert features.settled
    return features


def test_a_guide_finds_what_halving_finds():
    rng = np.random.default_rng(0)
    sample = columns(rng, 256)
    view = features_of(sample).encode(sample, None).view
    guides, *curves = view[0]
    assert set(guides[:, -2]) > {1, KNOTS}  # columns with and without a guide
    items = np.concatenate(
        [sample, np.nextafter(sample, np.inf), np.nextafter(sample, -np.inf), columns(rng, 900)]
    )
    halving = guides.copy()
    halving[:, -2] = KNOTS
    found = normal_scores(items, (guides, *curves))
    assert found.tobytes() == normal_scores(items, (halving, *curves)).tobytes()


def assert_bounds_hold(items, features, rng):
    prepared = features.encode(items, None)
    rows, view, k = prepared.rows, prepared.view, len(items)
    for size in (0.0, 0.3, 3.0):
        weights = size * rng.normal(size=features.length)
        rough, lows, highs = sketch(view, weights, BONUS, PRIOR), np.empty(k), np.empty(k)
        for start in range(0, k, 96):
            part = slice(start, start + 96)
            bound_scores(items[part], view, rough, lows[part], highs[part])
        means = rows @ weights
        scores = means + BONUS * np.sqrt((rows * rows).sum(axis=1) / PRIOR)
        assert (lows <= means).all()
        assert (highs >= scores).all()
        # not as far as to be of no use
        assert np.median(highs - scores) <= 0.3 + 2.0 * means.std()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("wide", [False, True])
def test_no_mean_is_below_and_no_score_above_its_bound(dtype, wide):
    rng = np.random.default_rng(1)
    kinds = [columns(rng, 700) for _ in range(3 if wide else 1)]
    items = np.concatenate(kinds, axis=1).astype(dtype)
    features = features_of(items[:256].astype(np.float64))
    assert len(features.directions) == (16 if wide else 0)
    assert_bounds_hold(items, features, rng)


@pytest.mark.parametrize("dim", [6, 20])
def test_so_it_is_for_embeddings_whose_curves_are_straight(dim):
    rng = np.random.default_rng(2)
    items = unit_rows(rng.normal(size=(700, dim)))
    features = features_of(items[:256])
    turns = sketch(features.encode(items, None).view, np.zeros(features.length), BONUS, PRIOR)[0][1]
    assert (np.count_nonzero(turns, axis=1) == 1).all()
    beyond = np.where(rng.random((700, 1)) < 0.2, 3.0, 1.0)  # numbers that no row of the sample had
    assert_bounds_hold((items * beyond).astype(np.float32), features, rng)
