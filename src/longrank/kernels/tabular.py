"""Numbers in any units as rows: normal scores, bends, levels and products."""

import numpy as np
from numpy.typing import NDArray

from longrank.arrays import Indices, Matrix, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.ranking import add_columns

PRODUCT, BEND, LEVEL = 0, 1, 2
MISSING = 1.7976931348623157e308  # the largest number stands for one that is not there
MEAN, DEVIATION = 0.7978845608028654, 0.6028102749890869  # of |z| for a standard normal z

KNOTS = 32  # numbers by which a column's distribution is kept
# Where to look for a number among the knots of each column: see ``guide``.
Guides = NDArray[np.uint8]
# Guides, knots of each column, padded with infinity, their scores, the slopes after them, and how
# many.
Curves = tuple[Guides, Matrix, Matrix, Matrix, Indices]
Shapes = tuple[Indices, Indices, Indices, Matrix]  # kind, first, second, (low, high, scale)
# What makes rows of numbers: curves, scales of scores, directions and their offsets, shapes.
View = tuple[Curves, Vector, Matrix, Vector, Shapes]

BLOCK = 200  # items that are expanded side by side; a power of two would crowd the cache


_CELLS = 254  # of equal width, into which the range of a column's knots is divided
_INSIDE = _CELLS - 0.01  # the last knot of the range is in the last cell
_STEPS = 3  # knots in a cell up to which a guide is worth its while
_TRIMS = 3  # knots at either end beyond the range that is divided, at most, less one


@compiled
def guide(knots: Matrix, counts: Indices) -> Guides:
    """Divide the range of each column's knots into cells, and count the knots before each. O(d).

    The last two numbers of a column are how many knots share a cell at most, and how many at either
    end lie outside of the range, as they may where tails are heavy.
    """
    guides = np.zeros((knots.shape[0], _CELLS + 2), np.uint8)
    for j in range(knots.shape[0]):
        own, count, best = knots[j], counts[j], KNOTS
        cells = np.zeros(_CELLS, np.int64)
        for trim in range(min(_TRIMS, (count + 1) // 2)):
            low, high = own[trim], own[count - 1 - trim]
            if not 1e-300 < high - low < 1e300:
                continue
            cells[:] = 0
            for knot in range(count):
                cells[_cell(own[knot], low, _INSIDE / (high - low))] += 1
            most = 0
            for cell in range(_CELLS):
                most = max(most, cells[cell])
            if most < best:
                best, before = most, -1
                guides[j, _CELLS], guides[j, _CELLS + 1] = most, trim
                for cell in range(_CELLS):
                    # No step leads beyond the last knot.
                    guides[j, cell] = min(max(before, 0), KNOTS - 1 - most)
                    before += cells[cell]
        if best == KNOTS:
            guides[j, _CELLS] = KNOTS
    return guides


@compiled
def _cell(x: float, low: float, per: float) -> int:
    """Find the cell of a number; it does not fall as x rises."""
    return int(min(max((x - low) * per, 0.0), _CELLS - 1.0))


@compiled
def score_column(
    items: NDArray[np.floating],
    j: int,
    guides: NDArray[np.uint8],
    knots: Vector,
    scores: Vector,
    slopes: Vector,
    count: int,
    filled: Vector,
) -> None:
    """Interpolate the scores of a column's numbers between its knots. O(k).

    Beyond the knots it is that of the last; with one knot, whether x is above or below it. The
    search does not branch.
    """
    first, last = knots[0], knots[count - 1]
    if count == 1:
        for i in range(items.shape[0]):
            filled[i] = np.sign(np.float64(items[i, j]) - first)
        return
    steps, trim = guides[_CELLS], guides[_CELLS + 1]
    if steps > _STEPS:
        for i in range(items.shape[0]):
            x = min(max(np.float64(items[i, j]), first), last)
            at = 16 * np.int64(knots[16] <= x)  # five halvings, for as many knots as there are
            at += 8 * np.int64(knots[at + 8] <= x)
            at += 4 * np.int64(knots[at + 4] <= x)
            at += 2 * np.int64(knots[at + 2] <= x)
            at += np.int64(knots[at + 1] <= x)
            filled[i] = scores[at] + (x - knots[at]) * slopes[at]
        return
    low = knots[trim]
    per = _INSIDE / (knots[count - 1 - trim] - low)
    if steps == 1 and trim == 0:
        for i in range(items.shape[0]):
            x = min(max(np.float64(items[i, j]), first), last)
            at = np.int64(guides[int((x - low) * per) & 255])  # what _cell finds
            at += np.int64(knots[at + 1] <= x)
            filled[i] = scores[at] + (x - knots[at]) * slopes[at]
        return
    for i in range(items.shape[0]):
        x = min(max(np.float64(items[i, j]), first), last)
        at = np.int64(guides[_cell(x, low, per)])
        for _ in range(steps):
            at += np.int64(knots[at + 1] <= x)
        filled[i] = scores[at] + (x - knots[at]) * slopes[at]


@compiled
def normal_scores(items: NDArray[np.floating], curves: Curves) -> Matrix:
    """Compute the scores of all numbers, column by column: shape (d, k). O(k d)."""
    filled = np.empty((items.shape[1], items.shape[0]))
    _fill_scores(items, curves, filled)
    return filled


@compiled
def _fill_scores(items: NDArray[np.floating], curves: Curves, filled: Matrix) -> None:
    """Fill rows with the scores of numbers, column by column, 0 where one is missing. O(k d)."""
    guides, knots, scores, slopes, counts = curves
    for j in range(items.shape[1]):
        score_column(items, j, guides[j], knots[j], scores[j], slopes[j], counts[j], filled[j])
        for i in range(items.shape[0]):
            filled[j, i] = 0.0 if items[i, j] == MISSING else filled[j, i]


@compiled
def expand_columns(items: NDArray[np.floating], view: View) -> Matrix:
    """Make rows, stored as columns: scaled scores, a constant, and the shapes. O(k dim).

    A product is one of two scores, or of two directions, which are sums of scores and come after
    them; a bend is |score|, standardised; a level is whether a number lies in [low, high).
    """
    curves, scales, directions, offsets, (kinds, first, second, bounds) = view
    k, d = items.shape
    if d == 0:
        return np.empty((0, k))
    m = directions.shape[0]
    scored, columns = np.empty((d + m, k)), np.empty((d + 1 + kinds.shape[0], k))
    _fill_scores(items, curves, scored)
    for j in range(d):
        for i in range(k):
            columns[j, i] = scales[j] * scored[j, i]
    columns[d, :] = 1.0
    for n in range(m):
        total = scored[d + n]
        total[:] = -offsets[n]
        add_columns(scored[:d], directions[n], total)
    for f in range(kinds.shape[0]):  # no views of rows here, which would take longer to make
        a, b, at, weight = first[f], second[f], d + 1 + f, bounds[f, 2]
        if kinds[f] == PRODUCT:
            for i in range(k):
                columns[at, i] = weight * (scored[a, i] * scored[b, i])
        elif kinds[f] == BEND:
            for i in range(k):
                columns[at, i] = weight * ((abs(scored[a, i]) - MEAN) / DEVIATION)
        else:
            low, high = bounds[f, 0], bounds[f, 1]
            for i in range(k):
                columns[at, i] = weight if low <= np.float64(items[i, a]) < high else 0.0
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
