"""Items with a constant and with products of their numbers, for non-linear effects."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels
from longrank.arrays import Indices
from longrank.contents import whole
from longrank.errors import InvalidInput
from longrank.features.base import Encoded, Features


class Polynomial(Features):
    """Rows [x, 1] for degree 1, and [x, 1, x_i^2, sqrt(2) x_i x_j] for degree 2.

    The constant lets a learner estimate how likely success is overall; the products let it learn
    non-linear rankings, such as one class of images among others.

    Parameters
    ----------
    degree
        1 or 2.

    Examples
    --------
    >>> Polynomial(2).length(10)
    66
    """

    max_square = 3.0 * checks.UNIT  # the item, the constant, the products
    independent = True
    kind = "polynomial"
    settings: ClassVar = {"degree": whole(1, 2)}

    def __init__(self, degree: int = 2) -> None:
        self.degree = checks.whole("degree", degree, minimum=1)
        if self.degree > 2:
            raise InvalidInput("degree", "be 1 or 2", degree)

    def length(self, dim: int) -> int:
        """Return the length of a row for items of ``dim`` numbers: the ``dim`` of the learner."""
        return dim + 1 + (dim * (dim + 1) // 2 if self.degree == 2 else 0)

    def encode(self, items: ArrayLike, dim: int | None, lazy: bool = False) -> Encoded:
        array = checks.shaped(items, None)
        if len(array) == 0:
            return np.empty((0, dim or 0))
        if dim is not None and self.length(array.shape[1]) != dim:
            columns = next((n for n in range(1, dim) if self.length(n) == dim), None)
            rule = f"have {columns} columns" if columns else f"make rows of {dim} with {self!r}"
            raise InvalidInput("items", rule, array.shape[1])
        row, square = kernels.worst_row(array)
        if not square <= checks.UNIT:
            checks.rows(array, row, square, unit=True)
        return kernels.expand(array, self.degree == 2)

    def along(self, candidates: Encoded, order: Indices) -> NDArray[np.float64]:
        return np.ascontiguousarray(candidates[order])

    def rows(self, candidates: Encoded) -> NDArray[np.float64]:
        return np.asarray(candidates, np.float64)  # they are the rows

    def __repr__(self) -> str:
        return f"Polynomial({self.degree})"
