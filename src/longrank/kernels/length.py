"""The value of a sequence and its best length.

``patience`` is the probability that a cascade goes on after a failure. One that ends there by
itself earns what giving up at that point does.
"""

import numpy as np

from longrank.arrays import Vector
from longrank.kernels.compilation import compiled

_MAX_GAP = 32  # rounds given up between two probes


@compiled
def fill_values(
    probabilities: Vector, rewards: Vector, losses: Vector, values: Vector, patience: float
) -> None:
    """Fill ``values`` with ``sequence_values``. O(n)."""
    values[0] = losses[0]
    gained, survival = 0.0, 1.0
    for i in range(probabilities.shape[0]):
        gained += survival * probabilities[i] * rewards[i]
        survival *= 1.0 - probabilities[i]
        values[i + 1] = gained + survival * losses[i + 1]
        if patience < 1.0:
            gained += survival * (1.0 - patience) * losses[i + 1]
            survival *= patience


@compiled
def sequence_values(
    probabilities: Vector, rewards: Vector, losses: Vector, patience: float
) -> Vector:
    """Compute the value of every length 0..n of a sequence (equation 4 of the paper). O(n)."""
    values = np.empty(probabilities.shape[0] + 1)
    fill_values(probabilities, rewards, losses, values, patience)
    return values


@compiled
def best_stop(
    probabilities: Vector, rewards: Vector, losses: Vector, patience: float
) -> tuple[int, float]:
    """Find the best length of a sequence (the longest of equals) and its value. O(n).

    Backward induction: V(n) = losses[n], V(i) = max(losses[i], p rewards[i] + (1 - p) V(i+1)),
    with (1 - patience) losses[i+1] + patience V(i+1) for V(i+1) where the cascade may end.
    It stops only where giving up is strictly better, and does not underflow where the products
    of (1 - p) do.
    """
    n = probabilities.shape[0]
    length = int(n)
    value = float(losses[n])
    for i in range(n - 1, -1, -1):
        if patience < 1.0:
            value = (1.0 - patience) * losses[i + 1] + patience * value
        value = probabilities[i] * rewards[i] + (1.0 - probabilities[i]) * value
        if losses[i] > value:
            length, value = i, losses[i]
    return length, value


@compiled
def best_length(probabilities: Vector, rewards: Vector, losses: Vector, patience: float) -> int:
    """Find the best length of a sequence, the longest of equals. O(n)."""
    return int(best_stop(probabilities, rewards, losses, patience)[0])


@compiled
def probe_is_due(given_up: int) -> bool:
    """Whether to try an item although giving up looks best, after ``given_up`` such rounds.

    Due at 1 to 16, 18, 20, ..., 32, 36, ..., 256, 288, 320, ...: eight times for every doubling,
    and at least once in 32 rounds, so that a world that has become better is noticed.
    """
    if given_up < 1:
        return False
    doubling = 8
    while 2 * doubling <= given_up and doubling < 8 * _MAX_GAP:
        doubling *= 2
    return given_up % (doubling // 8) == 0
