"""Planning: which candidates to try, in which order, when each has a cost and a value.

The kernels here are compiled one by one, when a round first needs them: most rounds have few
candidates and payoffs for which one order is right, and never wait for the others.
"""

import math
from typing import NamedTuple

import numpy as np

from longrank.arrays import Order, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.length import best_stop
from longrank.kernels.narrowing import narrow
from longrank.kernels.order_dp import (
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

Planned = tuple[Order, int, float, float]  # order, length, value, bound
# Probabilities, costs and values of all candidates; rewards, losses, patience, and how many tries.
Given = tuple[Vector, Vector, Vector, Vector, Vector, float, int]

_MANY = 128  # candidates that are narrowed down before they are sorted
_FEW = 10  # candidates whose subsets are all enumerated where no order is known
_ALL = np.empty(0, np.int64)  # means all candidates
_TOO_MANY, _NO_ORDER = -1, -2  # lengths that stand for a failure
_ALIKE = 1e-12  # slopes that differ by less, relative to their payoffs, count as equal


@compiled
def _equal(numbers: Vector) -> bool:
    """Whether all numbers are equal."""
    i = 1
    while i < numbers.shape[0] and numbers[i] == numbers[0]:
        i += 1
    return bool(i >= numbers.shape[0])


@compiled
def _plan_alike(
    p: Vector, cost: float, value: float, rewards: Vector, losses: Vector, patience: float
) -> Planned:
    """Plan where all candidates have the same cost and value: the likeliest first. O(k log b)."""
    b = rewards.shape[0]
    for m in range(b):
        rewards[m] += value - (m + 1) * cost
        losses[m + 1] -= (m + 1) * cost
    order = top(p, b)
    length, worth = best_stop(take(p, order), rewards, losses, patience)
    return order, length, worth, 0.0


class Problem(NamedTuple):
    """Some candidates, in the order of the index of the smallest slope, and what they can earn."""

    order: Order
    p: Vector
    costs: Vector
    values: Vector
    gains: Vector
    schedule: Schedule
    slopes: Vector


@compiled
def _schedule(rewards: Vector, losses: Vector, patience: float, b: int) -> Schedule:
    """Truncate payoffs after b positions."""
    leaving = losses[1 : b + 1].copy()
    for m in range(b):
        leaving[m] *= 1.0 - patience
    return Schedule(rewards[:b].copy(), losses[: b + 1].copy(), leaving, patience)


@compiled
def _has_one_order(schedule: Schedule, slopes: Vector) -> bool:
    """Whether all slopes are equal, so that the order does not depend on the position."""
    last = schedule.leaving[max(schedule.leaving.shape[0] - 2, 0)]
    return bool(slopes[0] - slopes[-1] <= _ALIKE * (schedule.rewards[0] - last))


@compiled
def _problem(
    some: Order, probabilities: Vector, costs: Vector, values: Vector, schedule: Schedule
) -> Problem:
    """Set up the problem of planning with some of the candidates. O(k log k)."""
    slopes = slopes_of(schedule)
    p, c, v = take(probabilities, some), take(costs, some), take(values, some)
    gains = np.empty(some.shape[0])
    for i in range(some.shape[0]):
        gains[i] = p[i] * v[i] - c[i]
    order = np.arange(some.shape[0])
    sort_by(index_of(p, c, v, slopes[-1], schedule.patience), p, order)
    return Problem(order, p, c, v, gains, schedule, slopes)


@compiled
def _has_same_order(problem: Problem) -> bool:
    """Whether the largest slope gives the same order as the smallest, and so all of them. O(k)."""
    order, p, c, v, _, schedule, slopes = problem
    index = index_of(p, c, v, slopes[0], schedule.patience)
    t = 1
    while t < order.shape[0] and index[order[t - 1]] >= index[order[t]]:
        t += 1
    return bool(t >= order.shape[0])


@compiled
def _planned(some: Order, problem: Problem, chosen: Order, above: float) -> Planned:
    """Return a plan: those chosen, followed by those that would be the best to try next."""
    p, gains, schedule = problem.p, problem.gains, problem.schedule
    b, length = schedule.rewards.shape[0], chosen.shape[0]
    value = value_of(chosen, p, gains, schedule)
    planned = np.empty(b, np.int64)
    for m in range(length):
        planned[m] = some[chosen[m]]
    if length < b:
        last = (
            schedule.rewards[length] - schedule.losses[length + 1]
        )  # what a success adds to a failure
        for i in range(gains.shape[0]):
            gains[i] += last * p[i]
        for i in chosen:
            gains[i] = -math.inf
        following = top(gains, b - length)
        for m in range(length, b):
            planned[m] = some[following[m - length]]
    return planned, length, value, max(above - value, 0.0)


@compiled
def _plan_in_order(given: Given, some: Order) -> Planned:
    """Plan where one order is right, for all candidates or for ``some``. O(k log k + k b).

    The length is negative if there are too many candidates, or if no single order is right.
    """
    probabilities, costs, values, rewards, losses, patience, b = given
    everyone = some.shape[0] == 0
    if everyone and _equal(costs) and _equal(values):
        return _plan_alike(
            probabilities, costs[0], values[0], rewards[:b].copy(), losses[: b + 1].copy(), patience
        )
    schedule = _schedule(rewards, losses, patience, b)
    if not _has_one_order(schedule, slopes_of(schedule)):
        return np.empty(0, np.int64), _NO_ORDER, 0.0, 0.0
    if everyone and probabilities.shape[0] > _MANY:
        return np.empty(0, np.int64), _TOO_MANY, 0.0, 0.0
    some = np.arange(probabilities.shape[0]) if everyone else some
    problem = _problem(some, probabilities, costs, values, schedule)
    chosen = choose(problem.order, problem.p, problem.gains, schedule)
    return _planned(some, problem, chosen, -math.inf)


@compiled
def _plan_by_search(given: Given) -> Planned:
    """Plan with any payoffs: a good plan, and a bound on its loss.

    With few candidates all subsets are enumerated, and the plan is optimal.
    """
    probabilities, costs, values, rewards, losses, patience, b = given
    schedule = _schedule(rewards, losses, patience, b)
    some = narrow(probabilities, costs, values, schedule.rewards, schedule.losses, patience)
    problem = _problem(some, probabilities, costs, values, schedule)
    order, p, c, v, gains, _, slopes = problem
    above = -math.inf
    if _has_same_order(problem):
        chosen = choose(order, p, gains, schedule)
    elif some.shape[0] <= _FEW:
        chosen = choose_freely(p, gains, schedule)
    else:
        chosen, above = search(order, p, c, v, gains, schedule, slopes)
    return _planned(some, problem, chosen, above)


def plan(
    probabilities: Vector,
    costs: Vector,
    values: Vector,
    rewards: Vector,
    losses: Vector,
    patience: float,
    count: int,
) -> Planned:
    """Plan the tries of a round: order, length, expected reward, and a bound on its loss.

    The order has ``count`` candidates (or all there are): the plan, then those that would be the
    best to try next. No sequence of at most ``count`` candidates is worth more than the plan by
    more than the bound; 0 means that the plan is optimal. O(k log k + k count).
    """
    b = min(count, probabilities.shape[0])
    if b == 0:
        return np.empty(0, np.int64), 0, float(losses[0]), 0.0
    given = probabilities, costs, values, rewards, losses, patience, b
    planned: Planned = _plan_in_order(given, _ALL)
    if planned[1] == _TOO_MANY:
        some = narrow(probabilities, costs, values, rewards[:b], losses[: b + 1], patience)
        assert some.shape[0] > 0, "probabilities must be numbers"
        planned = _plan_in_order(given, some)
    elif planned[1] == _NO_ORDER:
        planned = _plan_by_search(given)
    return planned
