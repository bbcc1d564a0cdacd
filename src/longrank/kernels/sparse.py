"""One belief: a dense block with its covariance, and sparse columns, each with its variance.

The sparse columns that occurred stand in a hash table.

A row is made of atoms, each a 64-bit key and a number: those of the candidate (the first is the
constant) and those of the context. A *plan* says which entries they form: entry p is atom
``left[p]`` of the candidate, times atom ``right[p]`` of the context unless that is -1 (atoms of the
candidate are crossed with each other as well: ``right[p] = -2 - j`` is its atom j). The key of a
product is a mixture of both keys.

The columns live in a table: see :mod:`longrank.kernels.hash_table`.
"""

import numpy as np

from longrank.arrays import Indices, Keys, Matrix, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.hash_table import FREE, find, first_variance, join_groups, place
from longrank.kernels.laplace import forget, implicit_residual
from longrank.kernels.link import LOGISTIC, slope
from longrank.kernels.update import (
    cost_residual,
    mean_and_square,
    shrink,
    shrink_times,
    times_row,
)

Rows = tuple[Keys, Matrix, tuple[Keys, Vector]]  # keys and numbers, then those of the context
Plan = tuple[Indices, Indices, Keys]  # left, right, groups
Table = tuple[Keys, Matrix, Keys, Vector]  # keys, columns, keys of groups, variances of groups
# Weights and covariance of the dense block, its prior precision, and what it forgets.
Dense = tuple[Vector, Matrix, float, float]
# The table, the group of each column, the sums of the groups, the counts, the largest size.

_MIN_VARIANCE, _MAX_VARIANCE = 1e-4, 25.0
_MIN_SLOPE = 1e-300  # far out the curve is flat
_TURN, _BACK = np.uint64(31), np.uint64(33)


@compiled
def cross_keys(one: np.uint64, other: np.uint64) -> np.uint64:
    """Mix two keys into that of their product.

    Keys are digests, so a sum without carry has no more collisions than they do; the turn tells
    the two sides apart.
    """
    return one ^ ((other << _TURN) | (other >> _BACK))


@compiled
def entry(
    p: int, left: Indices, right: Indices, keys: Keys, numbers: Vector, context: tuple[Keys, Vector]
) -> tuple[np.uint64, float]:
    """The key and the number of entry p of a row."""
    i, j = left[p], right[p]
    if j == -1:
        return keys[i], numbers[i]
    if j < -1:
        return cross_keys(keys[i], keys[-2 - j]), numbers[i] * numbers[-2 - j]
    return cross_keys(keys[i], context[0][j]), numbers[i] * context[1][j]


@compiled
def _precisions(group_keys: Keys, variances: Vector, groups: Keys) -> Vector:
    """The prior precision of every entry."""
    precisions = np.empty(groups.shape[0])
    last = FREE
    for p in range(groups.shape[0]):
        if p > 0 and groups[p] == last:
            precisions[p] = precisions[p - 1]
            continue
        last = groups[p]
        at = find(group_keys, last)
        if at < 0 and variances[0] == 0.0:  # none shares the first place
            precisions[p] = 1.0 / first_variance(groups.shape[0])
        else:
            precisions[p] = 1.0 / variances[max(at, 0)]
    return precisions


@compiled
def score_sparse(rows: Rows, plan: Plan, table: Table) -> tuple[Vector, Vector]:
    """Means and squared widths of rows. O(k n)."""
    row_keys, row_numbers, context = rows
    left, right, groups = plan
    keys, columns, group_keys, variances = table
    precisions = _precisions(group_keys, variances, groups)
    k, n = row_keys.shape[0], left.shape[0]
    means, squares = np.zeros(k), np.zeros(k)
    for i in range(k):
        mean, square = 0.0, 0.0
        for p in range(n):
            key, x = entry(p, left, right, row_keys[i], row_numbers[i], context)
            if x == 0.0:
                continue
            at = find(keys, key)
            if at < 0:
                square += x * x / precisions[p]
            else:
                s = 1.0 / (precisions[p] + columns[at, 0])
                mean += columns[at, 1] * s * x
                square += s * x * x
        means[i], squares[i] = mean, square
    return means, squares


