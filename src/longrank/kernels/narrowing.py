"""Narrow very many candidates down to a few that include a best plan.

The proof is in ``docs/planning.md``: at each position a best plan tries one of the b best by the
score gain + worth * p, where worth is by how much a success there beats a failure. A score is a
straight line over the worths, so a candidate beaten by the same b others at both ends of an
interval is beaten by them in all of it. Where a plan goes on, skipping beats a score below 0.
"""

import math

import numpy as np

from longrank.arrays import Flags, Order, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.order_dp import take

_STEPS = 8  # intervals into which the worths are divided, for fewer candidates half as many
_ROUNDS = 4
_FEW = 64  # candidates or fewer are not narrowed down further
_SAMPLE = 8192  # candidates that show how good the best of very many are
_HALVINGS = 20
_BLOCK = 1024  # candidates that are scanned together, so that they stay in the cache


@compiled
def _range_of_worths(
    values: Vector, rewards: Vector, losses: Vector, patience: float
) -> tuple[float, float]:
    """Bound by how much a success can beat a failure, at any position. O(k + b).

    Continuing is never worth more than the next reward with the largest value.
    """
    b, most = rewards.shape[0], values[0]
    for value in values:
        most = value if value > most else most
    low, high = math.inf, -math.inf
    for m in range(b):
        further = losses[b] if m == b - 1 else max(losses[m + 1], rewards[m + 1] + most)
        failure = (1.0 - patience) * losses[m + 1] + patience * further
        low, high = min(low, rewards[m] - failure), max(high, rewards[m] - losses[m + 1])
    return low, high


@compiled
def _raise_low(
    low: float, grid: Vector, most: Vector, rewards: Vector, losses: Vector, patience: float
) -> float:
    """Bound the worths from below, given the largest score at each point of a grid. O(b).

    The largest score is convex in the worth: between two points it lies below the straight line.
    """
    smallest = grid[-1]
    value = losses[rewards.shape[0]]  # continuing is never worth more
    for m in range(rewards.shape[0] - 1, -1, -1):
        failure = (1.0 - patience) * losses[m + 1] + patience * value
        worth = min(max(rewards[m] - failure, low), grid[-1])
        smallest = min(smallest, worth)
        at = 0
        while at < grid.shape[0] - 2 and grid[at + 1] < worth:
            at += 1
        share = (worth - grid[at]) / (grid[at + 1] - grid[at])
        score = most[at] + share * (most[at + 1] - most[at])
        value = max(losses[m], score + failure)
    return float(smallest)


@compiled
def _level(scores: Vector, b: int) -> float:
    """Find a number that b scores reach, or a few more where they are close. O(k)."""
    low, high = scores[0], scores[0]
    for score in scores:
        low, high = min(low, score), max(high, score)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        count = 0
        for score in scores:
            count += score >= middle
        if count < b:
            high = middle
        else:
            low = middle
            if count == b:
                break
    return float(low)


@compiled
def _largest_scores(p: Vector, c: Vector, v: Vector, grid: Vector) -> Vector:
    """Find the largest score at each point of a grid. O(k)."""
    most = np.full(grid.shape[0], -math.inf)
    for i in range(p.shape[0]):
        gain = p[i] * v[i] - c[i]
        for at in range(grid.shape[0]):
            most[at] = max(most[at], gain + grid[at] * p[i])
    return most


@compiled
def _break_even(p: Vector, g: Vector, b: int, low: float, stops: float) -> float:
    """Find a worth between ``low`` and ``stops`` at which b scores reach 0, if there is one. O(k).

    Scores rise with the worth: a candidate not worth a try there is not worth one below it.
    """
    reached = np.empty(p.shape[0])
    for i in range(p.shape[0]):
        pays = p[i] > 0.0 and g[i] + stops * p[i] > 0.0
        reached[i] = -min(max(-g[i] / p[i], low), stops) if pays else -stops
    return -_level(reached, b)


@compiled
def _limits(p: Vector, g: Vector, grid: Vector, b: int, stops: float, kept: Flags) -> Vector:
    """Find the scores at the points of a grid up to which b others beat a candidate everywhere.

    The others are marked as ``kept``: the best in the middle of each interval, or, where a plan
    goes on (below ``stops``) and not all of them are worth a try in all of it, the best at its
    beginning. O(k).
    """
    limits, scores = np.full(grid.shape[0], math.inf), np.empty(p.shape[0])
    for at in range(grid.shape[0] - 1):
        low, high = grid[at], grid[at + 1]
        for worth in (0.5 * (low + high), low):
            for i in range(p.shape[0]):
                scores[i] = g[i] + worth * p[i]
            level = _level(scores, b)
            least, most = math.inf, math.inf
            for i in range(p.shape[0]):
                if scores[i] >= level:
                    least, most = min(least, g[i] + low * p[i]), min(most, g[i] + high * p[i])
            if least >= 0.0 or low >= stops:
                break
        for i in range(p.shape[0]):
            kept[i] |= scores[i] >= level
        limits[at], limits[at + 1] = min(limits[at], least), min(limits[at + 1], most)
    return limits


