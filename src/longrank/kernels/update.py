"""The online learning step, shared by the Newton and the ridge learner.

A strict scalar loop: the same rows and outcomes give the same state, bit for bit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled
from longrank.kernels.curve import residual

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_NOTHING = 1e-200  # a row so short that projecting along it would overflow


@compiled
def times_row(inverse: Matrix, row: Vector, direction: Vector) -> float:
    """direction = M^-1 x; returns x' M^-1 x. O(d^2)."""
    direction[:] = 0.0
    for i in range(row.shape[0]):
        for j in range(row.shape[0]):
            direction[j] += inverse[i, j] * row[i]
    square = 0.0
    for i in range(row.shape[0]):
        square += row[i] * direction[i]
    return square


@compiled
def shrink(inverse: Matrix, direction: Vector, factor: float) -> None:
    """inverse -= factor * direction direction', kept exactly symmetric. O(d^2)."""
    for i in range(direction.shape[0]):
        for j in range(direction.shape[0]):
            inverse[i, j] -= (direction[i] * direction[j]) * factor


@compiled
def observe_row(
    weights: Vector,
    inverse: Matrix,
    row: Vector,
    success: bool,
    radius: float,
    rate: float,
    link: int,
    direction: Vector,
) -> None:
    """Step 5 of Algorithm 1 for one observed item. O(d^2).

    Projects w onto |w.x| <= radius in the norm of M, adds x x' to M, and takes the Newton step.
    With radius infinite, rate 1 and the linear curve it is recursive least squares.
    """
    square = times_row(inverse, row, direction)
    mean = 0.0
    for i in range(row.shape[0]):
        mean += weights[i] * row[i]
    if abs(mean) > radius and square > _NOTHING:
        edge = math.copysign(radius, mean)
        shift = (mean - edge) / square
        for i in range(row.shape[0]):
            weights[i] -= shift * direction[i]
        mean = edge
    per = 1.0 / (1.0 + square)  # the new M^-1 x is direction * per
    shrink(inverse, direction, per)
    step = rate * residual(link, mean, success) * per
    for i in range(row.shape[0]):
        weights[i] += step * direction[i]


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
    """Every observed item in order: all failed, but for the last one if ``succeeded``. O(n d^2)."""
    direction = np.empty(weights.shape[0])
    last = rows.shape[0] - 1
    for i in range(rows.shape[0]):
        observe_row(
            weights, inverse, rows[i], succeeded and i == last, radius, rate, link, direction
        )


@compiled
def newton_step(
    state: tuple[Vector, Matrix, float, float, int], rows: Matrix, succeeded: bool
) -> None:
    """``observe_cascade`` in compiled runs: weights, inverse, radius, rate, link."""
    weights, inverse, radius, rate, link = state
    observe_cascade(weights, inverse, rows, succeeded, radius, rate, link)
