"""Scoring a set of items and choosing the best of it, one position after the other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compiled import compiled

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Order = NDArray[np.int64]
Greedy = tuple[Order, Matrix, Vector, Vector]  # order, rows, means, scores


@compiled
def worst_row(items: NDArray[np.floating]) -> tuple[int, float]:
    """The row with the largest squared norm, or the first that is not finite. O(k d)."""
    worst, largest = 0, 0.0
    for i in range(items.shape[0]):
        total = 0.0
        for j in range(items.shape[1]):
            x = np.float64(items[i, j])  # float() would keep float32, whose squares overflow
            total += x * x
        if not total < math.inf:  # also true of NaN
            return i, total
        if total > largest:
            worst, largest = i, total
    return worst, largest


@compiled
def _mean_and_width(
    row: NDArray[np.floating], weights: Vector, inverse: Matrix, scratch: Vector
) -> tuple[float, float]:
    """x.w and sqrt(x' M^-1 x). O(d^2); the inner loop runs along a row of M^-1."""
    mean = 0.0
    scratch[:] = 0.0
    for i in range(row.shape[0]):
        x = float(row[i])
        mean += x * weights[i]
        for j in range(row.shape[0]):
            scratch[j] += x * inverse[i, j]
    square = 0.0
    for j in range(row.shape[0]):
        square += scratch[j] * float(row[j])
    return mean, math.sqrt(max(square, 0.0))


_BLOCK = 128  # items that are scored side by side, so that vector instructions can serve


@compiled
def score_rows(
    rows: NDArray[np.floating], weights: Vector, inverse: Matrix
) -> tuple[Vector, Vector]:
    """The mean and the width of every row. O(k d^2).

    Items stand side by side in the innermost loops, where no sum runs across them: vector
    instructions make it fast and change no bit.
    """
    k, d = rows.shape
    means, squares = np.zeros(k), np.zeros(k)
    columns, part = np.empty((d, min(k, _BLOCK))), np.empty(min(k, _BLOCK))
    for start in range(0, k, _BLOCK):
        n = min(_BLOCK, k - start)
        mean, square = means[start : start + n], squares[start : start + n]
        for item in range(n):
            for j in range(d):
                columns[j, item] = rows[start + item, j]
        for i in range(d):
            own = columns[i]
            for item in range(n):
                mean[item] += own[item] * weights[i]
                part[item] = own[item] * inverse[i, i]
            for j in range(i + 1, d):
                twice = 2.0 * inverse[i, j]
                other = columns[j]
                for item in range(n):
                    part[item] += other[item] * twice
            for item in range(n):
                square[item] += own[item] * part[item]
    for i in range(k):
        squares[i] = math.sqrt(max(squares[i], 0.0))
    return means, squares


@compiled
def _before(scores: Vector, a: int, b: int) -> bool:
    """Whether item a goes before item b: by score, then by index."""
    return bool(scores[a] > scores[b] or (scores[a] == scores[b] and a < b))


@compiled
def _sift(heap: Order, size: int, at: int, scores: Vector) -> None:
    """Restore a heap whose root is the item that would go last, from one place down."""
    item = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _before(scores, heap[child], heap[child + 1]):
            child += 1
        if not _before(scores, item, heap[child]):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = item


@compiled
def top(scores: Vector, count: int) -> Order:
    """The indices of the largest scores, best first, ties to the lower index. O(k log count)."""
    heap = np.arange(count)
    for at in range(count // 2 - 1, -1, -1):
        _sift(heap, count, at, scores)
    if count > 0:
        for item in range(count, scores.shape[0]):
            if scores[item] > scores[heap[0]]:  # an equal one has the higher index
                heap[0] = item
                _sift(heap, count, 0, scores)
    for size in range(count - 1, 0, -1):
        heap[0], heap[size] = heap[size], heap[0]
        _sift(heap, size, 0, scores)
    return heap


@compiled
def greedy_plain(
    items: NDArray[np.floating],
    weights: Vector,
    inverse: Matrix,
    bonus: float,
    ceiling: float,
    count: int,
) -> Greedy:
    """The best ``count`` items by mean + bonus * width: greedy without a prefix is sorting.

    O(k d^2 + k log count). ``bonus`` is the square root of the paper's alpha.
    """
    means, scores = score_rows(items, weights, inverse)
    for i in range(scores.shape[0]):
        scores[i] = min(means[i] + bonus * scores[i], ceiling)
    order = top(scores, count)
    rows = np.empty((count, items.shape[1]))
    for i in range(count):
        for j in range(items.shape[1]):
            rows[i, j] = items[order[i], j]
    return order, rows, means[order], scores[order]


@compiled
def _coverage_row(topics: Vector, remaining: Vector, row: Vector) -> None:
    """The centred and scaled gain of coverage, (2 c rho - 1) / sqrt(d'). O(d')."""
    scale = 1.0 / math.sqrt(topics.shape[0])
    for i in range(topics.shape[0]):
        row[i] = (2.0 * topics[i] * remaining[i] - 1.0) * scale


@compiled
def greedy_coverage(
    topics: Matrix, weights: Vector, inverse: Matrix, bonus: float, ceiling: float, count: int
) -> Greedy:
    """Algorithm 2's order: at each position the best item given those above it.

    When an item is chosen, each topic loses some of what remains of it. The mean of another item
    changes with that linearly, and its width by at most the sum of the changes of its row times
    sqrt(M^-1_ii), the width of topic i alone. So each item carries an upper bound on its score,
    and only those whose bound reaches the best score found are scored anew: O(count k d') and a
    few times d'^2, in place of O(count k d'^2). Which item is chosen is decided by exact scores.
    """
    k, d = topics.shape
    order = np.empty(count, np.int64)
    rows, means, scores = np.empty((count, d)), np.empty(count), np.empty(count)
    remaining, row, scratch = np.ones(d), np.empty(d), np.empty(d)
    by_topic = np.ascontiguousarray(topics.T)
    slopes, reaches = np.empty(d), np.empty(d)  # of mean and width, in what remains of a topic
    for i in range(d):
        slopes[i] = 2.0 * weights[i] / math.sqrt(d)
        reaches[i] = 2.0 * math.sqrt(max(inverse[i, i], 0.0)) / math.sqrt(d)
    mean_of, width_of = np.empty(k), np.empty(k)
    for item in range(k):
        _coverage_row(topics[item], remaining, row)
        mean_of[item], width_of[item] = _mean_and_width(row, weights, inverse, scratch)
    slack = 1e-11  # the bounds carry rounding errors
    for i in range(d):
        slack += 1e-11 * (abs(slopes[i]) + bonus * reaches[i])
    for position in range(count):
        best, reach = -1, -math.inf
        for item in range(k):
            bound = mean_of[item] + bonus * width_of[item]
            if bound > reach:
                best, reach = item, bound
        best_mean, best_score = 0.0, -math.inf
        likeliest = best
        for turn in range(-1, k):  # the likeliest first, so that most others need no look
            item = likeliest if turn < 0 else turn
            if turn == likeliest or width_of[item] < 0.0:
                continue
            if min(mean_of[item] + bonus * width_of[item], ceiling) < best_score - slack:
                continue
            _coverage_row(topics[item], remaining, row)
            mean, width = _mean_and_width(row, weights, inverse, scratch)
            mean_of[item], width_of[item] = mean, width
            score = min(mean + bonus * width, ceiling)
            if score > best_score or (score == best_score and item < best):
                best, best_mean, best_score = item, mean, score
        order[position], means[position], scores[position] = best, best_mean, best_score
        mean_of[best], width_of[best] = -math.inf, -1.0  # used
        _coverage_row(topics[best], remaining, rows[position])
        for i in range(d):
            lost = remaining[i] * topics[best, i]
            remaining[i] *= 1.0 - topics[best, i]
            if lost > 0.0:
                slope, width_slope = slopes[i] * lost, reaches[i] * lost
                for item in range(k):
                    mean_of[item] -= slope * by_topic[i, item]
                for item in range(k):
                    if width_of[item] >= 0.0:
                        width_of[item] += width_slope * by_topic[i, item]
    return order, rows, means, scores


@compiled
def coverage_along(topics: Matrix, order: Order) -> Matrix:
    """The rows of a given order. O(count d')."""
    rows = np.empty((order.shape[0], topics.shape[1]))
    remaining = np.ones(topics.shape[1])
    for position in range(order.shape[0]):
        _coverage_row(topics[order[position]], remaining, rows[position])
        for i in range(topics.shape[1]):
            remaining[i] *= 1.0 - topics[order[position], i]
    return rows
