"""From the items of a round to the decision: order, length, and why."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled
from longrank.kernels.curve import probability
from longrank.kernels.length import best_length, fill_values
from longrank.kernels.ranking import greedy_plain

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Order = NDArray[np.int64]


@compiled
def decide(
    order: Order,
    rows: Matrix,
    means: Vector,
    scores: Vector,
    rewards: Vector,
    losses: Vector,
    link: int,
    least: int,
    chosen: Order,
    numbers: Vector,
) -> int:
    """How much of an order to play, by its scores, but at least so many; fills a receipt. O(n d).

    ``chosen`` becomes the order, and ``numbers`` what :class:`longrank.Ranking` keeps: the
    probabilities, the estimates, the values of all lengths, the rows.
    """
    count, d = rows.shape
    probabilities = numbers[:count]
    for i in range(count):
        chosen[i] = order[i]
        probabilities[i] = probability(link, scores[i])
    fill_values(probabilities, rewards, losses, numbers[2 * count : 3 * count + 1])
    n = max(best_length(probabilities, rewards, losses), least)
    for i in range(n):
        numbers[count + i] = probability(link, means[i])
        for j in range(d):
            numbers[3 * count + 1 + i * d + j] = rows[i, j]
    return n


@compiled
def decide_plain(
    items: NDArray[np.floating],
    weights: Vector,
    inverse: Matrix,
    bonus: float,
    ceiling: float,
    rewards: Vector,
    losses: Vector,
    link: int,
    least: int,
    chosen: Order,
    numbers: Vector,
) -> int:
    """``greedy_plain`` and ``decide`` at one go: a call of a kernel costs as much as they do."""
    order, rows, means, scores = greedy_plain(
        items, weights, inverse, bonus, ceiling, chosen.shape[0]
    )
    return decide(order, rows, means, scores, rewards, losses, link, least, chosen, numbers)
