"""How long a sequence should be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled

Vector = NDArray[np.float64]


@compiled
def fill_values(probabilities: Vector, rewards: Vector, losses: Vector, values: Vector) -> None:
    """``sequence_values`` into a given array."""
    values[0] = losses[0]
    gained, survival = 0.0, 1.0
    for i in range(probabilities.shape[0]):
        gained += survival * probabilities[i] * rewards[i]
        survival *= 1.0 - probabilities[i]
        values[i + 1] = gained + survival * losses[i + 1]


@compiled
def sequence_values(probabilities: Vector, rewards: Vector, losses: Vector) -> Vector:
    """E of every length 0..n along the sequence (equation 4 of the paper). O(n)."""
    values = np.empty(probabilities.shape[0] + 1)
    fill_values(probabilities, rewards, losses, values)
    return values


@compiled
def _of_a_try(p: float, reward: float, value: float) -> float:
    """The expected reward of a try, where a failure is worth ``value``."""
    return p * reward + (1.0 - p) * value


@compiled
def best_stop(probabilities: Vector, rewards: Vector, losses: Vector) -> tuple[int, float]:
    """The best length of a sequence (of equally good ones the longest) and its value. O(n).

    Backward induction: V(n) = losses[n], V(i) = max(losses[i], p rewards[i] + (1 - p) V(i+1)).
    It stops only where giving up is strictly better, and does not underflow where the products
    of (1 - p) do.
    """
    n = probabilities.shape[0]
    length = int(n)
    value = float(losses[n])
    for i in range(n - 1, -1, -1):
        value = _of_a_try(probabilities[i], rewards[i], value)
        if losses[i] > value:
            length, value = i, losses[i]
    return length, value


@compiled
def best_length(probabilities: Vector, rewards: Vector, losses: Vector) -> int:
    """The best length of a sequence; of equally good ones the longest. O(n)."""
    return int(best_stop(probabilities, rewards, losses)[0])


@compiled
def values_ahead(
    probabilities: Vector, rewards: Vector, losses: Vector, stopping: Vector
) -> Vector:
    """The value of the rest of a sequence after 0..n failures. O(n).

    Backward induction where the length is not chosen: after i failures somebody stops with
    probability ``stopping[i]``, and after n in any case.
    """
    n = probabilities.shape[0]
    values = np.empty(n + 1)
    values[n] = losses[n]
    for i in range(n - 1, -1, -1):
        further = _of_a_try(probabilities[i], rewards[i], values[i + 1])
        values[i] = stopping[i] * losses[i] + (1.0 - stopping[i]) * further
    return values


@compiled
def enough_to_go_on(rewards: Vector, losses: Vector) -> Vector:
    """For every length, a probability that makes each further try worthwhile by itself. O(b).

    A try after i others is worth it if p rewards[i] + (1 - p) losses[i + 1] >= losses[i]; where
    all remaining items are as likely as that to succeed, the longest sequence is the best.
    """
    b = rewards.shape[0]
    enough = np.zeros(b + 1)
    for i in range(b - 1, -1, -1):
        price = losses[i] - losses[i + 1]
        needed = 0.0 if price <= 0.0 else price / (rewards[i] - losses[i + 1])
        enough[i] = max(enough[i + 1], needed * (1.0 + 1e-9))
    return enough


@compiled
def probe_is_due(given_up: int) -> bool:
    """Whether to try an item all the same after giving up so often.

    1 to 16, 18, 20, ..., 32, 36, ...: eight times for every doubling, so at most
    8 log2(T) + 1 times in T rounds, but without end.
    """
    if given_up < 1:
        return False
    doubling = 8
    while 2 * doubling <= given_up:
        doubling *= 2
    return given_up % (doubling // 8) == 0
