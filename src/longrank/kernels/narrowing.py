"""Narrowing down: the few of very many candidates among which there is a best plan.

The proof is in ``docs/planning.md``: at each position a best plan tries one of the b best by the
score gain + worth * p, where worth is by how much a success there beats a failure. A score is a
straight line over the worths, so whoever is beaten by the same b others at both ends of an
interval is beaten by them in all of it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled
from longrank.kernels.ranking import top

Vector = NDArray[np.float64]
Order = NDArray[np.int64]

_STEPS = 8  # intervals into which the worths are divided
_ROUNDS = 4
_BLOCK = 2048  # candidates that are looked at together, so that they stay in the cache


@compiled
def _largest_worths(
    probabilities: Vector, gains: Vector, rewards: Vector, losses: Vector, patience: float
) -> tuple[float, float]:
    """Bound by how much a success can beat a failure, at any position. O(k + b).

    No way of going on is worth more than the next reward with the best g / p = v - c / p.
    """
    b = rewards.shape[0]
    best = -math.inf
    for i in range(probabilities.shape[0]):
        if gains[i] > best * probabilities[i] and probabilities[i] > 0.0:
            best = gains[i] / probabilities[i]
    low, high = math.inf, -math.inf
    for m in range(b):
        further = losses[b] if m == b - 1 else max(losses[m + 1], rewards[m + 1] + best)
        failure = (1.0 - patience) * losses[m + 1] + patience * further
        low, high = min(low, rewards[m] - failure), max(high, rewards[m] - losses[m + 1])
    return low, high


@compiled
def _smallest_worth(
    grid: Vector, most: Vector, rewards: Vector, losses: Vector, patience: float
) -> float:
    """Bound the worths from below, given the largest score at each point of a grid. O(b).

    The largest score is convex in the worth: between two points it lies below the straight line.
    """
    low = grid[-1]
    value = losses[rewards.shape[0]]  # no way of going on is worth more
    for m in range(rewards.shape[0] - 1, -1, -1):
        failure = (1.0 - patience) * losses[m + 1] + patience * value
        worth = min(max(rewards[m] - failure, grid[0]), grid[-1])
        low = min(low, worth)
        at = 0
        while at < grid.shape[0] - 2 and grid[at + 1] < worth:
            at += 1
        share = (worth - grid[at]) / (grid[at + 1] - grid[at])
        score = most[at] + share * (most[at + 1] - most[at])
        value = max(losses[m], score + failure)
    return float(low)


@compiled
def _best_at(p: Vector, g: Vector, grid: Vector, b: int) -> Order:
    """Find the b largest g + worth * p at each worth of a grid, ties to the lower index. O(k)."""
    size = 4 * b + 16
    held, scores = np.empty((grid.shape[0], size), np.int64), np.empty((grid.shape[0], size))
    counts, limits = np.zeros(grid.shape[0], np.int64), np.full(grid.shape[0], -math.inf)
    for start in range(0, p.shape[0], _BLOCK):
        for at in range(grid.shape[0]):
            worth, limit, n = grid[at], limits[at], counts[at]
            for i in range(start, min(start + _BLOCK, p.shape[0])):
                score = g[i] + worth * p[i]
                if score > limit:
                    held[at, n], scores[at, n] = i, score
                    n += 1
                    if n == size:
                        kept = top(scores[at], b)
                        held[at, :b], scores[at, :b] = held[at][kept], scores[at][kept]
                        n, limit = b, scores[at, b - 1]
            limits[at], counts[at] = limit, n
    best = np.empty((grid.shape[0], b), np.int64)
    for at in range(grid.shape[0]):
        best[at] = held[at][top(scores[at, : counts[at]], b)]
    return best


@compiled
def _least_of(p: Vector, g: Vector, some: Order, worth: float) -> float:
    """Find the smallest score of some candidates."""
    least = math.inf
    for i in some:
        least = min(least, g[i] + worth * p[i])
    return least


@compiled
def _unbeaten(p: Vector, g: Vector, grid: Vector, best: Order, first: int) -> Order:
    """Find who is not beaten by b others in every interval of the grid from ``first`` on. O(k)."""
    keep = np.zeros(p.shape[0], np.bool_)
    for start in range(0, p.shape[0], _BLOCK):
        end = min(start + _BLOCK, p.shape[0])
        for at in range(first, grid.shape[0] - 1):
            low, high = grid[at], grid[at + 1]
            by_left, by_right = _least_of(p, g, best[at], high), _least_of(p, g, best[at + 1], low)
            for i in range(start, end):
                keep[i] |= (g[i] + high * p[i] > by_left) & (g[i] + low * p[i] > by_right)
    for at in range(first, grid.shape[0]):
        for i in best[at]:
            keep[i] = True
    return np.flatnonzero(keep)


@compiled
def narrow(
    probabilities: Vector, gains: Vector, rewards: Vector, losses: Vector, patience: float
) -> Order:
    """Find candidates among which there is a best plan of all, in ascending order. O(k)."""
    b = rewards.shape[0]
    some = np.arange(0)
    p, g = probabilities, gains
    low, high = _largest_worths(p, g, rewards, losses, patience)
    for round_ in range(_ROUNDS):
        n = p.shape[0]
        if n <= b or not 0.0 < high - low < math.inf:
            break
        grid = low + (high - low) * (np.arange(_STEPS + 1) / _STEPS)
        best = _best_at(p, g, grid, b)
        most = np.empty(_STEPS + 1)
        for at in range(_STEPS + 1):
            most[at] = g[best[at, 0]] + grid[at] * p[best[at, 0]]
        low = _smallest_worth(grid, most, rewards, losses, patience)
        first = 0
        while first < _STEPS - 1 and grid[first + 1] <= low:
            first += 1
        unbeaten = _unbeaten(p, g, grid, best, first)
        some = unbeaten if round_ == 0 else some[unbeaten]
        p, g = p[unbeaten], g[unbeaten]
        if 4 * unbeaten.shape[0] > 3 * n:
            break
    return some if p.shape[0] < probabilities.shape[0] else np.arange(p.shape[0])
