"""Numbers in any units as rows: normal scores, bends, levels and products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]

PRODUCT, BEND, LEVEL = 0, 1, 2
_MEAN, _DEVIATION = 0.7978845608028654, 0.6028102749890869  # of |z| for a standard normal z

Curves = tuple[Matrix, Matrix, Indices]  # knots and their scores for each column, how many
Shapes = tuple[Indices, Indices, Indices, Matrix]  # kind, first, second, (low, high, scale)


@compiled
def normal_score(x: float, knots: Vector, scores: Vector, count: int) -> float:
    """Interpolate the score of a number between the knots of its column. O(log count).

    Beyond the knots it is that of the last; with one knot, whether x is above or below it.
    """
    if count == 1:
        return float(np.sign(x - knots[0]))
    if x <= knots[0]:
        return float(scores[0])
    if x >= knots[count - 1]:
        return float(scores[count - 1])
    low, high = 0, count - 1
    while high - low > 1:
        middle = (low + high) // 2
        if knots[middle] <= x:
            low = middle
        else:
            high = middle
    share = (x - knots[low]) / (knots[high] - knots[low])
    return float(scores[low] + share * (scores[high] - scores[low]))


@compiled
def normal_scores(items: NDArray[np.floating], curves: Curves) -> Matrix:
    """Compute the scores of all numbers. O(k d log knots)."""
    knots, scores, counts = curves
    found = np.empty(items.shape)
    for j in range(items.shape[1]):
        for i in range(items.shape[0]):
            found[i, j] = normal_score(np.float64(items[i, j]), knots[j], scores[j], counts[j])
    return found


@compiled
def expand_scores(
    items: NDArray[np.floating],
    scored: Matrix,
    scale: float,
    directions: Matrix,
    offsets: Vector,
    shapes: Shapes,
) -> Matrix:
    """Fill the rows: scores times ``scale``, a constant, and the shapes. O(k dim).

    A product is one of two scores, or of two directions, which are sums of scores and come after
    them; a bend is |score|, standardised; a level is whether a number lies in [low, high).
    """
    kinds, first, second, bounds = shapes
    k, d = items.shape
    m = directions.shape[0]
    rows = np.empty((k, d + 1 + kinds.shape[0]))
    own = np.empty(d + m)
    for i in range(k):
        for j in range(d):
            own[j] = scored[i, j]
            rows[i, j] = scale * scored[i, j]
        for n in range(m):
            total = -offsets[n]
            for j in range(d):
                total += directions[n, j] * scored[i, j]
            own[d + n] = total
        rows[i, d] = 1.0
        for f in range(kinds.shape[0]):
            kind, a, weight = kinds[f], first[f], bounds[f, 2]
            if kind == PRODUCT:
                value = own[a] * own[second[f]]
            elif kind == BEND:
                value = (abs(own[a]) - _MEAN) / _DEVIATION
            else:
                x = np.float64(items[i, a])
                value = 1.0 if bounds[f, 0] <= x < bounds[f, 1] else 0.0
            rows[i, d + 1 + f] = weight * value
    return rows


@compiled
def widen(
    rows: Matrix,
    means: Vector,
    widths: Vector,
    bonuses: Vector,
    looks: NDArray[np.bool_],
    wide: float,
    marks: NDArray[np.bool_],
    known: Vector,
) -> None:
    """Widen the bonus of candidates that are far less known than the leader. O(k dim).

    How little is known of a candidate is the largest share of the first variance that is left in
    a column that marks it (``known`` is that share of each column, ``marks`` says which columns
    mark candidates). Only those with ``looks`` are considered.
    """
    k, d = rows.shape
    leader, best = 0, -np.inf
    for i in range(k):
        score = means[i] + bonuses[i] * widths[i]
        if score > best:
            leader, best = i, score
    bar = _FLOOR
    for j in range(d):
        if marks[j] and rows[leader, j] != 0.0:
            bar = max(bar, _RATIO * known[j])
    for i in range(k):
        if looks[i]:
            for j in range(d):
                if marks[j] and rows[i, j] != 0.0 and known[j] > bar:
                    bonuses[i] = max(bonuses[i], wide)
                    break


_RATIO = 2.0  # a candidate is far less known if so many times as much variance is left
_FLOOR = 0.03  # of the first variance: with less than that left, enough is known
