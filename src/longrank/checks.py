"""Input validation: arguments become arrays and numbers, or are refused in one sentence."""

import math
import operator
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import kernels
from longrank.arrays import Indices
from longrank.errors import InvalidInput

SLACK = 1e-6  # rows that were scaled to norm 1 in float32 are off by this much
UNIT = (1.0 + SLACK) ** 2  # the largest squared norm of a row
_COPY_BELOW = 1 << 20


def whole(parameter: str, value: Any, minimum: int = 0) -> int:
    """Return a whole number of at least ``minimum``."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise InvalidInput(parameter, "be a whole number", repr(value)) from None
    if number < minimum:
        raise InvalidInput(parameter, f"be at least {minimum}", number)
    return number


def real(
    parameter: str,
    value: Any,
    *,
    minimum: float = -math.inf,
    above: float = -math.inf,
    maximum: float = math.inf,
    infinite: bool = False,
) -> float:
    """Return a number in the given range, finite unless ``infinite``."""
    try:
        if isinstance(value, str):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(parameter, "be a number", repr(value)) from None
    if math.isnan(number) or (math.isinf(number) and not infinite):
        raise InvalidInput(parameter, "be finite", number)
    if number < minimum:
        raise InvalidInput(parameter, f"be at least {minimum:g}", number)
    if number <= above:
        raise InvalidInput(parameter, f"be above {above:g}", number)
    if number > maximum:
        raise InvalidInput(parameter, f"be at most {maximum:g}", number)
    return number


def floats(parameter: str, value: ArrayLike, ndim: int) -> NDArray[np.floating]:
    """Return a contiguous float array of ``ndim`` dimensions; float32 is kept, the rest float64.

    Accepts arrays, nested lists, and pandas or polars frames of numbers.
    """
    try:
        array = np.asarray(value)
    except ValueError:
        raise InvalidInput(parameter, "have rows of one length", type(value).__name__) from None
    if array.dtype.char not in "df" or not array.dtype.isnative:
        if array.dtype.kind not in "iufb" and array.size:
            raise InvalidInput(parameter, "hold numbers", f"values of type {array.dtype}")
        array = array.astype(np.float64)
    if array.ndim != ndim:
        if array.size == 0 and array.ndim == 1:
            return np.empty((0,) * ndim)
        raise InvalidInput(parameter, f"have {ndim} dimensions", f"shape {array.shape}")
    if not array.flags.writeable and array.nbytes < _COPY_BELOW:
        return array.copy(order="C")  # a read-only array would compile each kernel once more
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def vector(parameter: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a finite float64 vector, a copy of the caller's."""
    try:
        array = np.array(floats(parameter, value, 1), np.float64)
    except InvalidInput:
        for i, each in enumerate(value if isinstance(value, list | tuple) else ()):
            if not isinstance(each, Real | list | tuple):
                shown = f"{each!r:.40} at index {i}"
                raise InvalidInput(parameter, "hold numbers", shown) from None
        raise
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InvalidInput(parameter, "be finite", f"{array[bad[0]]} at index {bad[0]}")
    return array


def shaped(value: ArrayLike, dim: int | None, parameter: str = "items") -> NDArray[np.floating]:
    """Return a float array of shape (k, dim); its values are not checked."""
    array = floats(parameter, value, 2)
    if array.shape[0] == 0:
        return np.empty((0, dim or array.shape[1]))
    if dim is not None and array.shape[1] != dim:
        raise InvalidInput(parameter, f"have {dim} columns", array.shape[1])
    return array


def items(
    value: ArrayLike, dim: int | None, *, unit: bool, parameter: str = "items"
) -> NDArray[np.floating]:
    """Return the candidates of a round, shape (k, dim): finite, with ``unit`` of norm at most 1."""
    array = shaped(value, dim, parameter)
    row, square = kernels.worst_row(array)
    rows(array, row, square, unit=unit, parameter=parameter)
    return array


def rows(
    array: NDArray[np.floating], row: int, square: float, *, unit: bool, parameter: str = "items"
) -> None:
    """Refuse an array whose worst row, with this squared norm, breaks a rule."""
    if not square < math.inf:
        bad = np.argwhere(~np.isfinite(array))  # none where only the square overflowed
        if bad.size:
            i, j = bad[0]
            raise InvalidInput(parameter, "be finite", f"{array[i, j]} in row {i}, column {j}")
    if unit and square > UNIT:
        raise InvalidInput(
            parameter,
            "have rows of norm at most 1 (longrank.unit_rows scales them)",
            f"norm {math.sqrt(square):.6g} in row {row}",
        )


def sequence(parameter: str, value: ArrayLike, size: int) -> Indices:
    """Return the indices of distinct items out of ``size``, in order."""
    array = np.asarray(value)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidInput(parameter, "be a list of whole numbers", repr(value))
    indices = array.astype(np.int64)
    if indices.size and not (indices.min() >= 0 and indices.max() < size):
        raise InvalidInput(parameter, f"hold items from 0 to {size - 1}", indices.tolist())
    if len(set(indices.tolist())) != len(indices):
        raise InvalidInput(parameter, "hold no item twice", indices.tolist())
    return indices


def unit_rows(items: ArrayLike) -> NDArray[np.float64]:
    """Scale every row to norm 1; rows of zeros are left alone.

    >>> unit_rows([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    array = np.array(floats("items", items, 2), np.float64)
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InvalidInput("items", "be finite", f"{array[row, column]} in row {row}")
    largest = np.abs(array).max(axis=1, initial=0.0, keepdims=True)
    array /= np.where(largest > 0.0, largest, 1.0)  # so that the squares do not overflow
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    return array / np.where(norms > 0.0, norms, 1.0)


def generator(value: np.random.Generator | int) -> np.random.Generator:
    """Return a random generator, given as such or as a seed."""
    if isinstance(value, np.random.Generator):
        return value
    return np.random.default_rng(whole("rng", value))
