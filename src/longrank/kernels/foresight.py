"""Greedy choice with foresight: each position is chosen as if all items above it had failed."""

import math

import numpy as np

from longrank.arrays import Flags, Matrix, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.laplace import foreseen_failure
from longrank.kernels.ranking import Greedy, add_columns, optimistic, score_rows
from longrank.kernels.update import times_row


@compiled
def greedy_foreseeing(
    items: Matrix, weights: Vector, inverse: Matrix, bonuses: Vector, count: int, foresight: int
) -> Greedy:
    """Choose ``count`` items, each by what would be believed if all above it had failed.

    O(k d^2) for the scores, and what :func:`foresee` takes.
    """
    k = items.shape[0]
    means, widths = score_rows(items, weights, inverse)
    columns, exact = np.ascontiguousarray(items.T), np.ones(k, np.bool_)
    return foresee(columns, means, widths * widths, exact, inverse, bonuses, count, foresight)


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
def fill_scores(mean_of: Vector, square_of: Vector, bonuses: Vector, score_of: Vector) -> None:
    """Fill the scores of items. O(k)."""
    for item in range(score_of.shape[0]):
        width = math.sqrt(max(square_of[item], 0.0))
        score_of[item] = optimistic(mean_of[item], width, bonuses[item], math.inf)


@compiled
def foresee(
    columns: Matrix,
    mean_of: Vector,
    square_of: Vector,
    exact: Flags,
    inverse: Matrix,
    bonuses: Vector,
    count: int,
    foresight: int,
) -> Greedy:
    """Choose ``count`` items by means and widths, each as if all above it had failed.

    The belief is a normal one about a logistic model. The step that ``laplace_cascade`` would take
    on a failure of an item moves the mean of every other item x by g x.h and the square of its
    width by -factor (x.h)^2, with h = M^-1 of the failed one. So each failure foreseen costs
    O(k d); M itself is not changed, and what the earlier failures took from it is subtracted from
    h. Positions after ``foresight`` failures use the belief as it is then.

    Items are given as columns, each with a bonus of its own. The square of a width is ``exact``,
    or an upper bound, which is replaced once its item looks best, in O(d^2): so most widths are
    never computed, and the result is the same. What is given is written over.
    """
    d, k = columns.shape
    ahead = min(foresight, count)
    score_of = np.empty(k)
    fill_scores(mean_of, square_of, bonuses, score_of)
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
                width = math.sqrt(max(square, 0.0))
                score_of[best] = optimistic(mean_of[best], width, bonuses[best], math.inf)
                continue
        order[position] = best
        means[position], scores[position] = mean_of[best], score_of[best]
        for i in range(d):
            rows[position, i] = columns[i, best]
        position += 1
        if failed < min(ahead, count - 1):
            mean, square = mean_of[best], max(square_of[best], 0.0)
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
            fill_scores(mean_of, square_of, bonuses, score_of)
            failed += 1
        mean_of[best] = score_of[best] = -math.inf  # it stays so
    return order, rows, means, scores
