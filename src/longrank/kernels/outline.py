"""Outlines: the mean and the norm of every row, which bound its score without its width."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled, reordered
from longrank.kernels.ranking import add_columns
from longrank.kernels.tabular import BLOCK, View, expand_columns

Vector = NDArray[np.float64]


@reordered
def outline_plain(
    items: NDArray[np.floating], weights: Vector, means: Vector, squares: Vector
) -> None:
    """Fill the mean x.w of every item x and its squared norm. O(k d).

    Sums may be reordered: both are exact to rounding.
    """
    for i in range(items.shape[0]):
        mean, square = 0.0, 0.0
        for j in range(items.shape[1]):
            x = np.float64(items[i, j])
            mean += x * weights[j]
            square += x * x
        means[i], squares[i] = mean, square


@compiled
def outline_tabular(
    items: NDArray[np.floating], view: View, weights: Vector, means: Vector, squares: Vector
) -> None:
    """Fill the same for the rows of items, block by block: nothing is kept of them. O(k d)."""
    means[:] = 0.0
    squares[:] = 0.0
    for start in range(0, items.shape[0], BLOCK):
        columns = expand_columns(items[start : start + BLOCK], view)
        end = start + columns.shape[1]
        add_columns(columns, weights, means[start:end])
        norms = squares[start:end]
        for j in range(columns.shape[0]):
            own = columns[j]
            for i in range(norms.shape[0]):
                norms[i] += own[i] * own[i]
