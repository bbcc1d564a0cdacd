"""Drawing sequences action by action: an item, or STOP, by log-odds at a temperature.

The log-odds of an item are those of its estimated probability of success, and those of STOP are
those of the break-even. Estimates lie between 0 and 1, and ``count`` tries are allowed.
"""

from __future__ import annotations

import numpy as np

from longrank.arrays import Flags, Indices, Matrix, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.length import best_stop

LEAST = 1e-3  # estimates nearer to 0 or 1 count as this near, so that nothing is impossible
# Estimates, rewards, losses, patience, how many tries are allowed, and the temperature.
World = tuple[Vector, Vector, Vector, float, int, float]


@compiled
def break_even(best: Vector, rewards: Vector, losses: Vector, patience: float) -> float:
    """Find the probability at which a further try is as good as STOP, from 0 to 1. O(n).

    ``best`` are the estimates of as many remaining items as can be tried, the best first. After the
    next one the others follow for as long as that pays.
    """
    value = best_stop(best[1:], rewards[1:], losses[1:], patience)[1]
    if patience < 1.0:
        value = (1.0 - patience) * losses[1] + patience * value
    now = losses[0]
    if now <= losses[-1]:
        return 0.0  # tries are free
    if now <= value:
        return LEAST  # this one is, whatever it earns
    return float(max((now - value) / (rewards[0] - value), LEAST))


@compiled
def draw_actions(world: World, draws: Vector) -> Indices:
    """Draw a sequence until STOP is drawn; position i takes ``draws[i]``. O(count k)."""
    estimates, _, _, _, count, temperature = world
    k = estimates.shape[0]
    ranked, odds = np.argsort(-estimates), _log_odds(estimates)
    taken, chances = np.zeros(k, np.bool_), np.empty(k + 1)
    order = np.empty(count, np.int64)
    for i in range(count):
        stop = _stop_after(i, world, ranked, taken)
        _share(odds, taken, stop, temperature, chances)
        action, total = 0, 0.0
        for each in range(k + 1):
            if chances[each] > 0.0:  # the last of these, if the sum falls short of 1
                action = each
            total += chances[each]
            if total > draws[i]:
                break
        if action == k:
            return order[:i]
        order[i], taken[action] = action, True
    return order


@compiled
def action_chances(world: World, along: Indices) -> Matrix:
    """Compute the probability of each action after each prefix of a sequence, STOP last.

    Shape (n + 1, k + 1). Rows after an impossible action are 0. O(n k).
    """
    estimates, _, _, _, count, temperature = world
    k, n = estimates.shape[0], along.shape[0]
    ranked, odds = np.argsort(-estimates), _log_odds(estimates)
    taken, table = np.zeros(k, np.bool_), np.zeros((n + 1, k + 1))
    for i in range(min(count, n) + 1):
        if i == count:
            table[i, k] = 1.0
            break
        stop = _stop_after(i, world, ranked, taken)
        _share(odds, taken, stop, temperature, table[i])
        if i < n:
            if table[i, along[i]] == 0.0:
                break
            taken[along[i]] = True
    return table


@compiled
def _log_odds(estimates: Vector) -> Vector:
    return np.log(estimates) - np.log1p(-estimates)


@compiled
def _stop_after(tried: int, world: World, ranked: Indices, taken: Flags) -> float:
    """Find the break-even after some failures, by the best items that are not taken."""
    estimates, rewards, losses, patience, count, _ = world
    best, size = np.empty(count - tried), 0
    for item in ranked:
        if size == count - tried:
            break
        if not taken[item]:
            best[size] = estimates[item]
            size += 1
    return break_even(best, rewards[tried:count], losses[tried : count + 1], patience)


@compiled
def _share(odds: Vector, taken: Flags, stop: float, temperature: float, chances: Vector) -> None:
    """Fill ``chances`` with the probability of each action; STOP is last."""
    k, top, total = odds.shape[0], -np.inf, 0.0
    if stop >= 1.0:
        chances[:k], chances[k] = 0.0, 1.0
        return
    for i in range(k):
        chances[i] = odds[i]
    chances[k] = np.log(stop) - np.log1p(-stop) if stop > 0.0 else -np.inf
    for i in range(k):
        if taken[i]:
            chances[i] = -np.inf
    for i in range(k + 1):
        top = max(top, chances[i])
    for i in range(k + 1):
        chances[i] = np.exp((chances[i] - top) / temperature)
        total += chances[i]
    for i in range(k + 1):
        chances[i] /= total
