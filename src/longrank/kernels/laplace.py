"""Bayesian logistic regression by the Laplace approximation, one observed item at a time."""

import math

import numpy as np

from longrank.arrays import Matrix, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.link import LOGISTIC, exponential, slope
from longrank.kernels.update import mean_and_square, shrink, shrink_times, times_row


@compiled
def _residual_and_slope(score: float, success: bool) -> tuple[float, float]:
    """``residual`` and ``slope`` of the logistic curve, with one exponential for both."""
    shrunk = exponential(-abs(score))
    share = (shrunk if (score >= 0.0) == success else 1.0) / (1.0 + shrunk)
    return share if success else -share, shrunk / ((1.0 + shrunk) * (1.0 + shrunk))


@compiled
def _newton(
    mean: float, square: float, success: bool, g: float, low: float, high: float
) -> tuple[float, float, float]:
    """Take a Newton step for ``implicit_residual``; return it, and the bracket with g as an end."""
    there, steepness = _residual_and_slope(mean + g * square, success)
    miss = g - there
    if miss > 0.0:
        high = g
    else:
        low = g
    return g - miss / (1.0 + square * steepness), low, high


@compiled
def implicit_residual(mean: float, square: float, success: bool) -> float:
    """Solve g = y - sigma(mean + g square), the residual after the step.

    The right side falls in g, so there is one root, between 0 and y - sigma(mean). Newton steps,
    with bisection where they leave the bracket or are slow: alone they cycle for large squares.

    A Newton step that no longer moves is bisected too, down to the last bits, which states of
    every version depend on. Then the root is an end of the bracket, and the halves are known
    without a look at the curve as long as they are short enough for it to be straight, and long
    enough for rounding not to matter.
    """
    far, steepness = _residual_and_slope(mean, success)
    low, high = min(far, 0.0), max(far, 0.0)
    g = far / (1.0 + square * steepness)
    before, root = high - low, math.nan
    straight = 1.0 / (1.0 + square * square)
    for _ in range(100):
        following, low, high = _newton(mean, square, success, g, low, high)
        if abs(following - g) < 5e-16:
            root = g
        if not low < following < high or abs(following - g) > 0.5 * before:
            following = 0.5 * (low + high)
            while root in (low, high) and 2e-14 < abs(following - root) < straight:
                g = following
                if root == low:
                    high = g
                else:
                    low = g
                following = 0.5 * (low + high)
        before = abs(following - g)
        g = following
        if before <= 1e-16 + 1e-15 * abs(g):
            break
    return g


@compiled
def foreseen_failure(mean: float, square: float) -> tuple[float, float]:
    """Solve what ``implicit_residual`` solves for a failure; also return the slope at the root.

    It is the same to rounding: nothing that is kept depends on the last bits of what is foreseen.
    """
    far, steepness = _residual_and_slope(mean, False)
    low, high = far, 0.0
    g, before = far / (1.0 + square * steepness), -far
    for _ in range(100):
        following, low, high = _newton(mean, square, False, g, low, high)
        if not low <= following <= high or abs(following - g) > 0.5 * before:
            following = 0.5 * (low + high)
        before = abs(following - g)
        g = following
        if before <= 1e-16 - 1e-10 * g:  # the next step would be as its square
            break
    return g, -g * (1.0 + g)


@compiled
def forget(inverse: Matrix, prior: float, share: float) -> None:
    """Mix the covariance of the belief with that of the prior, I / prior. O(d^2)."""
    for i in range(inverse.shape[0]):
        for j in range(inverse.shape[0]):
            inverse[i, j] *= 1.0 - share
        inverse[i, i] += share / prior


@compiled
def laplace_cascade(
    weights: Vector, inverse: Matrix, rows: Matrix, succeeded: bool, prior: float, forgetting: float
) -> None:
    """Forget, then move a normal belief to the mode of its posterior, item by item. O(n d^2).

    The covariance takes the curvature there.
    """
    if forgetting > 0.0:
        forget(inverse, prior, forgetting)
    n, last = rows.shape[0], rows.shape[0] - 1
    direction, following = np.empty(weights.shape[0]), np.empty(weights.shape[0])
    if n:
        times_row(inverse, rows[0], direction)
    for i in range(n):
        mean, square = mean_and_square(weights, rows[i], direction)
        g = implicit_residual(mean, square, succeeded and i == last)
        for j in range(weights.shape[0]):
            weights[j] += g * direction[j]
        kappa = slope(LOGISTIC, mean + g * square)
        factor = kappa / (1.0 + kappa * square)
        if i == last:
            shrink(inverse, direction, factor)
        else:
            shrink_times(inverse, direction, factor, rows[i + 1], following)
            direction, following = following, direction
