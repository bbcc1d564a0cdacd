"""Decisions: the order, the length, and the numbers of the receipt."""

import numpy as np
from numpy.typing import NDArray

from longrank.arrays import Flags, Keys, Matrix, Order, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.length import best_length, fill_values
from longrank.kernels.link import probability
from longrank.kernels.looks import Optimism, choose_looking
from longrank.kernels.ranking import greedy_plain
from longrank.kernels.sparse import Plan, Rows, Table, contributions, score_sparse, speak_dense
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
def decide_blocks(
    items: Matrix,
    view: View,
    weights: Vector,
    inverse: Matrix,
    looks: Flags,
    optimism: Optimism,
    foresight: int,
    rows: Rows,
    plan: Plan,
    table: Table,
    labels: tuple[Order, Order, int],
    bonuses: Vector,
    draws: Vector,
    last: Last,
) -> tuple[int, Keys, Matrix, Matrix]:
    """Run ``expand_columns``, ``score_sparse``, ``choose_looking`` and ``decide``.

    ``bonuses`` are how many deviations of the dense block are added to each mean, ``draws`` how
    many of the sparse part.
    Also returns the atoms of the chosen rows, keys and numbers, and what each label adds to their
    means: that of each entry, that of each column of the dense block, and how many there are.
    """
    means, squares = score_sparse(rows, plan, table)
    added = np.empty(squares.shape[0])
    for i in range(squares.shape[0]):
        added[i] = draws[i] * draws[i] * squares[i]
    columns, sparse = expand_columns(items, view), (means, squares, added, bonuses)
    order, dense, means, scores = choose_looking(
        columns, weights, inverse, looks, optimism, sparse, last[4].shape[0], foresight
    )
    n = decide(order, dense, means, scores, last)
    keys, own, context = rows
    first_keys, first_own = keys[order[:n]], own[order[:n]]
    of_entries, of_columns, size = labels
    chosen = first_keys, first_own, context
    spoke = contributions(chosen, plan, table, of_entries, size)
    speak_dense(dense[:n], weights, of_columns, spoke)
    return n, first_keys, first_own, spoke
