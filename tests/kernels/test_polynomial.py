"""Polynomials of items."""

import math

import numpy as np
import pytest

from longrank.kernels import expand


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("squares", [True, False])
def test_a_row_is_the_item_a_one_and_its_products(squares, dtype):
    items = np.array([[0.5, -0.25, 0.125], [0.0, 1.0, 0.0]], dtype)
    rows = expand(items, squares)
    assert rows.shape == (2, 10 if squares else 4)
    assert np.array_equal(rows[:, :3], items)
    assert (rows[:, 3] == 1.0).all()
    if squares:
        a, b, c = 0.5, -0.25, 0.125
        r = math.sqrt(2.0)
        expected = [a * a, r * a * b, r * a * c, b * b, r * b * c, c * c]
        np.testing.assert_allclose(rows[0, 4:], expected, rtol=1e-15)
    items = np.random.default_rng(0).normal(size=(20, 7)).astype(dtype)
    rows = expand(items, squares)[:, 8:]
    if squares:
        lengths = (items.astype(float) ** 2).sum(axis=1)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), lengths, rtol=1e-13)
    assert expand(np.empty((0, 3), dtype), squares).shape == (0, 10 if squares else 4)
