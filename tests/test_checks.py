"""The border: what becomes an array or a number, and what is refused in which words."""

import math

import numpy as np
import pytest

from longrank import unit_rows
from longrank.checks import floats, generator, items, real, vector, whole


def test_numbers_of_numpy_come_back_as_those_of_python():
    for value in (3, np.int64(3), np.uint8(3)):
        assert type(whole("n", value)) is int
        assert whole("n", value, minimum=3) == 3
    for value in (1, 1.0, np.float32(1.0), np.int64(1)):
        assert type(real("x", value)) is float
        assert real("x", value, minimum=1.0, maximum=1.0, above=0.5) == 1.0
    assert real("x", math.inf, infinite=True) == math.inf


def test_read_only_and_empty_arrays_are_accepted_and_a_vector_is_a_copy():
    for size in (10, 1 << 18):
        value = np.ones((size, 1))
        value.flags.writeable = False
        assert floats("x", value, 2).shape == (size, 1)
    for ndim in (1, 2):
        assert floats("x", [], ndim).shape == (0,) * ndim
    for empty in ([], np.empty((0, 7)), np.empty((0, 3), np.float32)):
        assert items(empty, 3, unit=True).shape == (0, 3)
    value = np.ones(3)
    assert not np.shares_memory(vector("x", value), value)


def test_rows_of_norm_one_are_accepted_and_longer_ones_where_their_norm_does_not_matter():
    rows = unit_rows(np.random.default_rng(1).normal(size=(200, 50)))
    for dtype in (np.float64, np.float32):
        assert len(items(rows.astype(dtype), 50, unit=True)) == 200
    assert items([[3.0, 4.0], [1e200, 0.0]], 2, unit=False).shape == (2, 2)


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1.0, 1e300])
def test_unit_rows_have_norm_one_at_any_scale_and_leave_their_argument_alone(scale):
    value = np.array([[3.0, -4.0], [0.0, 0.0], [1.0, 0.0]]) * scale
    before = value.copy()
    expected = [[0.6, -0.8], [0.0, 0.0], [1.0, 0.0]]
    np.testing.assert_allclose(unit_rows(value), expected, rtol=1e-15)
    np.testing.assert_array_equal(value, before)
    assert unit_rows([]).shape == (0, 0)


def test_a_generator_is_given_as_such_or_as_a_seed():
    rng = np.random.default_rng(5)
    assert generator(rng) is rng
    assert generator(5).random() == np.random.default_rng(5).random()
