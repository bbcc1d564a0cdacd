"""Greedy choice with foresight: each position is chosen as if all items above it had failed."""

import math

import numpy as np

from longrank.arrays import Flags, Matrix, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.laplace import foreseen_failure
from longrank.kernels.ranking import Greedy, add_columns, optimistic
from longrank.kernels.update import times_row

# Items, stored as columns of the dense block; their means; the squares of the block's widths, which
# of these are exact and not only upper bounds, and how many of those widths are added to each mean;
# and the squares of the sparse part's widths, and of what is added for them.
Pool = tuple[Matrix, Vector, Vector, Flags, Vector, Vector, Vector]
# Of the sparse parts: means, squares of widths and of bonuses; then the bonuses of the block.
Sparse = tuple[Vector, Vector, Vector, Vector]


@compiled
def pull(columns: Matrix, item: int, inverse: Matrix, row: Vector, direction: Vector) -> float:
    """Fill an item's row x and direction = M^-1 x; return the square of its width. O(d^2)."""
    for i in range(columns.shape[0]):
        row[i] = columns[i, item]
    return max(times_row(inverse, row, direction), 0.0)


@compiled
def first_largest(scores: Vector) -> int:
    """Find the largest score, the first of equals."""
    best = 0
    for item in range(1, scores.shape[0]):
        if scores[item] > scores[best]:
            best = item
    return best


@compiled
def score_of_two(mean: float, square: float, bonus: float, added: float) -> float:
    """Compute the score of a row of two parts: ``added`` is the square of the second's bonus."""
    width = math.sqrt(bonus * bonus * max(square, 0.0) + added)
    return optimistic(mean, width, math.copysign(1.0, bonus), math.inf)


@compiled
def fill_scores(pool: Pool, score_of: Vector) -> None:
    """Fill the scores of items. O(k)."""
    _, mean_of, square_of, _, bonuses, _, added = pool
    for item in range(score_of.shape[0]):
        score_of[item] = score_of_two(mean_of[item], square_of[item], bonuses[item], added[item])


@compiled
def foresee(pool: Pool, inverse: Matrix, count: int, foresight: int) -> Greedy:
    """Choose ``count`` items by means and widths, each as if all above it had failed.

    The belief is a normal one about a logistic model. The step that ``laplace_cascade`` would take
    on a failure of an item moves the mean of every other item x by g x.h and the square of its
    width by -factor (x.h)^2, with h = M^-1 of the failed one. So each failure foreseen costs
    O(k d); M itself is not changed, and what the earlier failures took from it is subtracted from
    h. Positions after ``foresight`` failures use the belief as it is then.

    Each item has a bonus of its own. The square of a width is ``exact``, or an upper bound, which
    is replaced once its item looks best, in O(d^2): so most widths are never computed, and the
    result is the same. The pool is written over.
    """
    columns, mean_of, square_of, exact, bonuses, others, added = pool
    d, k = columns.shape
    ahead = min(foresight, count)
    score_of = np.empty(k)
    fill_scores(pool, score_of)
    order, means, scores = np.empty(count, np.int64), np.empty(count), np.empty(count)
    rows, products, factors = np.empty((count, d)), np.zeros((ahead, k)), np.empty(ahead)
    pulls, pulled, pull_of = np.empty((min(2 * count, k), d)), 0, np.full(k, -1)
    failed, position, row = 0, 0, np.empty(d)
    while position < count:
        best = first_largest(score_of)
        if pull_of[best] < 0 and (failed < min(ahead, count - 1) or not exact[best]):
            if pulled == pulls.shape[0]:  # seldom, so that little memory is asked for
                before, pulls = pulls, np.empty((min(2 * pulled, k), d))
                for at in range(pulled):
                    for i in range(d):
                        pulls[at, i] = before[at, i]
            square = pull(columns, best, inverse, row, pulls[pulled])
            pull_of[best] = pulled
            pulled += 1
            if not exact[best]:
                exact[best] = True
                for above in range(failed):
                    square -= factors[above] * products[above, best] * products[above, best]
                square_of[best] = square
                score_of[best] = score_of_two(mean_of[best], square, bonuses[best], added[best])
                continue
        order[position] = best
        means[position], scores[position] = mean_of[best], score_of[best]
        for i in range(d):
            rows[position, i] = columns[i, best]
        position += 1
        if failed < min(ahead, count - 1):
            mean, square = mean_of[best], max(square_of[best], 0.0) + others[best]
            direction, along = pulls[pull_of[best]], products[failed]
            for above in range(failed):
                taken = factors[above] * products[above, best]
                earlier = pulls[pull_of[order[above]]]
                for i in range(d):
                    direction[i] -= taken * earlier[i]
            g, kappa = foreseen_failure(mean, square)
            factor = kappa / (1.0 + kappa * square)
            factors[failed] = factor
            add_columns(columns, direction, along)
            for item in range(k):
                mean_of[item] += g * along[item]
                square_of[item] -= factor * along[item] * along[item]
            fill_scores(pool, score_of)
            failed += 1
        mean_of[best] = score_of[best] = -math.inf  # it stays so
    return order, rows, means, scores
