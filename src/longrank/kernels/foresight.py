"""Greedy choice with foresight: each position is chosen as if all items above it had failed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled
from longrank.kernels.curve import LOGISTIC, slope
from longrank.kernels.laplace import implicit_residual
from longrank.kernels.ranking import Greedy, score_rows, top
from longrank.kernels.update import times_row

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@compiled
def _products(columns: Matrix, direction: Vector, products: Vector) -> None:
    """Fill x.h for every item x. O(k d), side by side as in ``_score_columns``."""
    products[:] = 0.0
    for i in range(columns.shape[0]):
        own, factor = columns[i], direction[i]
        for item in range(products.shape[0]):
            products[item] += own[item] * factor


@compiled
def greedy_foreseeing(
    items: Matrix, weights: Vector, inverse: Matrix, bonus: float, count: int, foresight: int
) -> Greedy:
    """Choose ``count`` items, each by what would be believed if all above it had failed.

    O(k d^2) for the scores, and what :func:`foresee` takes.
    """
    means, widths = score_rows(items, weights, inverse)
    return foresee(items, means, widths, inverse, np.full(items.shape[0], bonus), count, foresight)


@compiled
def foresee(
    items: Matrix,
    mean_of: Vector,
    width_of: Vector,
    inverse: Matrix,
    bonuses: Vector,
    count: int,
    foresight: int,
) -> Greedy:
    """Choose ``count`` items by means and widths, each as if all above it had failed.

    The belief is a normal one about a logistic model. The step that ``laplace_row`` would take on
    a failure of an item moves the mean of every other item x by g x.h and the square of its width
    by -factor (x.h)^2, with h = M^-1 of the failed one. So each failure foreseen costs O(k d);
    M itself is not changed, and what the earlier failures took from it is subtracted from h.
    Positions after ``foresight`` failures use the belief as it is then. Each item has a bonus of
    its own. The means and widths that are given are written over.
    """
    k, d = items.shape
    ahead = min(foresight, count)
    columns = np.ascontiguousarray(items.T)
    square_of = width_of
    score_of = np.empty(k)
    for item in range(k):
        square_of[item] *= square_of[item]
        score_of[item] = mean_of[item] + bonuses[item] * math.sqrt(square_of[item])
    order, means, scores = np.empty(count, np.int64), np.empty(count), np.empty(count)
    directions, products = np.empty((ahead, d)), np.empty((ahead, k))
    factors = np.empty(ahead)
    for position in range(ahead):
        best = 0
        for item in range(1, k):
            if score_of[item] > score_of[best]:
                best = item
        order[position] = best
        means[position], scores[position] = mean_of[best], score_of[best]
        if position == count - 1:
            break
        mean, square = mean_of[best], max(square_of[best], 0.0)
        direction, along = directions[position], products[position]
        times_row(inverse, items[best], direction)
        for above in range(position):
            taken = factors[above] * products[above, best]
            for i in range(d):
                direction[i] -= taken * directions[above, i]
        g = implicit_residual(mean, square, False)
        kappa = slope(LOGISTIC, mean + g * square)
        factors[position] = kappa / (1.0 + kappa * square)
        _products(columns, direction, along)
        for item in range(k):
            mean_of[item] += g * along[item]
            square_of[item] -= factors[position] * along[item] * along[item]
            if score_of[item] > -math.inf:  # not chosen yet
                score_of[item] = mean_of[item] + bonuses[item] * math.sqrt(
                    max(square_of[item], 0.0)
                )
        score_of[best] = -math.inf
    rest = top(score_of, count - ahead)
    for at in range(rest.shape[0]):
        order[ahead + at] = rest[at]
        means[ahead + at], scores[ahead + at] = mean_of[rest[at]], score_of[rest[at]]
    rows = np.empty((count, d))
    for position in range(count):
        for i in range(d):
            rows[position, i] = items[order[position], i]
    return order, rows, means, scores
