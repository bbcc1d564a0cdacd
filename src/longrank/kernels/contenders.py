"""Contenders: of the candidates of a round, the few that can be chosen.

No covariance exceeds that of the prior, I / prior, so |x| / sqrt(prior) bounds the width of a row x
in O(d). Exact widths, in O(d^2), are computed for those only whose bound reaches the best scores.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled
from longrank.kernels.foresight import fill_scores, first_largest, foresee, pull
from longrank.kernels.programme import take
from longrank.kernels.ranking import Greedy, add_columns, score_columns, top
from longrank.kernels.screening import replace_smallest
from longrank.kernels.sketches import Sketch, block_size, bound_scores
from longrank.kernels.tabular import BLOCK, View, expand_columns

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]
# Bonus, that of a look, columns that mark candidates, precision of the prior.
Optimism = tuple[float, float, Flags, float]

_CONTENDERS = 128  # candidates among which foresight looks, or twice as many as are chosen
_ROUNDING = 1.0 + 1e-6
_RATIO = 2.0  # a candidate is far less known if so many times as much variance is left
_FLOOR = 0.03  # of the first variance: with less than that left, enough is known


@compiled
def count_contenders(count: int) -> int:
    """How many candidates foresight looks at, if ``count`` are to be chosen."""
    return max(_CONTENDERS, 2 * count)


@compiled
def bound_squares(columns: Matrix, prior: float, squares: Vector) -> None:
    """Bound the squares of widths from above. O(n d)."""
    squares[:] = 0.0
    j, d = 0, columns.shape[0]
    while j + 4 <= d:  # four at a time, since loading and storing the sums costs most
        first, second = columns[j], columns[j + 1]
        third, fourth = columns[j + 2], columns[j + 3]
        for i in range(squares.shape[0]):
            total = first[i] * first[i] + second[i] * second[i]
            squares[i] += total + (third[i] * third[i] + fourth[i] * fourth[i])
        j += 4
    while j < d:
        own = columns[j]
        for i in range(squares.shape[0]):
            squares[i] += own[i] * own[i]
        j += 1
    for i in range(squares.shape[0]):
        squares[i] *= _ROUNDING / prior


@compiled
def widen(
    columns: Matrix,
    means: Vector,
    squares: Vector,
    exact: Flags,
    inverse: Matrix,
    looks: Flags,
    optimism: Optimism,
    bonuses: Vector,
) -> None:
    """Widen the bonus of candidates that are far less known than the leader.

    How little is known of a candidate is the largest share of the first variance that is left in
    a column that marks it. Only those with ``looks`` are considered: a few, O(k), and O(d^2) for
    the leader.
    """
    _, wide, marks, prior = optimism
    bar = -1.0
    for i in range(means.shape[0]):
        if not looks[i]:
            continue
        known = _least_known(columns, i, marks, inverse) * prior
        if known > _FLOOR and bar < 0.0:
            leader = _leader(columns, means, squares, exact, inverse, bonuses)
            bar = max(_FLOOR, _RATIO * prior * _least_known(columns, leader, marks, inverse))
        if bar >= 0.0 and known > bar:
            bonuses[i] = max(bonuses[i], wide)


@compiled
def _least_known(columns: Matrix, item: int, marks: Flags, inverse: Matrix) -> float:
    """Find the largest variance in a column that marks an item, 0 if none does. O(d)."""
    largest = 0.0
    for j in range(columns.shape[0]):
        if marks[j] and columns[j, item] != 0.0:
            largest = max(largest, inverse[j, j])
    return float(largest)


@compiled
def _leader(
    columns: Matrix,
    means: Vector,
    squares: Vector,
    exact: Flags,
    inverse: Matrix,
    bonuses: Vector,
) -> int:
    """Find the best score, computing widths as far as needed."""
    scores = np.empty(means.shape[0])
    row, direction = np.empty(columns.shape[0]), np.empty(columns.shape[0])
    while True:
        fill_scores(means, squares, bonuses, scores)
        leader = first_largest(scores)
        if exact[leader]:
            return leader
        squares[leader], exact[leader] = pull(columns, leader, inverse, row, direction), True


@compiled
def choose_looking(
    columns: Matrix,
    weights: Vector,
    inverse: Matrix,
    looks: Flags,
    optimism: Optimism,
    count: int,
    foresight: int,
) -> Greedy:
    """Choose ``count`` items, stored as columns, with a wider bonus for little-known ``looks``.

    Foresight looks among the best :func:`count_contenders`.
    """
    n, few = columns.shape[1], count_contenders(count)
    means, squares, exact = np.zeros(n), np.empty(n), np.zeros(n, np.bool_)
    bonuses, some = np.full(n, optimism[0]), np.arange(n)
    add_columns(columns, weights, means)
    bound_squares(columns, optimism[3], squares)
    widen(columns, means, squares, exact, inverse, looks, optimism, bonuses)
    if n > few:
        tighten(columns, means, squares, exact, inverse, bonuses, few)
        some = _strongest(means, squares, bonuses, few)
        columns = _gather(columns, some)
        means, squares, bonuses = take(means, some), take(squares, some), take(bonuses, some)
        for i in range(few):
            exact[i] = exact[some[i]]
    order, rows, means, scores = foresee(
        columns, means, squares, exact, inverse, bonuses, count, foresight
    )
    return take(some, order), rows, means, scores


@compiled
def _gather(columns: Matrix, some: Indices) -> Matrix:
    """Return some of the items. O(n d)."""
    gathered = np.empty((columns.shape[0], some.shape[0]))
    for j in range(columns.shape[0]):
        own, kept = columns[j], gathered[j]
        for i in range(some.shape[0]):
            kept[i] = own[some[i]]
    return gathered


@compiled
def tighten(
    columns: Matrix,
    means: Vector,
    squares: Vector,
    exact: Flags,
    inverse: Matrix,
    bonuses: Vector,
    few: int,
) -> None:
    """Tighten the bounds on the squares of widths as far as the best ``few`` depend on them.

    First those of the best means, whose scores then rule out most of the others.
    """
    certain, scores = exact.copy(), np.empty(means.shape[0])
    _tighten_some(columns, top(means, few), squares, inverse, certain)
    fill_scores(means, squares, bonuses, scores)
    bar = math.inf
    for item in range(scores.shape[0]):
        if certain[item]:
            bar = min(bar, scores[item])
    rest, n = np.empty(scores.shape[0], np.int64), 0
    for item in range(scores.shape[0]):
        if not certain[item] and scores[item] >= bar:
            rest[n] = item
            n += 1
    _tighten_some(columns, rest[:n], squares, inverse, certain)


@compiled
def _tighten_some(
    columns: Matrix, some: Indices, squares: Vector, inverse: Matrix, certain: Flags
) -> None:
    """Compute the squares of some widths. O(n d^2)."""
    for start in range(0, some.shape[0], BLOCK):
        part = some[start : start + BLOCK]
        n = part.shape[0]
        means, widths, nothing = np.empty(n), np.empty(n), np.zeros(columns.shape[0])
        score_columns(_gather(columns, part), nothing, inverse, np.empty(n), means, widths)
        for i in range(n):
            if not certain[part[i]]:
                squares[part[i]] = widths[i] * widths[i] * _ROUNDING
            certain[part[i]] = True


@compiled
def _strongest(means: Vector, squares: Vector, bonuses: Vector, few: int) -> Indices:
    """Find the largest scores, in ascending order of their indices. O(k log few)."""
    scores, chosen = np.empty(means.shape[0]), np.zeros(means.shape[0], np.bool_)
    fill_scores(means, squares, bonuses, scores)
    for item in top(scores, few):
        chosen[item] = True
    found, n = np.empty(few, np.int64), 0
    for item in range(scores.shape[0]):
        if chosen[item]:
            found[n] = item
            n += 1
    return found


@compiled
def strongest_looking(
    columns: Matrix,
    weights: Vector,
    inverse: Matrix,
    looks: Flags,
    optimism: Optimism,
    few: int,
) -> Indices:
    """Find the best ``few`` of items, stored as columns, and those that are looked at."""
    n = columns.shape[1]
    means, squares, bonuses = np.zeros(n), np.empty(n), np.full(n, optimism[0])
    add_columns(columns, weights, means)
    bound_squares(columns, optimism[3], squares)
    exact = np.zeros(n, np.bool_)
    tighten(columns, means, squares, exact, inverse, bonuses, min(few, n))
    for i in range(n):
        if looks[i]:
            means[i] = math.inf
            few += 1
    return _strongest(means, squares, bonuses, min(few, n))


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

    Block by block, so that nothing is kept of the rest. Returns the best means (a heap: no score is
    below its mean), and the items with an upper bound on the score of each.
    """
    bonus, _, _, prior = optimism
    best = np.full(few, -math.inf)
    chosen, bounds, found = np.empty(items.shape[0], np.int64), np.empty(items.shape[0]), 0
    for start in range(0, items.shape[0], BLOCK):
        columns = expand_columns(items[start : start + BLOCK], view)
        means, squares = np.zeros(columns.shape[1]), np.empty(columns.shape[1])
        add_columns(columns, weights, means)
        bound_squares(columns, prior, squares)
        for i in range(means.shape[0]):
            if means[i] > best[0]:
                replace_smallest(best, means[i])
        for i in range(means.shape[0]):
            bound = math.inf if looks[start + i] else means[i] + bonus * math.sqrt(squares[i])
            if bound >= best[0]:
                chosen[found], bounds[found] = start + i, bound
                found += 1
    return best, chosen[:found], bounds[:found]


@compiled
def screen_roughly(
    items: NDArray[np.floating], view: View, rough: Sketch, looks: Flags, few: int, bar: float
) -> tuple[Vector, Indices, Vector]:
    """Find the same from a sketch: more of them, and at a fraction of the cost. O(k d).

    ``bar`` is a score that ``few`` items elsewhere are known to reach.
    """
    best = np.full(few, -math.inf)
    chosen, bounds, found = np.empty(items.shape[0], np.int64), np.empty(items.shape[0]), 0
    size = block_size(items.shape[1])
    lows, highs = np.empty(size), np.empty(size)
    for start in range(0, items.shape[0], size):
        n = min(size, items.shape[0] - start)
        bound_scores(items[start : start + n], view, rough, lows[:n], highs[:n])
        for i in range(n):
            if lows[i] > best[0]:
                replace_smallest(best, lows[i])
        for i in range(n):
            bound = math.inf if looks[start + i] else highs[i]
            if bound >= max(best[0], bar):
                chosen[found], bounds[found] = start + i, bound
                found += 1
    return best, chosen[:found], bounds[:found]
