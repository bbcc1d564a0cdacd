"""Score the items of a round and choose the best of them, one position after the other."""

import math

import numpy as np
from numpy.typing import NDArray

from longrank.arrays import Matrix, Order, Vector
from longrank.kernels.compilation import compiled, reordered

Greedy = tuple[Order, Matrix, Vector, Vector]  # order, rows, means, scores


@compiled
def optimistic(mean: float, width: float, bonus: float, ceiling: float) -> float:
    """Compute the score of a row: its mean, and ``bonus`` times its width, up to the ceiling.

    This is all that optimism is. ``bonus`` is the square root of the paper's alpha, a draw, or less
    than 0 for a lower bound.
    """
    return min(mean + bonus * width, ceiling)


@reordered
def worst_row(items: NDArray[np.floating]) -> tuple[int, float]:
    """Find the row with the largest squared norm, or the first that is not finite. O(k d)."""
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
def width_of(row: Vector, inverse: Matrix, part: Vector) -> float:
    """Compute sqrt(x' M^-1 x). O(d^2).

    M^-1 is symmetric, so each product of two numbers of x is computed once and doubled. The inner
    loop runs along a row of M^-1, and every sum adds its terms in the order of ``score_columns``,
    so that both give the same bits.
    """
    square = 0.0
    for j in range(row.shape[0]):
        twice = 2.0 * row[j]
        for i in range(j):
            part[i] += twice * inverse[j, i]
        part[j] = row[j] * inverse[j, j]
    for i in range(row.shape[0]):
        square += row[i] * part[i]
    return math.sqrt(max(square, 0.0))


@compiled
def _score_row(row: Vector, weights: Vector, inverse: Matrix, part: Vector) -> tuple[float, float]:
    """Compute x.w and sqrt(x' M^-1 x), with the bits of ``score_columns``. O(d^2)."""
    mean = 0.0
    for j in range(row.shape[0]):
        mean += row[j] * weights[j]
    return mean, width_of(row, inverse, part)


@compiled
def score_columns(
    columns: Matrix, weights: Vector, inverse: Matrix, means: Vector, widths: Vector
) -> None:
    """Fill the means and widths of rows that are stored as columns. O(n d^2).

    No sum runs across items, so vector instructions speed it up without changing a bit. Two rows of
    M^-1 meet two columns at a time, since loading and storing ``parts`` costs most; a missing
    column has factors of 0.
    """
    d, n = weights.shape[0], means.shape[0]
    parts = np.empty((2, n))
    means[:] = 0.0
    widths[:] = 0.0
    for i in range(0, d, 2):
        k, second = min(i + 1, d - 1), 1.0 if i + 1 < d else 0.0
        own, other, weight, weight_k = columns[i], columns[k], weights[i], weights[k] * second
        a, b, c = inverse[i, i], 2.0 * inverse[k, i] * second, inverse[k, k] * second
        j, end = i + 2, d
        while end > j and inverse[end - 1, i] == 0.0 and inverse[end - 1, k] == 0.0:
            end -= 1  # adds nothing
        for item in range(n):
            x, y = own[item], other[item]
            means[item] = (means[item] + x * weight) + y * weight_k
            parts[0, item], parts[1, item] = x * a + y * b, y * c
        while j < end:
            m, twice = min(j + 1, d - 1), 2.0 if j + 1 < end else 0.0
            a, b = 2.0 * inverse[j, i], twice * inverse[m, i]
            c, e = 2.0 * inverse[j, k] * second, twice * inverse[m, k] * second
            first, last = columns[j], columns[m]
            for item in range(n):
                x, y = first[item], last[item]
                parts[0, item] = (parts[0, item] + x * a) + y * b
                parts[1, item] = (parts[1, item] + x * c) + y * e
            j += 2
        for item in range(n):
            x, y = own[item] * parts[0, item], other[item] * parts[1, item]
            widths[item] = (widths[item] + x) + y
    for item in range(n):
        widths[item] = math.sqrt(max(widths[item], 0.0))


@compiled
def add_columns(columns: Matrix, factors: Vector, sums: Vector) -> None:
    """Add x.factors to the sum of every item x, stored as columns. O(n d).

    Term by term in the order of ``score_columns``, whose means have the same bits.
    """
    j, d = 0, factors.shape[0]
    while j + 4 <= d:  # four at a time, since loading and storing the sums costs most
        a, b, c, e = factors[j], factors[j + 1], factors[j + 2], factors[j + 3]
        first, second = columns[j], columns[j + 1]
        third, fourth = columns[j + 2], columns[j + 3]
        for item in range(sums.shape[0]):
            total = (sums[item] + first[item] * a) + second[item] * b
            sums[item] = (total + third[item] * c) + fourth[item] * e
        j += 4
    while j < d:
        own, factor = columns[j], factors[j]
        for item in range(sums.shape[0]):
            sums[item] += own[item] * factor
        j += 1


