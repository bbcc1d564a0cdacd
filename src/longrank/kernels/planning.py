"""Planning: which candidates to try, in which order, when each has a cost and a value."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled
from longrank.kernels.length import best_stop
from longrank.kernels.narrowing import narrow
from longrank.kernels.programme import (
    Schedule,
    choose,
    choose_freely,
    index_of,
    sort_by,
    take,
    value_of,
)
from longrank.kernels.ranking import top
from longrank.kernels.slopes import search, slopes_of

Vector = NDArray[np.float64]
Order = NDArray[np.int64]
Planned = tuple[Order, int, float, float]  # order, length, value, bound

_MANY = 128  # candidates that are narrowed down before they are sorted
_FEW = 10  # candidates whose subsets are all looked at where no order is known
_ALIKE = 1e-12  # slopes that differ by less, beside the payoffs they are made of, are one


@compiled
def _equal(numbers: Vector) -> bool:
    """Whether all numbers are equal."""
    i = 1
    while i < numbers.shape[0] and numbers[i] == numbers[0]:
        i += 1
    return bool(i >= numbers.shape[0])


@compiled
def _sorted(index: Vector, order: Order) -> bool:
    """Whether an index does not rise along an order."""
    t = 1
    while t < order.shape[0] and index[order[t - 1]] >= index[order[t]]:
        t += 1
    return bool(t >= order.shape[0])


@compiled
def _plan_alike(
    p: Vector, cost: float, value: float, rewards: Vector, losses: Vector, patience: float
) -> Planned:
    """Plan with one cost and one value for all: the likeliest first. O(k log b)."""
    b = rewards.shape[0]
    for m in range(b):
        rewards[m] += value - (m + 1) * cost
        losses[m + 1] -= (m + 1) * cost
    order = top(p, b)
    length, worth = best_stop(take(p, order), rewards, losses, patience)
    return order, length, worth, 0.0


@compiled
def plan(
    probabilities: Vector,
    costs: Vector,
    values: Vector,
    rewards: Vector,
    losses: Vector,
    patience: float,
    count: int,
) -> Planned:
    """Plan the tries of a round: order, length, expected reward, and a bound on what it misses.

    The order has ``count`` candidates (or all there are): the plan, then those that would be the
    best to try next. No sequence of at most ``count`` candidates is worth more than the plan by
    more than the bound; 0 means that the plan is optimal. O(k log k + k count).
    """
    b = min(count, probabilities.shape[0])
    rewards, losses = rewards[:b].copy(), losses[: b + 1].copy()
    if b == 0:
        return np.empty(0, np.int64), 0, float(losses[0]), 0.0
    if _equal(costs) and _equal(values):
        return _plan_alike(probabilities, costs[0], values[0], rewards, losses, patience)
    leaving = losses[1:].copy()
    for m in range(b):
        leaving[m] *= 1.0 - patience
    schedule = Schedule(rewards, losses, leaving, patience)
    slopes = slopes_of(schedule)
    one_order = slopes[0] - slopes[-1] <= _ALIKE * (rewards[0] - leaving[max(b - 2, 0)])
    if probabilities.shape[0] > (_MANY if one_order else _FEW):
        some = narrow(probabilities, costs, values, rewards, losses, patience)
    else:
        some = np.arange(probabilities.shape[0])
    p, c, v = take(probabilities, some), take(costs, some), take(values, some)
    gains = np.empty(some.shape[0])
    for i in range(some.shape[0]):
        gains[i] = p[i] * v[i] - c[i]
    order = np.arange(some.shape[0])
    sort_by(index_of(p, c, v, slopes[-1], patience), p, order)
    above = -math.inf
    if one_order or _sorted(index_of(p, c, v, slopes[0], patience), order):
        chosen = choose(order, p, gains, schedule)
    elif order.shape[0] <= _FEW:
        chosen = choose_freely(p, gains, schedule)
    else:
        chosen, above = search(order, p, c, v, gains, schedule, slopes)
    value, length = value_of(chosen, p, gains, schedule), chosen.shape[0]
    planned = np.empty(b, np.int64)
    for m in range(length):
        planned[m] = some[chosen[m]]
    if length < b:
        last = rewards[length] - losses[length + 1]  # what a success of the last try adds
        for i in range(gains.shape[0]):
            gains[i] += last * p[i]
        for i in chosen:
            gains[i] = -math.inf
        following = top(gains, b - length)
        for m in range(length, b):
            planned[m] = some[following[m - length]]
    return planned, length, value, max(above - value, 0.0)