@compiled
def learn_blocks(
    block: Matrix,
    dense: Dense,
    rows: Rows,
    plan: Plan,
    table: Table,
    group_of: Indices,
    sums: Matrix,
    counts: Indices,
    succeeded: bool,
    costs: Vector,
    dispersion: float,
) -> None:
    """Learn from every observed row in order. O(rows (n + d^2)).

    Whether it succeeded, by the logistic curve; or, where ``costs`` has a number for each row, what
    it cost: see ``cost_residual``.

    Each moves to the mode of its posterior: the dense block by its covariance, with the sparse
    columns' uncertainty as noise. The precision of a sparse column grows by what the row tells
    about it while the uncertainty of all others counts as noise. Then the prior variance
    of each group is set to what its columns show: sum of m^2 over the number of columns that the
    data determine, both counted from one column of variance 1.

    ``counts``: columns in use, groups in use, columns that gave way.
    """
    row_keys, row_numbers, context = rows
    left, right, groups = plan
    keys, columns, group_keys, variances = table
    n = left.shape[0]
    group = join_groups(group_keys, variances, groups, counts)
    at, own = np.empty(n, np.int64), np.empty(n, np.uint64)
    numbers, means, spreads = np.empty(n), np.empty(n), np.empty(n)
    weights, inverse, prior, forgetting = dense
    direction, following = np.empty(weights.shape[0]), np.empty(weights.shape[0])
    if forgetting > 0.0:
        forget(inverse, prior, forgetting)
    last = row_keys.shape[0] - 1
    for i in range(row_keys.shape[0]):
        if i == 0:
            times_row(inverse, block[0], direction)
        mean, square = mean_and_square(weights, block[i], direction)
        for p in range(n):
            own[p], numbers[p] = entry(p, left, right, row_keys[i], row_numbers[i], context)
            if own[p] == FREE:  # the mark of a free place
                numbers[p] = 0.0
            if numbers[p] != 0.0:
                at[p] = place(keys, columns, group_of, sums, counts, own[p], group[p])
        for p in range(n):
            if numbers[p] != 0.0 and keys[at[p]] != own[p]:
                numbers[p] = 0.0  # a later entry of the row took its place
            if numbers[p] != 0.0:
                s = 1.0 / (1.0 / variances[group[p]] + columns[at[p], 0])
                spreads[p], means[p] = s, columns[at[p], 1] * s
                mean += means[p] * numbers[p]
                square += s * numbers[p] * numbers[p]
        if costs.shape[0]:
            g = cost_residual(mean, square, costs[i], dispersion)
            noise = dispersion + square
        else:
            g = implicit_residual(mean, square, succeeded and i == last)
            noise = 1.0 / max(slope(LOGISTIC, mean + g * square), _MIN_SLOPE) + square
        for j in range(weights.shape[0]):
            weights[j] += g * direction[j]
        if i == last:
            shrink(inverse, direction, 1.0 / noise)
        else:
            shrink_times(inverse, direction, 1.0 / noise, block[i + 1], following)
            direction, following = following, direction
        for p in range(n):
            x = numbers[p]
            if x == 0.0:
                continue
            column = columns[at[p]]
            s = spreads[p]
            moved = means[p] + g * s * x
            column[0] += x * x / (noise - s * x * x)
            precision = 1.0 / variances[group[p]] + column[0]
            column[1] = moved * precision
            shown, determined = moved * moved, column[0] / precision
            sums[group[p], 0] += shown - column[2]
            sums[group[p], 1] += determined - column[3]
            column[2], column[3] = shown, determined
        for p in range(n):
            if p == n - 1 or group[p + 1] != group[p]:
                seen, determined = sums[group[p], 0], sums[group[p], 1]
                first = first_variance(n)
                learned = (first + max(seen, 0.0)) / (1.0 + max(determined, 0.0))
                variances[group[p]] = min(max(learned, _MIN_VARIANCE), _MAX_VARIANCE)


@compiled
def contributions(rows: Rows, plan: Plan, table: Table, labels: Indices, size: int) -> Matrix:
    """What each label adds to the mean of each row, shape (k, size). O(k n)."""
    row_keys, row_numbers, context = rows
    left, right, groups = plan
    keys, columns, group_keys, variances = table
    precisions = _precisions(group_keys, variances, groups)
    added = np.zeros((row_keys.shape[0], size))
    for i in range(row_keys.shape[0]):
        for p in range(left.shape[0]):
            key, x = entry(p, left, right, row_keys[i], row_numbers[i], context)
            at = find(keys, key) if x != 0.0 else -1
            if at >= 0:
                added[i, labels[p]] += columns[at, 1] / (precisions[p] + columns[at, 0]) * x
    return added


@compiled
def speak_dense(block: Matrix, weights: Vector, labels: Indices, added: Matrix) -> None:
    """Add to ``added`` what the columns of the dense block add to the mean of each row. O(k d)."""
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            added[i, labels[j]] += weights[j] * block[i, j]