@compiled
def outline_columns(columns: Matrix, weights: Vector, means: Vector, squares: Vector) -> None:
    """Add the mean x.w of every item x, stored as columns, and its squared norm. O(n d)."""
    add_columns(columns, weights, means)
    for j in range(columns.shape[0]):
        own = columns[j]
        for item in range(squares.shape[0]):
            squares[item] += own[item] * own[item]


_BLOCK = 120  # items that are scored side by side; a power of two would crowd the cache


@compiled
def _score_block(
    rows: NDArray[np.floating], weights: Vector, inverse: Matrix, means: Vector, widths: Vector
) -> None:
    n, d = rows.shape
    columns = np.empty((d, n))
    for item in range(n):
        for j in range(d):
            columns[j, item] = rows[item, j]
    score_columns(columns, weights, inverse, means, widths)


@compiled
def score_rows(
    rows: NDArray[np.floating], weights: Vector, inverse: Matrix
) -> tuple[Vector, Vector]:
    """Compute the mean and the width of every row. O(k d^2)."""
    k = rows.shape[0]
    means, widths = np.empty(k), np.empty(k)
    for start in range(0, k, _BLOCK):
        some = slice(start, min(start + _BLOCK, k))
        _score_block(rows[some], weights, inverse, means[some], widths[some])
    return means, widths


@compiled
def _before(scores: Vector, a: int, b: int) -> bool:
    """Whether item a ranks before item b: by score, then by index."""
    return bool(scores[a] > scores[b] or (scores[a] == scores[b] and a < b))


@compiled
def _sift(heap: Order, size: int, at: int, scores: Vector) -> None:
    """Restore a heap whose root is the lowest-ranked item, from one place down."""
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


_SHORT = 32  # up to this length, insertion is faster than a heap


@compiled
def _insert(scores: Vector, count: int) -> Order:
    order = np.arange(count)
    for item in range(scores.shape[0] if count > 0 else 0):
        at = min(item, count - 1)
        if item < count or scores[item] > scores[order[at]]:
            while at > 0 and scores[item] > scores[order[at - 1]]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = item
    return order


