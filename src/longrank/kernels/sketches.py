"""Sketch: what very many candidates score, roughly and fast, with a bound on the error.

The mean of a candidate is a sum over its scores z, their sizes |z|, and a quadratic form of those
scores, or sums of scores, of which products are made: nothing has to be expanded for it. The curve
from a number to its score is replaced by one of few pieces, which vector instructions evaluate. All
this is in float32; what it can be off by is worked out once, and added to a bound.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.arrays import Indices, Matrix, Vector
from longrank.kernels.compilation import compiled, orderly
from longrank.kernels.tabular import (
    BEND,
    DEVIATION,
    KNOTS,
    MEAN,
    PRODUCT,
    View,
    fill_level,
    score_column,
)

Floats = NDArray[np.float32]

PIECES = 8  # of a curve
_COARSE = 0.2  # a curve that is off by more is evaluated exactly
EPSILON = 1.2e-7  # of float32
# Breaks and turns of the curves, their first and last numbers; factors of z, |z|, and in the square
# of z^2, |z|; the sources of products and their factors; directions and offsets; levels, and the
# weights of all columns; and numbers: see ``sketch``.
Sketch = tuple[
    tuple[Floats, Floats, Floats],
    Floats,
    tuple[Indices, Floats],
    tuple[Floats, Floats],
    tuple[Indices, Vector],
    Vector,
]


@compiled
def simplify(
    knots: Vector,
    scores: Vector,
    count: int,
    breaks: Floats,
    turns: Floats,
    ends: Floats,
    coarse: float,
) -> float:
    """Draw a curve with few pieces; return by how much it can be off.

    Infinity if that is more than ``coarse``, or if float32 cannot hold it. O(1).
    """
    size = max(abs(knots[0]), abs(knots[count - 1]))
    span = knots[count - 1] - knots[0]
    if count == 1 or not (size < 1e30 and span > 1e-30):
        return math.inf
    kept, off = np.zeros(KNOTS, np.bool_), 0.0
    kept[0] = kept[count - 1] = True
    for _ in range(PIECES):
        worst, off, left = 0, 0.0, 0
        for right in range(1, count):
            if not kept[right]:
                continue
            slope = (scores[right] - scores[left]) / (knots[right] - knots[left])
            for at in range(left + 1, right):
                miss = abs(scores[left] + slope * (knots[at] - knots[left]) - scores[at])
                if miss > off:
                    worst, off = at, miss
            left = right
        if off == 0.0 or kept.sum() > PIECES:
            break
        kept[worst] = True
    piece, left, before, steep = 0, 0, 0.0, 0.0
    for right in range(1, count):
        if kept[right]:
            slope = (scores[right] - scores[left]) / (knots[right] - knots[left])
            breaks[piece], turns[piece] = knots[left], slope - before
            steep += abs(slope - before)
            piece, left, before = piece + 1, right, slope
    ends[0], ends[1] = scores[0], knots[count - 1]
    off += 16.0 * EPSILON * steep * size
    return off if off <= coarse else math.inf


@compiled
def sketch(view: View, weights: Vector, bonus: float, prior: float) -> Sketch:
    """Work out how to score candidates roughly, and how far off that can be. O(d n^2).

    The numbers are: a constant of the mean; one of the square; the factor of the square of a
    product; what the mean can be off by, always and for each unit of the norm of the sources; the
    same for the norm of a row, which counts only in an upper bound; and the factor of the norm.
    """
    curves, scale, directions, offsets, (kinds, first, second, bounds) = view
    _, knots, scores, _, counts = curves
    d, n = knots.shape[0], directions.shape[0]
    breaks, turns = np.zeros((d, PIECES), np.float32), np.zeros((d, PIECES), np.float32)
    ends, factors = np.zeros((d, 2), np.float32), np.zeros((d, 4))
    offs, largest = np.empty(d), np.empty(d)
    for j in range(d):
        largest[j] = max(1.0, np.abs(scores[j]).max())
        off = simplify(knots[j], scores[j], counts[j], breaks[j], turns[j], ends[j], _COARSE)
        if off == math.inf:
            turns[j, 0] = math.nan  # evaluated exactly
            off = 0.0
        offs[j] = off + 4.0 * EPSILON * largest[j]
        factors[j, 0], factors[j, 2] = scale * weights[j], scale * scale
    mean, square, product = weights[d], 1.0, 0.0
    place, used = np.full(d + n, -1), 0
    levels = np.empty(kinds.shape[0], np.int64)
    count = 0
    for f in range(kinds.shape[0]):
        weight, a, b = bounds[f, 2], first[f], second[f]
        if kinds[f] == PRODUCT:
            for source in (a, b):
                if place[source] < 0:
                    place[source] = used
                    used += 1
            product = max(product, weight * weight * (1.0 if a == b else 0.5))
        elif kinds[f] == BEND:
            size = weight / DEVIATION
            mean -= weights[d + 1 + f] * size * MEAN
            square += size * MEAN * size * MEAN
            factors[a, 1] += weights[d + 1 + f] * size
            factors[a, 2] += size * size
            factors[a, 3] -= 2.0 * size * size * MEAN
        else:
            levels[count] = f
            count += 1
    sources, table = np.empty(used, np.int64), np.zeros((used, used))
    for source in range(d + n):
        if place[source] >= 0:
            sources[place[source]] = source
    for f in range(kinds.shape[0]):
        if kinds[f] == PRODUCT:
            a, b = place[first[f]], place[second[f]]
            table[min(a, b), max(a, b)] += weights[d + 1 + f] * bounds[f, 2]
    size, spread = 0.0, _spread(sources, directions, offsets, offs, largest)
    for a in range(used):
        size += table[a, a] * table[a, a]
        for b in range(a + 1, used):
            size += 0.5 * table[a, b] * table[a, b]
    size = math.sqrt(size)
    plain, along, total = size * spread * spread, 0.0, abs(mean)
    for j in range(d):
        steep = abs(factors[j, 0]) + abs(factors[j, 1])
        plain += steep * offs[j]
        total += steep * largest[j]
        along += factors[j, 2] * offs[j] * offs[j]
    plain += (d + 8.0) * EPSILON * total
    root = math.sqrt(product)
    numbers = np.array(
        [
            mean,
            square,
            product,
            plain,
            2.0 * size * spread,
            4.0 * (used + 4.0) * EPSILON * size,
            math.sqrt(along) + root * spread * spread,
            2.0 * root * spread,
            bonus * math.sqrt(1.0 / prior) * (1.0 + 1e-4),
        ]
    )
    return (
        (breaks, turns, ends),
        factors.astype(np.float32),
        (sources, table.astype(np.float32)),
        (directions.astype(np.float32), offsets.astype(np.float32)),
        (levels[:count], weights),
        numbers,
    )


@compiled
def _spread(
    sources: Indices, directions: Matrix, offsets: Vector, offs: Vector, largest: Vector
) -> float:
    """Bound how far the sources of products can be off, as a vector. O(d n^2)."""
    d, n = offs.shape[0], directions.shape[0]
    own, summed, rounding = 0.0, 0.0, 0.0
    for source in sources:
        if source < d:
            own += offs[source] * offs[source]
    if n:
        one_by_one, norm, off = 0.0, 0.0, 0.0
        for a in range(n):
            off_by, at_most, row = 0.0, abs(offsets[a]), 0.0
            for j in range(d):
                off_by += abs(directions[a, j]) * offs[j]
                at_most += abs(directions[a, j]) * largest[j]
            for b in range(n):
                dot = 0.0
                for j in range(d):
                    dot += directions[a, j] * directions[b, j]
                row += abs(dot)
            one_by_one += off_by * off_by
            norm = max(norm, row)
            rounding += ((d + 4.0) * EPSILON * at_most) ** 2
        for j in range(d):
            off += offs[j] * offs[j]
        summed = min(one_by_one, norm * off)  # of each, or of all by the norm of the matrix
    return math.sqrt(own + summed) + math.sqrt(rounding)


@orderly
def _draw(row: Floats, breaks: Floats, turns: Floats, ends: Floats) -> None:
    """Replace numbers by their scores on a curve of eight pieces. O(k)."""
    zero, height, last = np.float32(0.0), ends[0], ends[1]
    a, b, c, d = breaks[0], breaks[1], breaks[2], breaks[3]
    e, f, g, h = breaks[4], breaks[5], breaks[6], breaks[7]
    p, q, r, s = turns[0], turns[1], turns[2], turns[3]
    t, u, v, w = turns[4], turns[5], turns[6], turns[7]
    for i in range(row.shape[0]):
        x = min(row[i], last)
        one = p * max(x - a, zero) + q * max(x - b, zero)
        two = r * max(x - c, zero) + s * max(x - d, zero)
        three = t * max(x - e, zero) + u * max(x - f, zero)
        four = v * max(x - g, zero) + w * max(x - h, zero)
        row[i] = ((height + one) + two) + (three + four)


@orderly
def _draw_line(row: Floats, first: float, slope: float, ends: Floats) -> None:
    """Do the same where the curve is one straight piece, as it is for embeddings. O(k)."""
    zero, height, last = np.float32(0.0), ends[0], ends[1]
    for i in range(row.shape[0]):
        row[i] = height + slope * max(min(row[i], last) - first, zero)


@orderly
def _add(row: Floats, factors: Floats, means: Floats, squares: Floats) -> None:
    """Add what the scores of a column contribute by themselves. O(k)."""
    a, b, c, d = factors[0], factors[1], factors[2], factors[3]
    for i in range(row.shape[0]):
        z = row[i]
        size = abs(z)
        means[i] += a * z + b * size
        squares[i] += c * (z * z) + d * size


@orderly
def _add_rows(rows: Floats, factors: Floats, sums: Floats) -> None:
    """Add the product of factors, shape (2, d), with rows, shape (d, k), to sums. O(k d)."""
    first, second = factors[0], factors[1]
    one, two = sums[0], sums[1]
    j, d = 0, rows.shape[0]
    while j + 4 <= d:
        a, b, c, e = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
        p, q, r, s = first[j], first[j + 1], first[j + 2], first[j + 3]
        t, u, v, w = second[j], second[j + 1], second[j + 2], second[j + 3]
        for i in range(one.shape[0]):
            one[i] += (p * a[i] + q * b[i]) + (r * c[i] + s * e[i])
            two[i] += (t * a[i] + u * b[i]) + (v * c[i] + w * e[i])
        j += 4
    while j < d:
        a, p, t = rows[j], first[j], second[j]
        for i in range(one.shape[0]):
            one[i] += p * a[i]
            two[i] += t * a[i]
        j += 1


@orderly
def _add_products(
    rows: Floats, sources: Indices, table: Floats, means: Floats, norms: Floats
) -> None:
    """Add the quadratic form of the sources, and the sum of their squares. O(k n^2)."""
    n, total = sources.shape[0], np.empty(means.shape[0], np.float32)
    for a in range(n):
        own, weight = rows[sources[a]], table[a, a]
        for i in range(total.shape[0]):
            total[i] = weight * own[i]
        b = a + 1
        while b + 4 <= n:
            p, q, r, s = table[a, b], table[a, b + 1], table[a, b + 2], table[a, b + 3]
            one, two = rows[sources[b]], rows[sources[b + 1]]
            three, four = rows[sources[b + 2]], rows[sources[b + 3]]
            for i in range(total.shape[0]):
                total[i] += (p * one[i] + q * two[i]) + (r * three[i] + s * four[i])
            b += 4
        while b < n:
            p, one = table[a, b], rows[sources[b]]
            for i in range(total.shape[0]):
                total[i] += p * one[i]
            b += 1
        for i in range(total.shape[0]):
            means[i] += own[i] * total[i]
            norms[i] += own[i] * own[i]


@compiled
def block_size(d: int) -> int:
    """How many items of d numbers are sketched side by side, so that they stay in the cache."""
    return 192 if d <= 32 else 96  # whole vectors


@compiled
def bound_scores(
    items: NDArray[np.floating], view: View, rough: Sketch, lows: Vector, highs: Vector
) -> None:
    """Bound the means of a block of items from below, and their scores from above. O(k (d + n^2)).

    ``highs`` holds for a bonus that is that of the sketch.
    """
    (breaks, turns, ends), factors, (sources, table), (directions, offsets), levels, numbers = rough
    d, k, n = items.shape[1], items.shape[0], directions.shape[0]
    rows = np.empty((d + n + n % 2, k), np.float32)
    means, squares = np.zeros(k, np.float32), np.zeros(k, np.float32)
    exact = np.empty(k)
    guides, knots, scores, slopes, counts = view[0]
    for j in range(d):
        row = rows[j]
        if math.isnan(turns[j, 0]):
            score_column(items, j, guides[j], knots[j], scores[j], slopes[j], counts[j], exact)
            for i in range(k):
                row[i] = np.float32(exact[i])
        else:
            for i in range(k):
                row[i] = np.float32(items[i, j])
            if turns[j, 1:].any():
                _draw(row, breaks[j], turns[j], ends[j])
            else:
                _draw_line(row, breaks[j, 0], turns[j, 0], ends[j])
        _add(row, factors[j], means, squares)
    for a in range(n):
        rows[d + a, :] = -offsets[a]
    for a in range(0, n - 1, 2):
        _add_rows(rows[:d], directions[a : a + 2], rows[d + a : d + a + 2])
    if n % 2:
        last = np.zeros((2, d), np.float32)
        last[0] = directions[n - 1]
        _add_rows(rows[:d], last, rows[d + n - 1 : d + n + 1])
    norms = np.zeros(k, np.float32)
    _add_products(rows, sources, table, means, norms)
    more, wider = np.zeros(k), np.full(k, numbers[1])
    _add_levels(items, view, levels, more, wider)
    for i in range(k):
        norm, mean = np.float64(norms[i]), numbers[0] + np.float64(means[i]) + more[i]
        root = math.sqrt(norm)
        off = numbers[3] + numbers[4] * root + numbers[5] * norm
        square = wider[i] + np.float64(squares[i]) + numbers[2] * norm * norm
        length = math.sqrt(square) + numbers[6] + numbers[7] * root
        lows[i], highs[i] = mean - off, mean + off + numbers[8] * length


@compiled
def _add_levels(
    items: NDArray[np.floating],
    view: View,
    levels: tuple[Indices, Vector],
    means: Vector,
    squares: Vector,
) -> None:
    """Add what levels contribute, exactly, one by one. O(k)."""
    _, _, _, _, (_, first, _, bounds) = view
    chosen, weights = levels
    column = np.empty(means.shape[0])
    for f in chosen:
        weight = weights[items.shape[1] + 1 + f]
        fill_level(items, first[f], bounds[f], column)
        for i in range(column.shape[0]):
            means[i] += weight * column[i]
            squares[i] += column[i] * column[i]
