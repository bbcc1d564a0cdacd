"""Rows of numbers as an array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.service.engine.decide import matrix


@pytest.mark.parametrize("count", [1, 15, 16, 100, 65_535, 65_536])
@pytest.mark.parametrize("columns", [0, 1, 2, 15, 16, 17])
def test_rows_of_floats_give_the_array_that_numpy_gives(count, columns):
    expected = np.random.default_rng(0).normal(size=(count, columns))
    found = matrix(expected.tolist())
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    assert found.flags.writeable
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


@given(st.lists(st.lists(st.floats(), min_size=3, max_size=3), min_size=1))
def test_every_float_stays_as_it_is(rows):
    assert matrix(rows).tobytes() == np.array(rows, np.float64).tobytes()


@pytest.mark.parametrize(
    "rows",
    [
        [[0.1], [0.1, 0.2]],
        [[0.1, 0.2], [0.1]],
        [[0.1, 0.2], []],
        [[0.1, 0.2, 0.3], [0.1], [0.1, 0.2]],
        [[1, 2]],
        [[0.1, 2]],
        [[2**63, 2**64 - 1]],
        [[2**70]],
        [[None]],
        [["a"]],
        [["eight ch"]],
        [["\ud800"]],
        [[[0.1]]],
        [0.1],
        [[object()]],
    ],
)
def test_anything_else_gives_none(rows):
    assert matrix(rows) is None


@given(
    st.lists(
        st.lists(st.floats() | st.integers() | st.text() | st.none() | st.binary(), max_size=20),
        min_size=1,
        max_size=20,
    )
)
def test_an_array_comes_only_of_floats_in_rows_of_one_length(rows):
    even = len({len(row) for row in rows}) == 1
    floats = all(type(cell) is float for row in rows for cell in row)
    assert (matrix(rows) is not None) == (even and floats)
