"""Looks: the choice among candidates of which little-known ones have a wider bonus.

No covariance exceeds that of the prior, I / prior, so |x| / sqrt(prior) bounds the width of a row x
in O(d). Exact widths, in O(d^2), are computed for those only whose bound reaches the best scores.
"""

import math

import numpy as np

from longrank.arrays import Flags, Indices, Matrix, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.foresight import Pool, Sparse, fill_scores, first_largest, foresee, pull
from longrank.kernels.order_dp import take
from longrank.kernels.ranking import Greedy, outline_columns, score_columns, top
from longrank.kernels.tabular import BLOCK

# Bonus, that of a look, columns that mark candidates, precision of the prior.
Optimism = tuple[float, float, Flags, float]
CONTENDERS = 128  # candidates among which foresight looks, or twice as many as are chosen
_ROUNDING = 1.0 + 1e-6
_RATIO = 2.0  # a candidate is far less known if so many times as much variance is left
_FLOOR = 0.03  # of the first variance: with less than that left, enough is known


@compiled
def count_contenders(count: int) -> int:
    """How many candidates foresight looks at, if ``count`` are to be chosen."""
    return max(CONTENDERS, 2 * count)


@compiled
def pool_of(columns: Matrix, weights: Vector, optimism: Optimism, sparse: Sparse) -> Pool:
    """Compute means, and bound the squares of widths. O(n d).

    From above, or by 0 where the bonus is negative: so no score is above that of its bound.
    """
    prior, n = optimism[3], columns.shape[1]
    means, squares, exact = sparse[0].copy(), np.zeros(n), np.full(n, columns.shape[0] == 0)
    outline_columns(columns, weights, means, squares)
    for i in range(n):
        squares[i] *= _ROUNDING / prior if sparse[3][i] >= 0.0 else 0.0
    return columns, means, squares, exact, sparse[3].copy(), sparse[1], sparse[2]


@compiled
def no_sparse(n: int, bonus: float) -> Sparse:
    """The sparse parts of items that have none."""
    return np.zeros(n), np.zeros(n), np.zeros(n), np.full(n, bonus)


@compiled
def widen(pool: Pool, inverse: Matrix, looks: Flags, optimism: Optimism) -> None:
    """Widen the bonus of candidates that are far less known than the leader.

    How little is known of a candidate is the largest share of the first variance that is left in
    a column that marks it. Only those with ``looks`` are considered: a few, O(k), and O(d^2) for
    the leader.
    """
    _, wide, marks, prior = optimism
    columns, bonuses, bar = pool[0], pool[4], -1.0
    for i in range(looks.shape[0]):
        if not looks[i]:
            continue
        known = _least_known(columns, i, marks, inverse) * prior
        if known > _FLOOR and bar < 0.0:
            leader = _leader(pool, inverse)
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
def _leader(pool: Pool, inverse: Matrix) -> int:
    """Find the best score, computing widths as far as needed."""
    columns, _, squares, exact, _, _, _ = pool
    scores = np.empty(squares.shape[0])
    row, direction = np.empty(columns.shape[0]), np.empty(columns.shape[0])
    while True:
        fill_scores(pool, scores)
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
    sparse: Sparse,
    count: int,
    foresight: int,
) -> Greedy:
    """Choose ``count`` items, stored as columns, with a wider bonus for little-known ``looks``.

    Foresight looks among the best :func:`count_contenders`.
    """
    n, few = columns.shape[1], count_contenders(count)
    pool, some = pool_of(columns, weights, optimism, sparse), np.arange(n)
    if columns.shape[0] == 0:  # nothing to look at, or to foresee
        scores = np.empty(n)
        fill_scores(pool, scores)
        order = top(scores, count)
        return order, np.empty((count, 0)), take(pool[1], order), take(scores, order)
    widen(pool, inverse, looks, optimism)
    if n > few:
        _tighten(pool, inverse, few)
        some = _strongest(pool, few)
        _, means, squares, exact, bonuses, others, added = pool
        for i in range(few):
            exact[i] = exact[some[i]]
        pool = (
            _gather(columns, some),
            take(means, some),
            take(squares, some),
            exact,
            take(bonuses, some),
            take(others, some),
            take(added, some),
        )
    order, rows, means, scores = foresee(pool, inverse, count, foresight)
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
def _tighten(pool: Pool, inverse: Matrix, few: int) -> None:
    """Tighten the bounds on the squares of widths as far as the best ``few`` depend on them.

    First those of the best means, whose scores then rule out most of the others.
    """
    means, exact = pool[1], pool[3]
    certain, scores = exact.copy(), np.empty(means.shape[0])
    _tighten_some(pool, top(means, few), inverse, certain)
    fill_scores(pool, scores)
    bar = math.inf
    for item in range(scores.shape[0]):
        if certain[item]:
            bar = min(bar, scores[item])
    rest, n = np.empty(scores.shape[0], np.int64), 0
    for item in range(scores.shape[0]):
        if not certain[item] and scores[item] >= bar:
            rest[n] = item
            n += 1
    _tighten_some(pool, rest[:n], inverse, certain)


@compiled
def _tighten_some(pool: Pool, some: Indices, inverse: Matrix, certain: Flags) -> None:
    """Compute the squares of some widths. O(n d^2)."""
    columns, _, squares, _, bonuses, _, _ = pool
    for start in range(0, some.shape[0], BLOCK):
        part = some[start : start + BLOCK]
        n = part.shape[0]
        means, widths, nothing = np.empty(n), np.empty(n), np.zeros(columns.shape[0])
        score_columns(_gather(columns, part), nothing, inverse, means, widths)
        for i in range(n):
            if not certain[part[i]]:
                rounding = _ROUNDING if bonuses[part[i]] >= 0.0 else 1.0 / _ROUNDING
                squares[part[i]] = widths[i] * widths[i] * rounding
            certain[part[i]] = True


@compiled
def _strongest(pool: Pool, few: int) -> Indices:
    """Find the largest scores, in ascending order of their indices. O(k log few)."""
    n = pool[1].shape[0]
    scores, chosen = np.empty(n), np.zeros(n, np.bool_)
    fill_scores(pool, scores)
    for item in top(scores, few):
        chosen[item] = True
    strongest, n = np.empty(few, np.int64), 0
    for item in range(scores.shape[0]):
        if chosen[item]:
            strongest[n] = item
            n += 1
    return strongest


@compiled
def strongest_looking(
    columns: Matrix, weights: Vector, inverse: Matrix, looks: Flags, optimism: Optimism, few: int
) -> Indices:
    """Find the best ``few`` of items, stored as columns, and those that are looked at."""
    n = columns.shape[1]
    pool = pool_of(columns, weights, optimism, no_sparse(n, optimism[0]))
    _tighten(pool, inverse, min(few, n))
    for i in range(n):
        if looks[i]:
            pool[1][i] = math.inf
            few += 1
    return _strongest(pool, min(few, n))
