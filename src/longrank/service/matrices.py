"""Rows of numbers as an array, by way of MessagePack."""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

_DOUBLE = b"\xcb"  # the mark before the eight bytes of a float
_encode = msgspec.msgpack.Encoder().encode


def matrix(rows: list[list[float]]) -> NDArray[np.float64] | None:
    """The array, shape (len(rows), columns); None unless all are floats in rows of one length.

    NumPy looks at each object of a list by itself. In MessagePack rows of floats are of one size
    and lie at even steps, so that an array can be laid over them: in a third of the time.
    """
    try:
        data, row = _encode(rows), _row(len(rows[0]))
    except (TypeError, ValueError, OverflowError):
        return None  # not even numbers
    start = _mark(len(rows))
    if len(data) != start + len(rows) * row.itemsize:
        return None
    found = np.frombuffer(data, row, offset=start)
    cells = found["cells"]
    if found["mark"].tobytes() != data[start : start + _mark(len(rows[0]))] * len(rows):
        return None
    if cells["mark"].tobytes() != _DOUBLE * cells.size:
        return None
    return cells["number"].astype(np.float64)


@lru_cache(maxsize=64)
def _row(columns: int) -> np.dtype[np.void]:
    cell = np.dtype([("mark", "u1"), ("number", ">f8")])
    return np.dtype([("mark", "u1", _mark(columns)), ("cells", cell, columns)])


def _mark(length: int) -> int:
    """The bytes before what an array of this length holds."""
    return 1 if length < 16 else 3 if length < 1 << 16 else 5
