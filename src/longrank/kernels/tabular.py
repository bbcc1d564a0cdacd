"""Numbers in any units as rows: normal scores, bends, levels and products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled
from longrank.kernels.ranking import add_columns

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]

PRODUCT, BEND, LEVEL = 0, 1, 2
_MEAN, _DEVIATION = 0.7978845608028654, 0.6028102749890869  # of |z| for a standard normal z

KNOTS = 32  # numbers by which a column's distribution is kept
# Knots of each column, padded with infinity, their scores, the slopes after them, and how many.
Curves = tuple[Matrix, Matrix, Matrix, Indices]
Shapes = tuple[Indices, Indices, Indices, Matrix]  # kind, first, second, (low, high, scale)
# What makes rows of numbers: curves, the scale of scores, directions and their offsets, shapes.
View = tuple[Curves, float, Matrix, Vector, Shapes]

BLOCK = 200  # items that are expanded side by side; a power of two would crowd the cache


@compiled
def _score_column(
    items: NDArray[np.floating],
    j: int,
    knots: Vector,
    scores: Vector,
    slopes: Vector,
    count: int,
    found: Vector,
) -> None:
    """Interpolate the scores of a column's numbers between its knots. O(k).

    Beyond the knots it is that of the last; with one knot, whether x is above or below it. The
    search does not branch.
    """
    first, last = knots[0], knots[count - 1]
    if count == 1:
        for i in range(items.shape[0]):
            found[i] = np.sign(np.float64(items[i, j]) - first)
        return
    for i in range(items.shape[0]):
        x = min(max(np.float64(items[i, j]), first), last)
        at = 16 * np.int64(knots[16] <= x)  # five halvings, for as many knots as there are
        at += 8 * np.int64(knots[at + 8] <= x)
        at += 4 * np.int64(knots[at + 4] <= x)
        at += 2 * np.int64(knots[at + 2] <= x)
        at += np.int64(knots[at + 1] <= x)
        found[i] = scores[at] + (x - knots[at]) * slopes[at]


@compiled
def normal_scores(items: NDArray[np.floating], curves: Curves) -> Matrix:
    """Compute the scores of all numbers, column by column: shape (d, k). O(k d)."""
    knots, scores, slopes, counts = curves
    found = np.empty((items.shape[1], items.shape[0]))
    for j in range(items.shape[1]):
        _score_column(items, j, knots[j], scores[j], slopes[j], counts[j], found[j])
    return found


@compiled
def expand_columns(items: NDArray[np.floating], view: View) -> Matrix:
    """Make rows, stored as columns: scaled scores, a constant, and the shapes. O(k dim).

    A product is one of two scores, or of two directions, which are sums of scores and come after
    them; a bend is |score|, standardised; a level is whether a number lies in [low, high).
    """
    curves, scale, directions, offsets, (kinds, first, second, bounds) = view
    k, d = items.shape
    m = directions.shape[0]
    scored = normal_scores(items, curves)
    columns, sums = np.empty((d + 1 + kinds.shape[0], k)), np.empty((m, k))
    for j in range(d):
        own, column = scored[j], columns[j]
        for i in range(k):
            column[i] = scale * own[i]
    columns[d, :] = 1.0
    for n in range(m):
        total = sums[n]
        total[:] = -offsets[n]
        add_columns(scored, directions[n], total)
    for f in range(kinds.shape[0]):
        kind, a, b, weight = kinds[f], first[f], second[f], bounds[f, 2]
        column = columns[d + 1 + f]
        if kind == PRODUCT:
            one = scored[a] if a < d else sums[a - d]
            other = scored[b] if b < d else sums[b - d]
            for i in range(k):
                column[i] = weight * (one[i] * other[i])
        elif kind == BEND:
            one = scored[a]
            for i in range(k):
                column[i] = weight * ((abs(one[i]) - _MEAN) / _DEVIATION)
        else:
            low, high = bounds[f, 0], bounds[f, 1]
            for i in range(k):
                column[i] = weight if low <= np.float64(items[i, a]) < high else 0.0
    return columns


@compiled
def expand_rows(items: NDArray[np.floating], view: View) -> Matrix:
    """Make rows, one after the other: those of ``expand_columns``. O(k dim)."""
    rows = np.empty((items.shape[0], items.shape[1] + 1 + view[4][0].shape[0]))
    for start in range(0, items.shape[0], BLOCK):
        columns = expand_columns(items[start : start + BLOCK], view)
        for i in range(columns.shape[1]):
            for j in range(columns.shape[0]):
                rows[start + i, j] = columns[j, i]
    return rows
