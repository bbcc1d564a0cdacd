"""Penalised maximum likelihood on a growing history, with warm starts."""

import math

import numpy as np

from longrank.arrays import Flags, Matrix, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.link import residual, slope
from longrank.kernels.update import shrink, times_row

_TOLERANCE = 1e-11  # on the Newton step, relative to the weights
_MAX_STEPS = 200


@compiled
def _gradient(
    rows: Matrix, successes: Flags, weights: Vector, penalties: Vector, link: int, gradient: Vector
) -> float:
    """Fill gradient = sum of (y - sigma(x.w)) x - penalties w; returns its norm. O(n d)."""
    for j in range(weights.shape[0]):
        gradient[j] = -penalties[j] * weights[j]
    for i in range(rows.shape[0]):
        mean = 0.0
        for j in range(weights.shape[0]):
            mean += rows[i, j] * weights[j]
        factor = residual(link, mean, successes[i])
        for j in range(weights.shape[0]):
            gradient[j] += factor * rows[i, j]
    total = 0.0
    for j in range(weights.shape[0]):
        total += gradient[j] * gradient[j]
    return math.sqrt(total)


@compiled
def _add_curvature(
    curvature: Matrix, row: Vector, weights: Vector, link: int, direction: Vector
) -> None:
    """Add one row to the inverse Hessian at the present weights. O(d^2)."""
    mean = 0.0
    for j in range(weights.shape[0]):
        mean += row[j] * weights[j]
    kappa = slope(link, mean)
    square = times_row(curvature, row, direction)
    shrink(curvature, direction, kappa / (1.0 + kappa * square))


@compiled
def _fresh_curvature(
    rows: Matrix, weights: Vector, penalties: Vector, link: int, curvature: Matrix
) -> None:
    """Compute the inverse Hessian at these weights from the whole history. O(n d^2)."""
    direction = np.empty(weights.shape[0])
    curvature[:, :] = 0.0
    for j in range(weights.shape[0]):
        curvature[j, j] = 1.0 / penalties[j]
    for i in range(rows.shape[0]):
        _add_curvature(curvature, rows[i], weights, link, direction)


@compiled
def fit_likelihood(
    rows: Matrix, successes: Flags, penalties: Vector, link: int, weights: Vector, curvature: Matrix
) -> int:
    """Move ``weights`` to the maximum of the penalised likelihood; returns the passes needed.

    ``curvature`` is the inverse Hessian of some earlier weights. Near the maximum it is good
    enough, so that a pass over the history costs O(n d). Only when a step with it does not make
    the gradient at least four times smaller is it computed anew, in O(n d^2), and the step is
    then halved until the gradient shrinks. (Only the gradient is used, so no logarithm is needed.)
    """
    d = weights.shape[0]
    gradient, step = np.empty(d), np.empty(d)
    trial, trial_gradient = np.empty(d), np.empty(d)
    norm = _gradient(rows, successes, weights, penalties, link, gradient)
    passes, fresh = 1, False
    for _ in range(_MAX_STEPS):
        times_row(curvature, gradient, step)
        length, size = 0.0, 1.0
        finite = True
        for j in range(d):
            finite = finite and abs(step[j]) < math.inf
            length = max(length, abs(step[j]))
            size = max(size, abs(weights[j]))
        if not finite:
            break  # penalties near 0 leave no step that could be halved
        stride = 1.0
        while True:
            for j in range(d):
                trial[j] = weights[j] + stride * step[j]
            trial_norm = _gradient(rows, successes, trial, penalties, link, trial_gradient)
            passes += 1
            if (
                not fresh
                or trial_norm <= (1.0 - 0.1 * stride) * norm
                or stride * length <= _TOLERANCE * size
            ):
                break
            stride *= 0.5
        if not fresh and trial_norm > 0.25 * norm:
            if length <= _TOLERANCE * size:
                break  # no step can make the gradient smaller: rounding is all that is left
            _fresh_curvature(rows, weights, penalties, link, curvature)
            passes, fresh = passes + 1, True
            continue
        if not trial_norm < norm:
            break
        fresh = False
        norm = trial_norm
        for j in range(d):
            weights[j], gradient[j] = trial[j], trial_gradient[j]
        if stride == 1.0 and length <= _TOLERANCE * size:
            break
    return passes


@compiled
def grow_and_fit(
    rows: Matrix,
    successes: Flags,
    first: int,
    penalties: Vector,
    link: int,
    weights: Vector,
    inverse: Matrix,
    curvature: Matrix,
) -> int:
    """Add the rows from ``first`` on, then fit to all of them; returns the passes needed.

    ``inverse`` becomes that of V = diag(penalties) + sum x x'.
    """
    direction = np.empty(weights.shape[0])
    for i in range(first, rows.shape[0]):
        square = times_row(inverse, rows[i], direction)
        shrink(inverse, direction, 1.0 / (1.0 + square))
        _add_curvature(curvature, rows[i], weights, link, direction)
    return fit_likelihood(rows, successes, penalties, link, weights, curvature)
