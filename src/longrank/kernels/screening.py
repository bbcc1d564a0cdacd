"""Screen very many items in one pass: bounds on their scores, and the few that reach the best.

The exact scores of those decide, so that sums here may be reordered.
"""

import math

import numpy as np
from numpy.typing import NDArray

from longrank.arrays import Flags, Indices, Vector
from longrank.kernels.compilation import compiled, orderly, reordered
from longrank.kernels.looks import Optimism, no_sparse, pool_of
from longrank.kernels.ranking import optimistic, outline_columns
from longrank.kernels.tabular import BLOCK, View, expand_columns

_BLOCK = 256


@orderly
def largest(numbers: Vector) -> float:
    """Find the largest number. O(n)."""
    most = -math.inf
    for i in range(numbers.shape[0]):
        most = max(most, numbers[i])
    return most


@compiled
def replace_smallest(heap: Vector, number: float) -> None:
    """Replace the smallest number of a heap, its root. O(log n)."""
    size, at = heap.shape[0], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= number:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = number


@reordered
def scan(
    items: NDArray[np.floating],
    weights: Vector,
    low: float,
    high: float,
    ceiling: float,
    count: int,
) -> tuple[int, float, Vector, Indices, Vector]:
    """Find the items that can be among the best ``count`` by min(score, ceiling). O(k d).

    Scores lie between x.w + low |x| and x.w + high |x|. Returns the worst row and its square like
    ``worst_row`` (a row that is not finite ends the pass), the best lower bounds (a heap), and the
    items whose upper bound is not below ``count`` of the lower bounds seen so far, with that
    bound. Sums may be reordered: the bounds are exact to rounding.
    """
    k = items.shape[0]
    sure, able = np.empty(min(k, _BLOCK)), np.empty(min(k, _BLOCK))
    best = np.full(min(count, k), -math.inf)
    chosen, bounds, kept = np.empty(k, np.int64), np.empty(k), 0
    worst, longest, total = 0, 0.0, 0.0
    for start in range(0, k, _BLOCK):
        n = min(_BLOCK, k - start)
        for i in range(n):
            mean, square = 0.0, 0.0
            for j in range(items.shape[1]):
                x = np.float64(items[start + i, j])
                mean += x * weights[j]
                square += x * x
            sure[i], able[i] = mean, square
            total += square
        if not total < math.inf:  # also true of NaN
            for i in range(n):
                if not able[i] < math.inf:
                    return start + i, able[i], best, chosen[:kept], bounds[:kept]
            total = 0.0  # only the sum overflowed
        top_square = largest(able[:n])
        if top_square > longest:
            longest = top_square
            worst = start + int(np.argmax(able[:n]))
        if count == 0:
            continue
        for i in range(n):
            norm = math.sqrt(able[i])
            able[i] = sure[i] + high * norm
            sure[i] += low * norm
        if largest(sure[:n]) > best[0]:
            for i in range(n):
                if sure[i] > best[0]:
                    replace_smallest(best, sure[i])
        bar = min(best[0], ceiling)
        if largest(able[:n]) < bar:
            continue
        for i in range(n):
            if able[i] >= bar:
                chosen[kept], bounds[kept] = start + i, able[i]
                kept += 1
    return worst, longest, best, chosen[:kept], bounds[:kept]


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
        outline_columns(columns, weights, means[start:end], squares[start:end])


@compiled
def screen_looking(
    items: NDArray[np.floating],
    view: View,
    weights: Vector,
    looks: Flags,
    optimism: Optimism,
    few: int,
) -> tuple[Vector, Indices, Vector]:
    """Find the items that can be among the best ``few``, or that are looked at. O(k d).

    Block by block, so that nothing is kept of the rest. Returns the best lower bounds on scores (a
    heap; where bonuses are not negative, the means), and the items with an upper bound on each.
    """
    best, low, high = np.full(few, -math.inf), min(optimism[0], 0.0), max(optimism[0], 0.0)
    chosen, bounds, kept = np.empty(items.shape[0], np.int64), np.empty(items.shape[0]), 0
    for start in range(0, items.shape[0], BLOCK):
        columns = expand_columns(items[start : start + BLOCK], view)
        _, means, squares, _, _, _, _ = pool_of(
            columns, weights, optimism, no_sparse(columns.shape[1], 0.0)
        )
        for i in range(means.shape[0]):
            bound = optimistic(means[i], math.sqrt(squares[i]), low, math.inf)
            if bound > best[0]:
                replace_smallest(best, bound)
        for i in range(means.shape[0]):
            bound = optimistic(means[i], math.sqrt(squares[i]), high, math.inf)
            bound = math.inf if looks[start + i] else bound
            if bound >= best[0]:
                chosen[kept], bounds[kept] = start + i, bound
                kept += 1
    return best, chosen[:kept], bounds[:kept]