@compiled
def _unbeaten(p: Vector, c: Vector, v: Vector, grid: Vector, limits: Vector, kept: Flags) -> Order:
    """Find candidates that exceed a limit or are already ``kept``, in one pass. O(k)."""
    left, n = np.empty(p.shape[0], np.int64), 0
    block, excess = np.empty(_BLOCK), np.empty(_BLOCK)
    for start in range(0, p.shape[0], _BLOCK):
        size = min(_BLOCK, p.shape[0] - start)
        chances, gains, over = p[start : start + size], block[:size], excess[:size]
        prices, worths = c[start : start + size], v[start : start + size]
        for i in range(size):
            gains[i] = chances[i] * worths[i] - prices[i]
        for i in range(size):
            over[i] = -1.0
        for at in range(grid.shape[0]):
            worth, limit = grid[at], limits[at]
            for i in range(size):
                more = gains[i] + worth * chances[i] - limit
                over[i] = more if more > over[i] else over[i]
        for i in range(size):
            if over[i] > 0.0 or kept[start + i]:
                left[n] = start + i
                n += 1
    return left[:n]


@compiled
def narrow(
    p: Vector, c: Vector, v: Vector, rewards: Vector, losses: Vector, patience: float
) -> Order:
    """Find candidates that include a best plan, in ascending order. O(k)."""
    return narrow_bounds(p, c, p, c, v, rewards, losses, patience, rewards.shape[0])


@compiled
def narrow_bounds(
    sure: Vector,
    dear: Vector,
    able: Vector,
    cheap: Vector,
    v: Vector,
    rewards: Vector,
    losses: Vector,
    patience: float,
    few: int,
) -> Order:
    """Return, in order, every candidate that may be among the best ``few``, and some others. O(k).

    "Best" means at any worth that a success can have in a best plan. Candidates never worth
    trying are dropped, so fewer than ``few`` may remain.

    As a function of the worth, a candidate's score is bounded by two lines: from below by that of
    the chance ``sure`` at the cost ``dear``, from above by that of ``able`` at ``cheap``.
    """
    some = np.arange(able.shape[0] if able.shape[0] <= max(few, _FEW) else 0)
    low, high = _range_of_worths(v, rewards, losses, patience)
    stops, skipped = high, False  # the least worth at which a plan can end
    for m in range(rewards.shape[0]):
        stops = min(stops, rewards[m] - losses[m + 1])
    for turn in range(_ROUNDS):
        n = able.shape[0]
        if n <= max(few, _FEW):
            break
        stride = max(n // max(_SAMPLE, 2 * few), 1)  # at least ``few`` are in the sample
        pool = sure[::stride].copy()
        gains = np.empty(pool.shape[0])
        for i in range(pool.shape[0]):
            gains[i] = pool[i] * v[i * stride] - dear[i * stride]
        if low < stops:  # if fewer are worth a try, keep those
            low = _break_even(pool, gains, few, low, stops)
            skipped = True
        steps = _STEPS if n > _SAMPLE else _STEPS // 2
        grid = np.empty(steps + 1)
        for at in range(steps + 1):  # denser where a failure costs little, as at first
            grid[at] = low + (high - low) * (at / steps) * (at / steps) * (at / steps)
        kept = np.zeros(n, np.bool_)
        limits = _limits(pool, gains, grid, few, stops, kept[::stride])
        limits[0] = min(limits[0], 0.0) if skipped else limits[0]
        left = _unbeaten(able, cheap, v, grid, limits, kept)
        some = left if turn == 0 else take(some, left)
        sure, dear, v = take(sure, left), take(dear, left), take(v, left)
        able, cheap = take(able, left), take(cheap, left)
        n, before = left.shape[0], n
        if n <= max(few, _FEW) or (turn > 0 and 4 * n > 3 * before):
            break
        if low < high:
            most = _largest_scores(able, cheap, v, grid)
            low = _raise_low(low, grid, most, rewards, losses, patience)
    return some
