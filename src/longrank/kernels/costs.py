"""The learning step for costs: a number above 0 whose deviation grows with its mean."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled
from longrank.kernels.update import shrink, times_row

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


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
        square = times_row(inverse, row, direction)
        score = 0.0
        for i in range(row.shape[0]):
            score += weights[i] * row[i]
        g = cost_residual(score, square, costs[at], dispersion)
        shrink(inverse, direction, 1.0 / (dispersion + square))
        for i in range(row.shape[0]):
            weights[i] += g * direction[i]
