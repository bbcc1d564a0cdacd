"""Decisions: the order, the length, and the numbers of the receipt."""

import numpy as np
from numpy.typing import NDArray

from longrank.arrays import Flags, Keys, Matrix, Order, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.length import best_length, fill_values
from longrank.kernels.link import probability
from longrank.kernels.looks import Optimism, choose_looking
from longrank.kernels.ranking import greedy_plain
from longrank.kernels.sparse import Plan, Rows, Table, contributions, greedy_sparse
from longrank.kernels.tabular import View, expand_columns

# Rewards, losses, code of the link, how many items must be tried; what is filled: the order, and
# the numbers of a receipt; and the patience.
Last = tuple[Vector, Vector, int, int, Order, Vector, float]


@compiled
def decide(order: Order, rows: Matrix, means: Vector, scores: Vector, last: Last) -> int:
    """Truncate an order at the best length by its scores (at least ``minimum`` items). O(n d).

    Returns the length and fills a receipt: ``chosen`` with the order, ``numbers`` with what
    :class:`longrank.Ranking` keeps (probabilities, estimates, values of all lengths, rows).
    """
    rewards, losses, link, minimum, chosen, numbers, patience = last
    count, d = rows.shape
    probabilities = numbers[:count]
    for i in range(count):
        chosen[i] = order[i]
        probabilities[i] = probability(link, scores[i])
    values = numbers[2 * count : 3 * count + 1]
    fill_values(probabilities, rewards, losses, values, patience)
    n = best_length(probabilities, rewards, losses, patience)
    if n < minimum:  # and then as long as going on pays
        rest = probabilities[minimum:], rewards[minimum:], losses[minimum:]
        n = minimum + best_length(*rest, patience)
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
    last: Last,
) -> int:
    """Run ``greedy_plain`` and ``decide`` in one call, since a call costs as much as they do."""
    order, rows, means, scores = greedy_plain(
        items, weights, inverse, bonus, ceiling, last[4].shape[0]
    )
    return decide(order, rows, means, scores, last)


@compiled
def decide_looking(
    items: NDArray[np.floating],
    view: View,
    weights: Vector,
    inverse: Matrix,
    looks: Flags,
    optimism: Optimism,
    foresight: int,
    last: Last,
) -> int:
    """Run ``expand_columns``, ``choose_looking`` and ``decide`` in one call."""
    columns = expand_columns(items, view)
    order, rows, means, scores = choose_looking(
        columns, weights, inverse, looks, optimism, last[4].shape[0], foresight
    )
    return decide(order, rows, means, scores, last)


@compiled
def decide_sparse(
    rows: Rows,
    plan: Plan,
    table: Table,
    labels: Order,
    size: int,
    bonus: Vector,
    ceiling: float,
    last: Last,
) -> tuple[int, Keys, Matrix, Matrix]:
    """Run ``greedy_sparse`` and ``decide``.

    Also returns the atoms of the chosen rows, keys and numbers, and their ``contributions``.
    """
    count = last[4].shape[0]
    order, means, scores = greedy_sparse(rows, plan, table, bonus, ceiling, count)
    none = np.empty((count, 0))
    n = decide(order, none, means, scores, last)
    keys, own, context = rows
    first_keys, first_own = keys[order[:n]], own[order[:n]]
    spoke = contributions((first_keys, first_own, context), plan, table, labels, size)
    return n, first_keys, first_own, spoke
