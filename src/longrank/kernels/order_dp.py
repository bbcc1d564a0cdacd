"""The order of candidates with costs and values, and the dynamic programmes that choose among them.

A try of candidate i at position m costs c_i, earns r_m + v_i with probability p_i, and otherwise
the cascade goes on with probability q, the patience, or ends and earns l_m. With the gain
g_i = p_i v_i - c_i, a try after m failures is worth

    g_i + p_i r_(m+1) + (1 - p_i) [(1 - q) l_(m+1) + q F(m+1)]

where F(m+1) is the value of continuing. The proofs are in ``docs/planning.md``.
"""

import math
from typing import NamedTuple, TypeVar

import numpy as np

from longrank.arrays import Flags, Order, Vector
from longrank.kernels.compilation import compiled

Numbers = TypeVar("Numbers", Vector, Order, Flags)


_RUN = 8  # candidates that are sorted by insertion


class Schedule(NamedTuple):
    """Payoffs by position: rewards (b), losses (b + 1), and how a cascade ends by itself.

    ``leaving[m]`` is what a failure at position m + 1 earns by ending there: (1 - q) l_(m+1).
    """

    rewards: Vector
    losses: Vector
    leaving: Vector
    patience: float


@compiled
def take(numbers: Numbers, order: Order) -> Numbers:
    """Gather numbers in an order: ``numbers[order]``, but that takes a second to compile."""
    taken = np.empty(order.shape[0], numbers.dtype)
    for at in range(order.shape[0]):
        taken[at] = numbers[order[at]]
    return taken


@compiled
def try_value(p: float, gain: float, schedule: Schedule, m: int, ahead: float) -> float:
    """Compute the value of a try after m failures, if continuing after it is worth ``ahead``."""
    failure = schedule.leaving[m] + schedule.patience * ahead
    return float(gain + p * schedule.rewards[m] + (1.0 - p) * failure)


@compiled
def value_of(chosen: Order, p: Vector, gains: Vector, schedule: Schedule) -> float:
    """Compute the expected reward of a sequence. O(b)."""
    value = float(schedule.losses[chosen.shape[0]])
    for m in range(chosen.shape[0] - 1, -1, -1):
        value = try_value(p[chosen[m]], gains[chosen[m]], schedule, m, value)
    return value


@compiled
def index_of(p: Vector, costs: Vector, values: Vector, slope: float, patience: float) -> Vector:
    """Compute the index (p v - c - slope / q) / (1 - q (1 - p)) of every candidate. O(k).

    At full patience it is v - (c + slope) / p, and candidates that cannot succeed come last.
    """
    index = np.empty(p.shape[0])
    for i in range(p.shape[0]):
        if patience < 1.0:
            ends = (1.0 - patience) + patience * p[i]
            index[i] = (p[i] * values[i] - costs[i] - slope / patience) / ends
        elif p[i] > 1e-300 * abs(costs[i] + slope):  # so that the ratio is finite
            index[i] = values[i] - (costs[i] + slope) / p[i]
        else:
            index[i] = -math.inf
    return index


@compiled
def _before(index: Vector, p: Vector, i: int, j: int) -> bool:
    """Whether i precedes j: by index, then the likelier, then the lower number."""
    if index[i] != index[j]:
        return bool(index[i] > index[j])
    if p[i] != p[j]:
        return bool(p[i] > p[j])
    return i < j


@compiled
def sort_by(index: Vector, p: Vector, order: Order) -> None:
    """Sort ``order`` by an index, in place, by merging runs. O(k log k), sorted ones O(k)."""
    n = order.shape[0]
    for at in range(n):
        item, to = order[at], at
        while to % _RUN > 0 and _before(index, p, item, order[to - 1]):
            order[to] = order[to - 1]
            to -= 1
        order[to] = item
    left = np.empty(n, np.int64)
    width = _RUN
    while width < n:
        for start in range(0, n - width, 2 * width):
            middle, end = start + width, min(start + 2 * width, n)
            if _before(index, p, order[middle - 1], order[middle]):
                continue
            for at in range(width):
                left[at] = order[start + at]
            a, b = 0, middle
            for at in range(start, end):
                if a == width:
                    break
                if b < end and _before(index, p, order[b], left[a]):
                    order[at] = order[b]
                    b += 1
                else:
                    order[at] = left[a]
                    a += 1
        width *= 2


@compiled
def choose(order: Order, p: Vector, gains: Vector, schedule: Schedule) -> Order:
    """Choose the best subsequence of an order, at most as long as there are positions. O(k b).

    In a tie it takes a candidate rather than skip it. One bit for each candidate and position
    remembers the choice.
    """
    n, b = order.shape[0], schedule.rewards.shape[0]
    ahead = schedule.losses.copy()
    taken = np.zeros((n, (b + 63) // 64), np.uint64)
    for t in range(n - 1, -1, -1):
        chance, gain = p[order[t]], gains[order[t]]
        reach = min(b, t + 1)  # no more than t can have been tried before
        for word in range((reach + 63) // 64):
            bits = np.uint64(0)
            for m in range(64 * word, min(reach, 64 * word + 64)):
                value = try_value(chance, gain, schedule, m, ahead[m + 1])
                better = value >= ahead[m]
                ahead[m] = value if better else ahead[m]
                bits |= np.uint64(better) << np.uint64(m & 63)
            taken[t, word] = bits
    chosen, m = np.empty(min(n, b), np.int64), 0
    for t in range(n):
        if m < b and (taken[t, m >> 6] >> np.uint64(m & 63)) & np.uint64(1):
            chosen[m] = order[t]
            m += 1
    return chosen[:m]


@compiled
def best_value(order: Order, p: Vector, gains: Vector, schedule: Schedule) -> float:
    """Compute the value of the sequence that ``choose`` returns. O(k b)."""
    ahead = schedule.losses.copy()
    for t in range(order.shape[0] - 1, -1, -1):
        chance, gain = p[order[t]], gains[order[t]]
        skipped = ahead[0]
        for m in range(schedule.rewards.shape[0]):
            further = ahead[m + 1]
            value = try_value(chance, gain, schedule, m, further)
            ahead[m] = value if value > skipped else skipped
            skipped = further
    return float(ahead[0])


@compiled
def choose_freely(p: Vector, gains: Vector, schedule: Schedule) -> Order:
    """Find the best sequence of few candidates, whatever the payoffs. O(2^k k).

    What follows depends only on the set of those that failed, so the programme runs over sets.
    """
    k, b = p.shape[0], schedule.rewards.shape[0]
    sizes, pick = np.zeros(1 << k, np.int64), np.full(1 << k, -1, np.int64)
    ahead = np.empty(1 << k)
    for tried in range(1, 1 << k):
        sizes[tried] = sizes[tried >> 1] + (tried & 1)
    for tried in range((1 << k) - 1, -1, -1):
        m = sizes[tried]
        if m > b:
            continue
        best, first = schedule.losses[m], -1
        for i in range(k if m < b else 0):
            if (tried >> i) & 1:
                continue
            value = try_value(p[i], gains[i], schedule, m, ahead[tried | (1 << i)])
            if value > best or (value == best and (first < 0 or p[i] > p[first])):
                best, first = value, i
        ahead[tried], pick[tried] = best, first
    chosen, m, tried = np.empty(min(k, b), np.int64), 0, 0
    while pick[tried] >= 0:
        chosen[m] = pick[tried]
        tried |= 1 << pick[tried]
        m += 1
    return chosen[:m]
