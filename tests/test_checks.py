"""The border: what becomes an array or a number, and what is refused in which words."""

from __future__ import annotations

import math

import numpy as np
import pytest

from longrank import InvalidInput, unit_rows
from longrank.checks import SLACK, floats, generator, items, real, vector, whole


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_a_whole_number_comes_back_as_an_int(value):
    assert type(whole("n", value)) is int
    assert whole("n", value, minimum=3) == 3


@pytest.mark.parametrize(
    ("value", "least", "message"),
    [
        (-1, 0, r"be at least 0, got -1"),
        (0, 1, r"be at least 1, got 0"),
        (2.0, 0, r"be a whole number, got 2\.0"),
        ("2", 0, r"be a whole number, got '2'"),
        (None, 0, r"be a whole number, got None"),
        (True, 0, r"be a whole number, got True"),
        (np.True_, 0, r"be a whole number, got np\.True_"),
        ([1], 0, r"be a whole number, got \[1\]"),
    ],
)
def test_what_is_no_whole_number_is_refused(value, least, message):
    with pytest.raises(InvalidInput, match=f"^n must {message}$"):
        whole("n", value, minimum=least)


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1.0), np.int64(1)])
def test_a_number_comes_back_as_a_float(value):
    assert type(real("x", value)) is float
    assert real("x", value, minimum=1.0, maximum=1.0, above=0.5) == 1.0


def test_infinity_is_a_number_where_it_is_allowed():
    assert real("x", math.inf, infinite=True) == math.inf


@pytest.mark.parametrize(
    ("value", "limits", "message"),
    [
        (math.nan, {}, r"be finite, got nan"),
        (math.inf, {}, r"be finite, got inf"),
        (math.nan, {"infinite": True}, r"be finite, got nan"),
        (-0.5, {"minimum": 0.0}, r"be at least 0, got -0\.5"),
        (0.0, {"above": 0.0}, r"be above 0, got 0\.0"),
        (1.5, {"maximum": 1.0}, r"be at most 1, got 1\.5"),
        ("a", {}, r"be a number, got 'a'"),
        (None, {}, r"be a number, got None"),
        ([1.0, 2.0], {}, r"be a number, got \[1\.0, 2\.0\]"),
    ],
)
def test_what_is_no_number_in_range_is_refused(value, limits, message):
    with pytest.raises(InvalidInput, match=f"^x must {message}$"):
        real("x", value, **limits)


@pytest.mark.parametrize("ndim", [1, 2])
def test_an_empty_list_is_an_empty_array(ndim):
    assert floats("x", [], ndim).shape == (0,) * ndim


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[1.0], [1.0, 2.0]], r"have rows of one length, got list"),
        ([["a"]], r"hold numbers, got values of type <U1"),
        ([[1j]], r"hold numbers, got values of type complex128"),
        ([[None]], r"hold numbers, got values of type object"),
        (None, r"hold numbers, got values of type object"),
        ([1.0, 2.0], r"have 2 dimensions, got shape \(2,\)"),
        (1.0, r"have 2 dimensions, got shape \(\)"),
        (np.ones((1, 1, 1)), r"have 2 dimensions, got shape \(1, 1, 1\)"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(value, message):
    with pytest.raises(InvalidInput, match=f"^x must {message}$"):
        floats("x", value, 2)


def test_a_vector_is_a_copy():
    value = np.ones(3)
    assert not np.shares_memory(vector("x", value), value)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_vector_is_finite(bad):
    with pytest.raises(InvalidInput, match=rf"^x must be finite, got {bad} at index 1$"):
        vector("x", [0.0, bad, bad])


@pytest.mark.parametrize("value", [[], np.empty((0, 7)), np.empty((0, 3), np.float32)])
def test_no_items_are_a_set_of_the_right_width(value):
    assert items(value, 3, unit=True).shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_scaled_to_norm_one_are_accepted(dtype):
    rows = np.random.default_rng(1).normal(size=(200, 50))
    assert len(items(unit_rows(rows).astype(dtype), 50, unit=True)) == 200


@pytest.mark.parametrize(
    ("value", "unit", "message"),
    [
        ([[0.1, 0.2, 0.3]], True, r"have 2 columns, got 3"),
        ([[0.1, 0.2], [0.3, math.nan]], True, r"be finite, got nan in row 1, column 1"),
        ([[1e200, 0.0], [math.inf, 0.0]], False, r"be finite, got inf in row 1, column 0"),
        ([[0.6, 0.6], [3.0, 4.0]], True, r"have rows of norm at most 1 .*, got norm 5 in row 1"),
        ([[1.0 + 2 * SLACK, 0.0]], True, r"have rows of norm at most 1 .*, got norm 1 in row 0"),
        (np.full((1, 2), 1e30, np.float32), True, r"have rows .*, got norm 1.41421e\+30 in row 0"),
    ],
)
def test_bad_items_are_refused(value, unit, message):
    with pytest.raises(InvalidInput, match=rf"^items must {message}$"):
        items(value, 2, unit=unit)


def test_long_rows_are_accepted_where_their_norm_does_not_matter():
    assert items([[3.0, 4.0], [1e200, 0.0]], 2, unit=False).shape == (2, 2)


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1.0, 1e300])
def test_unit_rows_have_norm_one_at_any_scale(scale):
    rows = unit_rows(np.array([[3.0, -4.0], [0.0, 0.0], [1.0, 0.0]]) * scale)
    expected = [[0.6, -0.8], [0.0, 0.0], [1.0, 0.0]]
    np.testing.assert_allclose(rows, expected, rtol=1e-15)


def test_unit_rows_leaves_its_argument_alone():
    value = np.full((2, 2), 3.0)
    unit_rows(value)
    assert (value == 3.0).all()
    assert unit_rows([]).shape == (0, 0)


def test_unit_rows_refuses_what_is_not_finite():
    with pytest.raises(InvalidInput, match=r"^items must be finite, got inf in row 1$"):
        unit_rows([[1.0], [math.inf]])


def test_a_generator_is_given_as_such_or_as_a_seed():
    rng = np.random.default_rng(5)
    assert generator(rng) is rng
    assert generator(5).random() == np.random.default_rng(5).random()


@pytest.mark.parametrize("value", [-1, 1.5, None, np.random.RandomState])
def test_what_is_no_seed_is_refused(value):
    with pytest.raises(InvalidInput, match=r"^rng must be "):
        generator(value)
