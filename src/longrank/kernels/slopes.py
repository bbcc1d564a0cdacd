"""Plans where no single order is right: one for each slope of the payoffs, and a bound on the loss.

Between positions m and m + 1 the order goes by an index with the slope
r_m - q r_(m+1) - (1 - q) l_m. Where the slopes differ, each of them gives a good sequence to start
from; payoffs that are at least as high and have one slope throughout bound what any sequence is
worth.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled
from longrank.kernels.programme import (
    Schedule,
    best_value,
    choose,
    index_of,
    sort_by,
    take,
    try_value,
    value_of,
)

Vector = NDArray[np.float64]
Order = NDArray[np.int64]

_MOST = 6  # slopes that are tried
_REACH = 16  # a candidate is put in at most so many places from where one was taken out
_STEPS = 100  # of the repair


@compiled
def slopes_of(schedule: Schedule) -> Vector:
    """Compute the slope between every two neighbouring positions, largest first. O(b log b)."""
    rewards, _, leaving, patience = schedule
    slopes = np.zeros(max(rewards.shape[0] - 1, 1))
    for m in range(rewards.shape[0] - 1):
        slopes[m] = rewards[m] - patience * rewards[m + 1] - leaving[m]
    order = np.arange(slopes.shape[0])
    sort_by(slopes, slopes, order)
    return take(slopes, order)


@compiled
def _width(rewards: Vector, slope: float) -> float:
    """Compute how far rewards spread around a line of this slope."""
    least, most = math.inf, -math.inf
    for m in range(rewards.shape[0]):
        least, most = min(least, rewards[m] + slope * m), max(most, rewards[m] + slope * m)
    return float(most - least)


@compiled
def _straightest(rewards: Vector) -> float:
    """Find the slope of the line from which no reward is far. O(b)."""
    low, high = 0.0, 0.0
    for m in range(rewards.shape[0] - 1):
        high = max(high, rewards[m] - rewards[m + 1])
    for _ in range(40):  # the width is convex in the slope
        third = (high - low) / 3.0
        if _width(rewards, low + third) < _width(rewards, high - third):
            high -= third
        else:
            low += third
    return 0.5 * (low + high)


@compiled
def _to_try(slopes: Vector, schedule: Schedule) -> Vector:
    """Choose slopes to try: those that differ, or a spread of them, and that of the best line."""
    n = 1
    distinct = np.empty(slopes.shape[0])
    distinct[0] = slopes[0]
    for slope in slopes:
        if distinct[n - 1] - slope > 1e-9 * (slopes[0] - slopes[-1]):
            distinct[n] = slope
            n += 1
    spread = min(n, _MOST - 1)
    tried = np.empty(spread + 1)
    for i in range(spread):
        tried[i] = distinct[i * (n - 1) // max(spread - 1, 1)]
    full = schedule.patience == 1.0
    tried[spread] = _straightest(schedule.rewards) if full else distinct[n // 2]
    return tried


@compiled
def _last_of_line(slope: float, schedule: Schedule) -> float:
    """Find the last reward from which payoffs of this one slope reach all others. O(b)."""
    rewards, _, leaving, patience = schedule
    needed, level, share = rewards[-1], 0.0, 1.0
    for m in range(rewards.shape[0] - 2, -1, -1):
        level = slope + leaving[m] + patience * level
        share *= patience
        if rewards[m] - level > needed * share:
            needed = (rewards[m] - level) / share
    return float(max(rewards[-1], min(needed, rewards[0])))


@compiled
def _raised(slope: float, last: float, schedule: Schedule) -> Schedule:
    """Raise payoffs until they have one slope throughout; the last reward is given. O(b).

    Where the slope is too small the reward before it rises; where it is too large, failing there
    earns the difference.
    """
    rewards, losses, leaving, patience = schedule
    higher, more = rewards.copy(), leaving.copy()
    higher[-1] = last
    for m in range(rewards.shape[0] - 2, -1, -1):
        level = slope + leaving[m] + patience * higher[m + 1]
        higher[m] = max(rewards[m], level)
        more[m] += higher[m] - level
    return Schedule(higher, losses, more, patience)


@compiled
def _bound_with_repeats(p: Vector, gains: Vector, schedule: Schedule) -> float:
    """Compute what could be earned if a candidate that failed could be tried again. O(k b)."""
    value = schedule.losses[-1]
    for m in range(schedule.rewards.shape[0] - 1, -1, -1):
        ahead, value = value, schedule.losses[m]
        for i in range(p.shape[0]):
            value = max(value, try_value(p[i], gains[i], schedule, m, ahead))
    return float(value)


@compiled
def repair(chosen: Order, p: Vector, gains: Vector, schedule: Schedule) -> Order:
    """Improve a sequence until no single change does: one taken out, one put in, or both.

    So candidates are replaced, moved, inserted and removed. O(steps b^2 k).
    """
    rewards, losses, leaving, patience = schedule
    b, scale = rewards.shape[0], 1e-13 * (rewards[0] - losses[-1])
    sequence, size = np.empty(b, np.int64), chosen.shape[0]
    free = gains.copy()  # of those outside the sequence
    for m in range(size):
        sequence[m] = chosen[m]
        free[chosen[m]] = -math.inf
    rest = np.empty(b, np.int64)
    earned, reached, later = np.empty(b + 1), np.empty(b + 1), np.empty(b + 1)
    for _ in range(_STEPS):
        best, out, place, put = value_of(sequence[:size], p, gains, schedule) + scale, -2, 0, 0
        for gone in range(-1, size):  # -1: nobody is taken out
            n = 0
            for m in range(size):
                if m != gone:
                    rest[n] = sequence[m]
                    n += 1
            earned[0], reached[0] = 0.0, 1.0
            for m in range(n):  # along the rest, where it stays
                i = rest[m]
                tried = gains[i] + p[i] * rewards[m] + (1.0 - p[i]) * leaving[m]
                earned[m + 1] = earned[m] + reached[m] * tried
                reached[m + 1] = reached[m] * (1.0 - p[i]) * patience
            for m in range(n + 1):
                value = earned[m] + reached[m] * losses[m]
                if value > best:
                    best, out, place, put = value, gone, m, -1
            if n == b:
                continue
            later[n] = losses[n + 1]
            for m in range(n - 1, -1, -1):  # the rest, one position later
                later[m] = try_value(p[rest[m]], gains[rest[m]], schedule, m + 1, later[m + 1])
            if gone >= 0:
                free[sequence[gone]] = gains[sequence[gone]]
            near = gone if gone >= 0 else n
            reach = _REACH if gone >= 0 else n
            for m in range(max(near - reach, 0), min(near + reach, n) + 1):
                needed = (best - earned[m]) / reached[m] if reached[m] > 0.0 else math.inf
                for i in range(p.shape[0]):
                    value = try_value(p[i], free[i], schedule, m, later[m])
                    if value > needed:
                        needed = value
                        best, out, place, put = earned[m] + reached[m] * value, gone, m, i
            if gone >= 0:
                free[sequence[gone]] = -math.inf
        if out == -2:
            break
        if out >= 0:
            free[sequence[out]] = gains[sequence[out]]
            size -= 1
            for m in range(out, size):
                sequence[m] = sequence[m + 1]
        if put < 0:
            for m in range(place, size):
                free[sequence[m]] = gains[sequence[m]]
            size = place
        else:
            for m in range(size, place, -1):
                sequence[m] = sequence[m - 1]
            sequence[place] = put
            free[put] = -math.inf
            size += 1
    return sequence[:size]


@compiled
def search(
    p: Vector, costs: Vector, values: Vector, gains: Vector, schedule: Schedule, slopes: Vector
) -> tuple[Order, float]:
    """Find a good sequence for any payoffs, and a value that no sequence exceeds."""
    order = np.arange(p.shape[0])
    best, found = order[:0], -math.inf
    above = _bound_with_repeats(p, gains, schedule)
    for slope in _to_try(slopes, schedule):
        sort_by(index_of(p, costs, values, slope, schedule.patience), p, order)
        chosen = choose(order, p, gains, schedule)
        value = value_of(chosen, p, gains, schedule)
        if value > found:
            best, found = chosen, value
        for last in (schedule.rewards[-1], _last_of_line(slope, schedule)):
            higher = _raised(slope, last, schedule)
            above = min(above, best_value(order, p, gains, higher))
    return repair(best, p, gains, schedule), above