@compiled
def top(scores: Vector, count: int) -> Order:
    """Find the largest scores, best first, ties to the lower index. O(k log count)."""
    if count <= _SHORT:
        return _insert(scores, count)
    heap = np.arange(count)
    for at in range(count // 2 - 1, -1, -1):
        _sift(heap, count, at, scores)
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
    """Choose the best ``count`` items by their scores: independent greedy is sorting.

    O(k d^2 + k log count).
    """
    means, scores = score_rows(items, weights, inverse)
    for i in range(scores.shape[0]):
        scores[i] = optimistic(means[i], scores[i], bonus, ceiling)
    order = top(scores, count)
    rows = np.empty((count, items.shape[1]))
    for i in range(count):
        for j in range(items.shape[1]):
            rows[i, j] = items[order[i], j]
    return order, rows, means[order], scores[order]


@compiled
def _coverage_row(topics: Vector, remaining: Vector, row: Vector) -> None:
    """Fill the centred and scaled gain of coverage, (2 c rho - 1) / sqrt(d'). O(d')."""
    scale = 1.0 / math.sqrt(topics.shape[0])
    for i in range(topics.shape[0]):
        row[i] = (2.0 * topics[i] * remaining[i] - 1.0) * scale


_TOGETHER = 64  # items that are scored side by side
_FEW = 8  # up to this number, one by one is faster
_USED = -1e200  # the width of an item that was chosen: no increase brings it back


@compiled
def _score_some(
    topics: Matrix,
    remaining: Vector,
    some: Order,
    weights: Vector,
    inverse: Matrix,
    mean_of: Vector,
    width_of: Vector,
) -> None:
    """Score some items exactly, given what remains of the topics. O(n d^2)."""
    d, n = topics.shape[1], some.shape[0]
    scale = 1.0 / math.sqrt(d)
    if n <= _FEW:
        row, part = np.empty(d), np.empty(d)
        for item in some:
            _coverage_row(topics[item], remaining, row)
            mean_of[item], width_of[item] = _score_row(row, weights, inverse, part)
        return
    columns, means, widths = np.empty((d, n)), np.empty(n), np.empty(n)
    for at in range(n):
        for i in range(d):
            columns[i, at] = (2.0 * topics[some[at], i] * remaining[i] - 1.0) * scale
    score_columns(columns, weights, inverse, means, widths)
    for at in range(n):
        mean_of[some[at]], width_of[some[at]] = means[at], widths[at]


@compiled
def _move_bounds(
    by_topic: Matrix, falls: Vector, rises: Vector, mean_of: Vector, width_of: Vector
) -> None:
    """mean_of -= falls @ by_topic and width_of += rises @ by_topic, in one pass. O(k d')."""
    d, k = by_topic.shape
    i = 0
    while i + 4 <= d:  # four topics at a time, since loading and storing the sums costs most
        first, second = by_topic[i], by_topic[i + 1]
        third, fourth = by_topic[i + 2], by_topic[i + 3]
        a, b, c, e = falls[i], falls[i + 1], falls[i + 2], falls[i + 3]
        p, q, r, s = rises[i], rises[i + 1], rises[i + 2], rises[i + 3]
        for item in range(k):
            v, x, y, z = first[item], second[item], third[item], fourth[item]
            mean_of[item] -= (a * v + b * x) + (c * y + e * z)
            width_of[item] += (p * v + q * x) + (r * y + s * z)
        i += 4
    while i < d:
        for item in range(k):
            mean_of[item] -= falls[i] * by_topic[i, item]
            width_of[item] += rises[i] * by_topic[i, item]
        i += 1


@compiled
def greedy_coverage(
    topics: Matrix, weights: Vector, inverse: Matrix, bonus: float, ceiling: float, count: int
) -> Greedy:
    """Choose Algorithm 2's order: at each position the best item given those above it.

    When an item is chosen, each topic loses some of what remains of it. The mean of another item
    changes linearly with that, and its width by at most the sum of the changes of its row times
    sqrt(M^-1_ii), the width of topic i alone. So each item carries an upper bound on its score,
    and only those whose bound reaches the best score found are rescored: O(count k d') and a
    few times d'^2, instead of O(count k d'^2). Exact scores decide which item is chosen.
    """
    k, d = topics.shape
    order = np.empty(count, np.int64)
    rows, means, scores = np.empty((count, d)), np.empty(count), np.empty(count)
    remaining, lost = np.ones(d), np.empty(d)
    by_topic = np.ascontiguousarray(topics.T)
    slopes, reaches = np.empty(d), np.empty(d)  # of mean and width, in what remains of a topic
    for i in range(d):
        slopes[i] = 2.0 * weights[i] / math.sqrt(d)
        reaches[i] = 2.0 * math.sqrt(max(inverse[i, i], 0.0)) / math.sqrt(d)
    mean_of, width_of = np.empty(k), np.empty(k)
    some = np.empty(min(k, _TOGETHER), np.int64)
    for start in range(0, k, _TOGETHER):
        all_of_them = np.arange(start, min(start + _TOGETHER, k))
        _score_some(topics, remaining, all_of_them, weights, inverse, mean_of, width_of)
    slack = 1e-11  # the bounds carry rounding errors
    for i in range(d):
        slack += 1e-11 * (abs(slopes[i]) + bonus * reaches[i])
    for position in range(count):
        likeliest, reach = -1, -math.inf
        for item in range(k):
            bound = optimistic(mean_of[item], width_of[item], bonus, math.inf)
            if bound > reach:
                likeliest, reach = item, bound
        best, best_score = likeliest, -math.inf
        item = -1  # the likeliest first, so that most others are never scored
        while item < k:
            size = 0
            if item < 0:
                some[0], size, item = likeliest, 1, 0
            else:
                while item < k and size < some.shape[0]:
                    bound = optimistic(mean_of[item], width_of[item], bonus, ceiling)
                    if width_of[item] >= 0.0 and item != likeliest and bound >= best_score - slack:
                        some[size] = item
                        size += 1
                    item += 1
            _score_some(topics, remaining, some[:size], weights, inverse, mean_of, width_of)
            for each in some[:size]:
                score = optimistic(mean_of[each], width_of[each], bonus, ceiling)
                if score > best_score or (score == best_score and each < best):
                    best, best_score = each, score
        order[position], means[position], scores[position] = best, mean_of[best], best_score
        mean_of[best], width_of[best] = -math.inf, _USED
        _coverage_row(topics[best], remaining, rows[position])
        for i in range(d):
            lost[i] = remaining[i] * topics[best, i]
            remaining[i] *= 1.0 - topics[best, i]
        _move_bounds(by_topic, slopes * lost, reaches * lost, mean_of, width_of)
    return order, rows, means, scores


@compiled
def coverage_along(topics: Matrix, order: Order) -> Matrix:
    """Compute the rows of a given order. O(count d')."""
    rows = np.empty((order.shape[0], topics.shape[1]))
    remaining = np.ones(topics.shape[1])
    for position in range(order.shape[0]):
        _coverage_row(topics[order[position]], remaining, rows[position])
        for i in range(topics.shape[1]):
            remaining[i] *= 1.0 - topics[order[position], i]
    return rows
