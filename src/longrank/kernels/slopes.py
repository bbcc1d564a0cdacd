"""Plans where no single order is right: a search from a few slopes, and a bound on the loss.

Between positions m and m + 1 candidates are ordered by an index with the slope
r_m - q r_(m+1) - (1 - q) l_m. Where the slopes differ, each of them gives a good sequence to start
from; payoffs that are at least as high and have the same slope throughout bound the value of any
sequence.
"""

import math

import numpy as np

from longrank.arrays import Order, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.order_dp import (
    Schedule,
    best_value,
    choose,
    index_of,
    sort_by,
    take,
    try_value,
    value_of,
)

_CHANGES = 100  # at most, in a repair
_TINY = 1e-7  # of what can be earned: smaller improvements are ignored


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
    """Count the positions from the lowest reward to the highest, relative to a line."""
    lowest, highest, low, high = 0, 0, rewards[0], rewards[0]
    for m in range(1, rewards.shape[0]):
        height = rewards[m] + slope * m
        if height < low:
            lowest, low = m, height
        if height > high:
            highest, high = m, height
    return highest - lowest


@compiled
def _between(slopes: Vector, schedule: Schedule) -> float:
    """Find the slope of the line closest to all rewards; the median slope with patience. O(b)."""
    if schedule.patience < 1.0:
        return float(slopes[slopes.shape[0] // 2])
    low, high = slopes[-1], slopes[0]
    for _ in range(30):  # the distance is convex in the slope, and the tilt is its derivative
        middle = 0.5 * (low + high)
        if _tilt(schedule.rewards, middle) > 0:
            high = middle
        else:
            low = middle
    return float(0.5 * (low + high))


@compiled
def _last_of_line(slope: float, schedule: Schedule) -> float:
    """Find the last reward for which payoffs of this slope reach all others. O(b)."""
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
    """Raise payoffs to the same slope throughout; the last reward is given. O(b).

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
    """Find the candidate with the largest gain + worth * p, for all worths. O(k).

    These candidates are the upper convex hull of the points (p, gain), by falling p; ``cuts``
    holds the worths at which the maximum passes from one to the next. Candidates with a gain of
    -inf are skipped.
    """
    n = 0
    for i in by_chance:
        if gains[i] == -math.inf or (n > 0 and p[i] == p[hull[n - 1]]):
            continue  # of those with the same p the first has the largest gain
        cut = -math.inf
        while n > 0:
            last = hull[n - 1]
            cut = float(gains[i] - gains[last]) / float(p[last] - p[i])  # may overflow to infinity
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
    """Find the best candidate on a hull at this worth, searching from ``at``."""
    while at > 0 and worth > cuts[at - 1]:
        at -= 1
    while worth < cuts[at]:
        at += 1
    return at


@compiled
def _go_on(
    p: float, gain: float, schedule: Schedule, m: int, earned: Vector, reached: Vector
) -> None:
    """Compute what is earned before position m + 1 and how often it is reached, from those of m."""
    tried = gain + p * schedule.rewards[m] + (1.0 - p) * schedule.leaving[m]
    earned[m + 1] = earned[m] + reached[m] * tried
    reached[m + 1] = reached[m] * (1.0 - p) * schedule.patience


@compiled
def repair(
    chosen: Order, by_chance: Order, p: Vector, gains: Vector, schedule: Schedule, tiny: float
) -> Order:
    """Improve a sequence until no single change adds more than ``tiny``.

    A change removes a candidate, inserts one, or both: candidates are replaced, moved, inserted and
    removed. Each gap that a removal leaves gets its best change at once, in turn. The best
    candidate to insert at a position is on the hull. O((1 + changes) (b^2 + k)).
    """
    rewards, losses, leaving, patience = schedule
    b, size = min(rewards.shape[0], p.shape[0]), chosen.shape[0]
    sequence, chances, own = np.empty(b + 1, np.int64), np.empty(b + 1), np.empty(b + 1)
    free = gains.copy()  # of those outside the sequence
    for m in range(size):
        sequence[m], chances[m], own[m] = chosen[m], p[chosen[m]], gains[chosen[m]]
        free[chosen[m]] = -math.inf
    hull, cuts = np.empty(p.shape[0], np.int64), np.empty(p.shape[0])
    corner = np.empty(b, np.int64)
    earned, reached = np.zeros(b + 1), np.ones(b + 1)  # up to a position, without the gap
    ahead, later = np.empty(b + 1), np.empty(b + 1)  # after a position: now, and after an insertion
    gap, idle, changes, put, others, best = 0, 0, 0, 0, 0, 0.0
    while idle <= size and changes < _CHANGES:
        if idle == 0:  # the sequence is new
            others = _fill_hull(by_chance, p, free, hull, cuts)
            corner[:] = 0
            value = float(losses[size])
            for m in range(size - 1, -1, -1):
                ahead[m] = value
                value = try_value(chances[m], own[m], schedule, m, value)
            best = value + tiny
            for m in range(gap):
                _go_on(chances[m], own[m], schedule, m, earned, reached)
        place, put = -1, -1
        n = size - 1 if gap < size else size  # the last gap is past the end
        for m in range(gap, n + 1):
            value = earned[m] + reached[m] * losses[m]
            if value > best:
                best, place = value, m
            if m < n:  # those after the gap move up
                _go_on(chances[m + 1], own[m + 1], schedule, m, earned, reached)
        if n < b:
            for m in range(gap, n + 1):
                later[m] = ahead[m] if m < size else losses[m + 1]
            for m in range(gap - 1, -1, -1):  # those before it move down
                later[m] = try_value(chances[m], own[m], schedule, m + 1, later[m + 1])
            if others == 0:
                hull[0] = sequence[gap]
            for m in range(n + 1):
                failure = leaving[m] + patience * later[m]
                worth = rewards[m] - failure
                corner[m] = _seek(cuts, corner[m], worth)  # near that of the gap before
                i = hull[corner[m]]
                score = gains[i] + worth * p[i]
                if gap < size and own[gap] + worth * chances[gap] > score:
                    i, score = sequence[gap], own[gap] + worth * chances[gap]
                value = earned[m] + reached[m] * (score + failure)
                if value > best:
                    best, place, put = value, m, i
        if place < 0:
            idle += 1
            if gap < size:
                _go_on(chances[gap], own[gap], schedule, gap, earned, reached)
            gap = gap + 1 if gap < size else 0
            continue
        if gap < size:
            free[sequence[gap]] = own[gap]
        for m in range(gap, n):
            sequence[m], chances[m], own[m] = sequence[m + 1], chances[m + 1], own[m + 1]
        if put < 0:
            for m in range(place, n):
                free[sequence[m]] = own[m]
            size = place
        else:
            for m in range(n, place, -1):
                sequence[m], chances[m], own[m] = sequence[m - 1], chances[m - 1], own[m - 1]
            sequence[place], chances[place], own[place] = put, p[put], gains[put]
            free[put] = -math.inf
            size = n + 1
        gap, idle, changes = min(gap, size), 0, changes + 1
    return sequence[:size]


@compiled
def _start(by_chance: Order, p: Vector, gains: Vector, schedule: Schedule) -> tuple[Order, float]:
    """Bound the value, as if failed candidates could be retried, and find a starting sequence.

    At each position the sequence has the best remaining candidate, if continuing has that value.
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

    ``order`` has all candidates by the index of the smallest slope, and is reordered.
    """
    by_chance = order.copy()
    sort_by(p, gains, by_chance)
    best, above = _start(by_chance, p, gains, schedule)
    reached = value_of(best, p, gains, schedule)
    for turn in range(3):
        apart = above - reached
        if apart <= _TINY * (above - schedule.losses[0]):
            return best, above
        if turn == 2 and apart <= 0.25 * (slopes[0] - slopes[-1]):
            break  # at full patience the line between guarantees no smaller gap
        slope = slopes[-1] if turn == 0 else slopes[0] if turn == 1 else _between(slopes, schedule)
        if turn > 0:
            sort_by(index_of(p, costs, values, slope, schedule.patience), p, order)
        if turn != 1:  # the bound of the largest slope is no lower
            higher = _raised(slope, _last_of_line(slope, schedule), schedule)
            above = min(above, best_value(order, p, gains, higher))
        chosen = choose(order, p, gains, schedule)
        value = value_of(chosen, p, gains, schedule)
        if value > reached:
            best, reached = chosen, value
    tiny = _TINY * (above - schedule.losses[0])
    return repair(best, by_chance, p, gains, schedule, tiny), above
