"""The pass over very many items, and who can still win after it."""

import math
from itertools import product

import numpy as np
import pytest

from longrank import kernels

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def case(shape, dtype):
    rng = np.random.default_rng(shape[0])
    items = (rng.normal(size=shape) * rng.random((shape[0], 1))).astype(dtype)
    weights = rng.normal(size=shape[1])
    exact = items.astype(np.float64)
    return items, weights, exact @ weights, np.sqrt((exact**2).sum(axis=1))


@DTYPES
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (256, 4), (3000, 20)])
def test_a_scan_finds_all_that_can_be_among_the_best(shape, dtype):
    for count in (1, 3, 700):
        for low, high in ((0.0, 0.0), (0.2, 0.7), (0.5, 0.5)):
            for ceiling in (math.inf, 0.4):
                items, weights, means, norms = case(shape, dtype)
                count = min(count, len(items))
                given = items, weights, low, high, ceiling, count
                row, square, best, chosen, bounds = kernels.scan(*given)
                assert row == np.argmax(norms)
                assert square == pytest.approx(norms.max() ** 2, rel=1e-12)
                sure, able = means + low * norms, means + high * norms
                surest = np.sort(sure)[-count:]
                np.testing.assert_allclose(np.sort(best), surest, rtol=1e-12, atol=1e-13)
                assert best[0] == best.min()
                np.testing.assert_allclose(bounds, able[chosen], rtol=1e-12, atol=1e-13)
                assert (np.diff(chosen) > 0).all()
                bar = min(best[0], ceiling)
                assert set(np.flatnonzero(able > bar + 1e-12)) <= set(chosen)


def test_a_scan_leaves_out_what_cannot_win_and_stops_at_the_first_row_that_is_not_finite():
    items, weights, _, norms = case((50_000, 8), np.float32)
    assert len(kernels.scan(items, weights, 0.01, 0.02, math.inf, 5)[3]) < 1000
    row, _, best, chosen, bounds = kernels.scan(items, weights, 0.0, 0.1, math.inf, 0)
    assert row == np.argmax(norms)
    assert len(best) == len(chosen) == len(bounds) == 0
    for bad, first in product((math.nan, math.inf, -math.inf), (2, 600)):
        items = np.full((900, 3), 0.1)
        items[first, 1] = items[first + 2, 0] = bad
        row, square, *_ = kernels.scan(items, np.ones(3), 0.0, 0.0, math.inf, 1)
        assert row == first
        assert not square < math.inf
