"""The Bayesian step of logistic regression: one observed item, with the curvature that it has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled
from longrank.kernels.curve import LOGISTIC, residual, slope
from longrank.kernels.update import shrink, times_row

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@compiled
def implicit_residual(mean: float, square: float, success: bool) -> float:
    """The root g of g = y - sigma(mean + g square), which is what the step leaves unexplained.

    The right side falls in g, so there is one root, between 0 and y - sigma(mean). Newton, with
    bisection where it leaves the bracket or is slow: alone it cycles for large squares.
    """
    far = residual(LOGISTIC, mean, success)
    low, high = min(far, 0.0), max(far, 0.0)
    g = far / (1.0 + square * slope(LOGISTIC, mean))
    before = high - low
    for _ in range(100):
        at = mean + g * square
        miss = g - residual(LOGISTIC, at, success)
        if miss > 0.0:
            high = g
        else:
            low = g
        following = g - miss / (1.0 + square * slope(LOGISTIC, at))
        if not low < following < high or abs(following - g) > 0.5 * before:
            following = 0.5 * (low + high)
        before = abs(following - g)
        g = following
        if before <= 1e-16 + 1e-15 * abs(g):
            break
    return g


@compiled
def laplace_row(
    weights: Vector, inverse: Matrix, row: Vector, success: bool, direction: Vector
) -> None:
    """Move a normal belief to the mode of its posterior, with the curvature there. O(d^2)."""
    square = times_row(inverse, row, direction)
    mean = 0.0
    for i in range(row.shape[0]):
        mean += weights[i] * row[i]
    g = implicit_residual(mean, square, success)
    for i in range(row.shape[0]):
        weights[i] += g * direction[i]
    kappa = slope(LOGISTIC, mean + g * square)
    shrink(inverse, direction, kappa / (1.0 + kappa * square))


@compiled
def forget(inverse: Matrix, prior: float, share: float) -> None:
    """Mix the belief's covariance with that of the prior, I / prior. O(d^2)."""
    for i in range(inverse.shape[0]):
        for j in range(inverse.shape[0]):
            inverse[i, j] *= 1.0 - share
        inverse[i, i] += share / prior


@compiled
def laplace_cascade(
    weights: Vector,
    inverse: Matrix,
    rows: Matrix,
    succeeded: bool,
    prior: float,
    forgetting: float,
) -> None:
    """Every observed item in order, after what is forgotten since the last cascade. O(n d^2)."""
    if forgetting > 0.0:
        forget(inverse, prior, forgetting)
    direction = np.empty(weights.shape[0])
    last = rows.shape[0] - 1
    for i in range(rows.shape[0]):
        laplace_row(weights, inverse, rows[i], succeeded and i == last, direction)


@compiled
def laplace_step(state: tuple[Vector, Matrix, float, float], rows: Matrix, succeeded: bool) -> None:
    """``laplace_cascade`` in compiled runs: weights, inverse, prior, forgetting."""
    weights, inverse, prior, forgetting = state
    laplace_cascade(weights, inverse, rows, succeeded, prior, forgetting)
