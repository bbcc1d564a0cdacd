"""Items as they are: independent outcomes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels
from longrank.arrays import Indices
from longrank.features.base import Encoded, Features

LARGE = 1 << 18  # numbers of an array that is validated in the pass that scores it


class Unchecked:
    """Very many items, of which only the shape was validated."""

    __slots__ = ("items",)

    def __init__(self, items: NDArray[np.floating]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)


class Plain(Features):
    """Use items as rows, whatever is above them (the paper's Algorithm 1)."""

    max_square = checks.UNIT
    independent = True
    kind = "plain"

    def encode(self, items: ArrayLike, dim: int | None, lazy: bool = False) -> Encoded:
        array = checks.shaped(items, dim)
        if lazy and array.size >= LARGE:
            return Unchecked(array)
        row, square = kernels.worst_row(array)
        if not square <= checks.UNIT:
            checks.rows(array, row, square, unit=True)
        return array

    def along(self, candidates: Encoded, order: Indices) -> NDArray[np.float64]:
        return np.ascontiguousarray(self.rows(candidates)[order], np.float64)

    def rows(self, candidates: Encoded) -> NDArray[Any]:
        rows: NDArray[Any] = candidates.items if type(candidates) is Unchecked else candidates
        return rows
