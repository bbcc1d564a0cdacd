"""The online learning steps: of the Newton and the ridge learner, and of costs.

The first is a strict scalar loop: the same rows and outcomes give the same state, bit for bit. A
cost is a number above 0 whose deviation grows with its mean.
"""

import math

import numpy as np

from longrank.arrays import Matrix, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.link import residual
from longrank.kernels.ranking import add_columns

_NOTHING = 1e-200  # a row so short that projecting along it would overflow


@compiled
def times_row(inverse: Matrix, row: Vector, direction: Vector) -> float:
    """Fill direction = M^-1 x and return x' M^-1 x. O(d^2)."""
    direction[:] = 0.0
    add_columns(inverse, row, direction)
    square = 0.0
    for i in range(row.shape[0]):
        square += row[i] * direction[i]
    return square


@compiled
def shrink(inverse: Matrix, direction: Vector, factor: float) -> None:
    """Subtract factor * direction direction' from ``inverse``, exactly symmetric. O(d^2)."""
    for i in range(direction.shape[0]):
        for j in range(direction.shape[0]):
            inverse[i, j] -= (direction[i] * direction[j]) * factor


@compiled
def shrink_times(
    inverse: Matrix, direction: Vector, factor: float, row: Vector, following: Vector
) -> None:
    """``shrink`` for one row and M^-1 x of the next, in one pass. O(d^2).

    Gives the bits of one after the other.
    """
    d = row.shape[0]
    following[:] = 0.0
    i = 0
    while i + 4 <= d:
        a, b, c, e = direction[i], direction[i + 1], direction[i + 2], direction[i + 3]
        p, q, r, s = inverse[i], inverse[i + 1], inverse[i + 2], inverse[i + 3]
        w, x, y, z = row[i], row[i + 1], row[i + 2], row[i + 3]
        for j in range(d):
            own = direction[j]
            first, second = p[j] - (a * own) * factor, q[j] - (b * own) * factor
            third, fourth = r[j] - (c * own) * factor, s[j] - (e * own) * factor
            p[j], q[j], r[j], s[j] = first, second, third, fourth
            total = (following[j] + first * w) + second * x
            following[j] = (total + third * y) + fourth * z
        i += 4
    while i < d:
        for j in range(d):
            inverse[i, j] -= (direction[i] * direction[j]) * factor
            following[j] += inverse[i, j] * row[i]
        i += 1


@compiled
def mean_and_square(weights: Vector, row: Vector, direction: Vector) -> tuple[float, float]:
    """Compute w.x and x' M^-1 x, given M^-1 x: together, since each addition waits for the last."""
    mean, square = 0.0, 0.0
    for i in range(row.shape[0]):
        mean += weights[i] * row[i]
        square += row[i] * direction[i]
    return mean, square


@compiled
def observe_cascade(
    weights: Vector,
    inverse: Matrix,
    rows: Matrix,
    succeeded: bool,
    radius: float,
    rate: float,
    link: int,
) -> None:
    """Learn from a cascade: all items failed, except the last one if ``succeeded``. O(n d^2).

    For every row, step 5 of Algorithm 1: projects w onto |w.x| <= radius in the norm of M, adds
    x x' to M, and takes the Newton step. With radius infinite, rate 1 and the linear curve it is
    recursive least squares.
    """
    n, last = rows.shape[0], rows.shape[0] - 1
    direction, following = np.empty(weights.shape[0]), np.empty(weights.shape[0])
    if n:
        times_row(inverse, rows[0], direction)
    for i in range(n):
        mean, square = mean_and_square(weights, rows[i], direction)
        if abs(mean) > radius and square > _NOTHING:
            edge = math.copysign(radius, mean)
            shift = (mean - edge) / square
            for j in range(weights.shape[0]):
                weights[j] -= shift * direction[j]
            mean = edge
        per = 1.0 / (1.0 + square)  # the new M^-1 x is direction * per
        step = rate * residual(link, mean, succeeded and i == last) * per
        for j in range(weights.shape[0]):
            weights[j] += step * direction[j]
        if i == last:
            shrink(inverse, direction, per)
        else:
            shrink_times(inverse, direction, per, rows[i + 1], following)
            direction, following = following, direction


@compiled
def cost_residual(score: float, square: float, cost: float, dispersion: float) -> float:
    """Solve g = (cost exp(-(score + g square)) - 1) / dispersion: the step to the posterior's mode.

    The curve is the exponential one: a mean of exp(score), a variance of dispersion times its
    square. Newton's iterates rise to the solution from the second one on.
    """
    g = 0.0
    for _ in range(100):
        ratio = cost * math.exp(min(-(score + g * square), 700.0))
        step = (ratio - 1.0 - g * dispersion) / (dispersion + ratio * square)
        g += step
        if abs(step) <= 1e-12 * (1.0 + abs(g)):
            break
    return g


@compiled
def learn_costs(
    weights: Vector, inverse: Matrix, rows: Matrix, costs: Vector, dispersion: float
) -> None:
    """Learn what each row cost. O(n d^2)."""
    direction = np.empty(weights.shape[0])
    for at in range(rows.shape[0]):
        row = rows[at]
        times_row(inverse, row, direction)
        score, square = mean_and_square(weights, row, direction)
        g = cost_residual(score, square, costs[at], dispersion)
        shrink(inverse, direction, 1.0 / (dispersion + square))
        for i in range(row.shape[0]):
            weights[i] += g * direction[i]
