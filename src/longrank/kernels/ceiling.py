"""Ceiling: no candidate scores more than a sum over its numbers, each on a curve of few pieces.

Products are bounded by the squares of the scores that they are made of, and widths by a straight line
over the square of the row's norm. So nothing but the candidate's own numbers is looked at, in the
order in which they are stored: very many candidates of many numbers pass at the speed of memory, and
only the few that can be among the best are sketched.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled, orderly
from longrank.kernels.sketch import EPSILON, PIECES, Sketch, largest_product, simplify
from longrank.kernels.tabular import MEAN, View

Vector = NDArray[np.float64]
Floats = NDArray[np.float32]

_SPARE = 0.1  # share by which squares of sums are bounded too high, for the sake of their offsets
# Breaks and turns of the curves, shape (8, d), the last number of each, and what is added.
Ceiling = tuple[Floats, Floats, Floats, float]


@compiled
def ceiling(view: View, rough: Sketch) -> Ceiling:
    """Work out an upper bound on scores that is a sum over numbers; infinite if there is none.

    O(d + n^3).
    """
    (_, knots, scores, _, counts), _, directions, offsets, _ = view
    _, factors, (sources, table), _, (others, _), numbers = rough
    d, n = knots.shape[0], directions.shape[0]
    breaks, turns = np.zeros((PIECES, d), np.float32), np.zeros((PIECES, d), np.float32)
    lasts = np.zeros(d, np.float32)
    if others.shape[0]:
        return breaks, turns, lasts, math.inf
    stretch, shift = _stretch(directions, offsets)
    expected, of_columns, of_sums = numbers[1], np.zeros(d, np.bool_), False
    for source in sources:
        if source < d:
            of_columns[source] = True
        else:
            of_sums = True
    for j in range(d):
        expected += max(factors[j, 2] + factors[j, 3] * MEAN, 0.0)
    per = numbers[8] / (2.0 * math.sqrt(expected))  # of the square of a norm
    square = largest_product(table) + numbers[8] * math.sqrt(numbers[2])
    total = numbers[0] + per * (numbers[1] + expected)
    if n and of_sums:
        total += square * shift * (1.0 + 1.0 / _SPARE)
    own, bent, rounding = np.zeros(PIECES, np.float32), np.zeros(PIECES, np.float32), 0.0
    heights, ends = np.empty(knots.shape[1]), np.zeros(2, np.float32)
    for j in range(d):
        bend = factors[j, 1] + per * factors[j, 3]
        curve = per * factors[j, 2] + (square if of_columns[j] else 0.0)
        if n and of_sums:
            curve += square * (1.0 + _SPARE) * stretch
        line, count = np.float64(factors[j, 0]), counts[j]
        if count == 1:  # below it, at it or above it
            total += max(abs(line) + bend + curve, 0.0)
            continue
        most = least = line * scores[j, 0] + bend * abs(scores[j, 0]) + curve * scores[j, 0] ** 2
        for at in range(count):
            z = scores[j, at]
            heights[at] = line * z + bend * abs(z) + curve * z * z
            most, least = max(most, heights[at]), min(least, heights[at])
            before = scores[j, at - 1]
            if bend < 0.0 and at and z * before < 0.0:  # between the two the curve is higher
                total -= 2.0 * bend * abs(z * before) / (abs(z) + abs(before))
        own[:], bent[:] = 0.0, 0.0
        off = simplify(knots[j], heights, count, own, bent, ends, math.inf)
        if off >= most - least:
            total += most
            continue
        breaks[:, j], turns[:, j], lasts[j] = own, bent, ends[1]
        total += heights[0] + off
        rounding += np.abs(bent).sum() * (knots[j, count - 1] - knots[j, 0]) + abs(heights[0])
    return breaks, turns, lasts, total + (d + 16.0) * EPSILON * (rounding + abs(total))


@compiled
def _stretch(directions: NDArray[np.float64], offsets: Vector) -> tuple[float, float]:
    """Bound the square of the norm of D by Gershgorin's circles; also return |offsets|^2."""
    most, shift = 0.0, 0.0
    for a in range(directions.shape[0]):
        row = 0.0
        for b in range(directions.shape[0]):
            dot = 0.0
            for j in range(directions.shape[1]):
                dot += directions[a, j] * directions[b, j]
            row += abs(dot)
        most = max(most, row)
        shift += offsets[a] * offsets[a]
    return most, shift


@orderly
def fill_ceilings(items: NDArray[np.floating], cap: Ceiling, highs: Floats) -> None:
    """Fill an upper bound on the score of every item. O(k d)."""
    breaks, turns, lasts, total = cap
    a, b, c, d = breaks[0], breaks[1], breaks[2], breaks[3]
    e, f, g, h = breaks[4], breaks[5], breaks[6], breaks[7]
    p, q, r, s = turns[0], turns[1], turns[2], turns[3]
    t, u, v, w = turns[4], turns[5], turns[6], turns[7]
    zero = np.float32(0.0)
    for i in range(items.shape[0]):
        found = zero
        for j in range(items.shape[1]):
            x = min(np.float32(items[i, j]), lasts[j])
            one = p[j] * max(x - a[j], zero) + q[j] * max(x - b[j], zero)
            two = r[j] * max(x - c[j], zero) + s[j] * max(x - d[j], zero)
            three = t[j] * max(x - e[j], zero) + u[j] * max(x - f[j], zero)
            four = v[j] * max(x - g[j], zero) + w[j] * max(x - h[j], zero)
            found += (one + two) + (three + four)
        highs[i] = np.float32(total) + found
