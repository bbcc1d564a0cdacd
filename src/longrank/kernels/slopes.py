"""Plans where no single order is right: a search from a few slopes, and a bound on the loss.

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

_STEPS = 100  # of the repair
_TINY = 1e-7  # of the range of the payoffs: what is not worth another step


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
def _tilt(rewards: Vector, slope: float) -> int:
    """Compute how far behind the lowest reward the highest one is, beside a line of this slope."""
    lowest, highest, low, high = 0, 0, rewards[0], rewards[0]
    for m in range(1, rewards.shape[0]):
        height = rewards[m] + slope * m
        if height < low:
            lowest, low = m, height
        if height > high:
            highest, high = m, height
    return highest - lowest


@compiled
def _straightest(rewards: Vector, slopes: Vector) -> float:
    """Find the slope of the line from which no reward is far, between the slopes. O(b)."""
    low, high = slopes[-1], slopes[0]
    for _ in range(30):  # the distance is convex in the slope, and the tilt is its derivative
        middle = 0.5 * (low + high)
        if _tilt(rewards, middle) > 0:
            high = middle
        else:
            low = middle
    return float(0.5 * (low + high))


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
def _fill_hull(by_chance: Order, p: Vector, gains: Vector, hull: Order, cuts: Vector) -> int:
    """Find who has the largest gain + worth * p, for all worths. O(k).

    They are the upper convex hull of the points (p, gain), by falling p; ``cuts`` has the worths
    at which one gives way to the next. Whoever has a gain of -inf is left out.
    """
    n = 0
    for i in by_chance:
        if gains[i] == -math.inf or (n > 0 and p[i] == p[hull[n - 1]]):
            continue  # of those with the same p the first has the largest gain
        cut = -math.inf
        while n > 0:
            cut = (gains[i] - gains[hull[n - 1]]) / (p[hull[n - 1]] - p[i])
            if n == 1 or cut < cuts[n - 2]:
                cuts[n - 1] = cut
                break
            n -= 1
        hull[n] = i
        n += 1
    cuts[max(n - 1, 0)] = -math.inf
    return n


@compiled
def _seek(cuts: Vector, at: int, worth: float) -> int:
    """Find the place on a hull of the best candidate at this worth, beginning with ``at``."""
    while at > 0 and worth > cuts[at - 1]:
        at -= 1
    while worth < cuts[at]:
        at += 1
    return at


@compiled
def repair(chosen: Order, by_chance: Order, p: Vector, gains: Vector, schedule: Schedule) -> Order:
    """Improve a sequence until no single change does: one taken out, one put in, or both.

    So candidates are replaced, moved, inserted and removed. The best to put in at a position is
    on the hull. O(steps (b^2 + k)).
    """
    rewards, losses, leaving, patience = schedule
    b, tiny = min(rewards.shape[0], p.shape[0]), _TINY * (rewards[0] - losses[-1])
    sequence, size = np.empty(b + 1, np.int64), chosen.shape[0]
    free = gains.copy()  # of those outside the sequence
    for m in range(size):
        sequence[m] = chosen[m]
        free[chosen[m]] = -math.inf
    hull, cuts = np.empty(p.shape[0], np.int64), np.empty(p.shape[0])
    corner = np.empty(b, np.int64)
    all_earned, all_reached = np.zeros(b + 1), np.ones(b + 1)
    earned, reached, later = np.zeros(b + 1), np.ones(b + 1), np.empty(b + 1)
    for _ in range(_STEPS):
        others = _fill_hull(by_chance, p, free, hull, cuts)
        corner[:] = 0
        value = float(losses[size])
        for m in range(size - 1, -1, -1):
            later[m] = value
            value = try_value(p[sequence[m]], gains[sequence[m]], schedule, m, value)
        best, out, place, put = value + tiny, -1, 0, -1
        for m in range(size):
            i = sequence[m]
            tried = gains[i] + p[i] * rewards[m] + (1.0 - p[i]) * leaving[m]
            all_earned[m + 1] = all_earned[m] + all_reached[m] * tried
            all_reached[m + 1] = all_reached[m] * (1.0 - p[i]) * patience
        for gone in range(size + 1):  # the last time nobody is taken out
            n = size - 1 if gone < size else size
            earned[gone], reached[gone] = all_earned[gone], all_reached[gone]
            for m in range(gone, n):  # those after the gap move up
                i = sequence[m + 1]
                tried = gains[i] + p[i] * rewards[m] + (1.0 - p[i]) * leaving[m]
                earned[m + 1] = earned[m] + reached[m] * tried
                reached[m + 1] = reached[m] * (1.0 - p[i]) * patience
            for m in range(gone, n + 1):
                value = earned[m] + reached[m] * losses[m]
                if value > best:
                    best, out, place, put = value, gone, m, -1
            if n == b:
                continue
            if gone == size:
                later[n] = losses[n + 1]
            for m in range(gone - 1, -1, -1):  # those before it move down
                i = sequence[m]
                later[m] = try_value(p[i], gains[i], schedule, m + 1, later[m + 1])
            own = sequence[gone] if gone < size else hull[0]
            if others == 0:
                hull[0] = own
            for m in range(n + 1):
                failure = leaving[m] + patience * later[m]
                worth = rewards[m] - failure
                corner[m] = _seek(cuts, corner[m], worth)  # near that of the gap before
                i = hull[corner[m]]
                score = max(gains[i] + worth * p[i], gains[own] + worth * p[own])
                value = earned[m] + reached[m] * (score + failure)
                if value > best:
                    best, out, place, put = value, gone, m, i
                    if score > gains[i] + worth * p[i]:
                        put = own
        if out < 0:
            break
        if out < size:
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
def _start(by_chance: Order, p: Vector, gains: Vector, schedule: Schedule) -> tuple[Order, float]:
    """Find what could be earned if a candidate that failed could be tried again, and a sequence.

    The sequence has at each position the best that is left, if going on is worth so much.
    """
    rewards, losses, leaving, patience = schedule
    b = rewards.shape[0]
    hull, cuts = np.empty(p.shape[0], np.int64), np.empty(p.shape[0])
    _fill_hull(by_chance, p, gains, hull, cuts)
    worths, value, at = np.empty(b), losses[b], 0
    for m in range(b - 1, -1, -1):
        failure = leaving[m] + patience * value
        worths[m] = rewards[m] - failure
        at = _seek(cuts, at, worths[m])
        value = max(losses[m], gains[hull[at]] + worths[m] * p[hull[at]] + failure)
    chosen, free = np.empty(min(b, p.shape[0]), np.int64), gains.copy()
    for m in range(chosen.shape[0]):
        best, most = -1, -math.inf
        for i in range(p.shape[0]):
            score = free[i] + worths[m] * p[i]
            if score > most:
                best, most = i, score
        chosen[m] = best
        free[best] = -math.inf
    return chosen, float(value)


@compiled
def search(
    order: Order,
    p: Vector,
    costs: Vector,
    values: Vector,
    gains: Vector,
    schedule: Schedule,
    slopes: Vector,
) -> tuple[Order, float]:
    """Find a good sequence for any payoffs, and a value that no sequence exceeds.

    ``order`` has all candidates and is sorted anew; by the smallest slope it need not be.
    """
    by_chance = order.copy()
    sort_by(p, gains, by_chance)
    best, above = _start(by_chance, p, gains, schedule)
    found = value_of(best, p, gains, schedule)
    middle = slopes[slopes.shape[0] // 2]
    if schedule.patience == 1.0:
        middle = _straightest(schedule.rewards, slopes)
    for turn, slope in enumerate((slopes[-1], middle, slopes[0])):
        sort_by(index_of(p, costs, values, slope, schedule.patience), p, order)
        if turn < 2:  # the largest slope gives a bound that is no lower
            higher = _raised(slope, _last_of_line(slope, schedule), schedule)
            above = min(above, best_value(order, p, gains, higher))
        chosen = choose(order, p, gains, schedule)
        value = value_of(chosen, p, gains, schedule)
        if value > found:
            best, found = chosen, value
    return repair(best, by_chance, p, gains, schedule), above
