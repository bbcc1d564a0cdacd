"""One pass over very many items, at the speed of memory.

Sums inside a row may be reordered here, so results are exact to rounding only. They serve as
bounds: what is chosen is decided by exact scores.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compiled import compiled, reordered
from longrank.kernels.ranking import top

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]


@reordered
def scan_rows(
    items: NDArray[np.floating], weights: Vector, means: Vector, squares: Vector
) -> tuple[int, float]:
    """x.w and |x|^2 of every row; returns the worst row as ``worst_row`` does. O(k d)."""
    worst, largest = 0, 0.0
    for i in range(items.shape[0]):
        mean, square = 0.0, 0.0
        for j in range(items.shape[1]):
            x = np.float64(items[i, j])
            mean += x * weights[j]
            square += x * x
        means[i], squares[i] = mean, square
        if not square < math.inf:
            return i, square
        if square > largest:
            worst, largest = i, square
    return worst, largest


@compiled
def sure_scores(means: Vector, squares: Vector, low: float, count: int) -> Vector:
    """The largest ``count`` of means[i] + low * |x_i|, which no score falls below. O(k).

    Block by block, so that no array as long as the items is needed.
    """
    k = means.shape[0]
    block = np.empty(min(k, max(8192, 2 * count)))
    best = np.full(min(count, k), -math.inf)
    for start in range(0, k, block.shape[0]):
        n = min(block.shape[0], k - start)
        largest = -math.inf
        for i in range(n):
            block[i] = means[start + i] + low * math.sqrt(squares[start + i])
            largest = max(largest, block[i])
        if largest > best[-1]:
            some = block[:n][top(block[:n], min(best.shape[0], n))]
            both = np.concatenate((best, some))
            best = both[top(both, best.shape[0])]
    return best


@compiled
def contenders(means: Vector, squares: Vector, high: float, bar: float) -> Indices:
    """The items that can reach the bar: means[i] + high * |x_i| >= bar. O(k)."""
    found = 0
    chosen = np.empty(means.shape[0], np.int64)
    for i in range(means.shape[0]):
        missing = bar - means[i]
        if missing <= 0.0 or missing * missing <= high * high * squares[i]:
            chosen[found] = i
            found += 1
    return chosen[:found].copy()
