"""One pass over very many items, at the speed of memory."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compiled import reordered
from longrank.kernels.ranking import top

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]
_BLOCK = 256


@reordered
def scan(
    items: NDArray[np.floating],
    weights: Vector,
    low: float,
    high: float,
    ceiling: float,
    count: int,
) -> tuple[int, float, Vector, Indices, Vector]:
    """Who can be among the best ``count`` by min(score, ceiling). O(k d).

    Scores lie between x.w + low |x| and x.w + high |x|. Returns the worst row and its square as
    ``worst_row`` does (a row that is not finite ends the pass), the best of the lower bounds, and
    the items whose upper bound is not below ``count`` of the lower bounds seen until then, with
    that bound. Sums may be reordered: the bounds are exact to rounding.
    """
    k = items.shape[0]
    sure, able = np.empty(min(k, _BLOCK)), np.empty(min(k, _BLOCK))
    best = np.full(min(count, k), -math.inf)
    chosen, bounds, found = np.empty(k, np.int64), np.empty(k), 0
    worst, largest = 0, 0.0
    for start in range(0, k, _BLOCK):
        n = min(_BLOCK, k - start)
        for i in range(n):
            mean, square = 0.0, 0.0
            for j in range(items.shape[1]):
                x = np.float64(items[start + i, j])
                mean += x * weights[j]
                square += x * x
            sure[i], able[i] = mean, square
        highest = -math.inf
        for i in range(n):
            square = able[i]
            if not square < math.inf:  # also true of NaN
                return start + i, square, best, chosen[:found], bounds[:found]
            if square > largest:
                worst, largest = start + i, square
            norm = math.sqrt(square)
            able[i] = sure[i] + high * norm
            sure[i] += low * norm
            highest = max(highest, sure[i])
        if count == 0:
            continue
        if highest > best[-1]:
            both = np.concatenate((best, sure[:n]))
            best = both[top(both, best.shape[0])]
        bar = min(best[-1], ceiling)
        for i in range(n):
            if able[i] >= bar:
                chosen[found], bounds[found] = start + i, able[i]
                found += 1
    return worst, largest, best, chosen[:found], bounds[:found]
