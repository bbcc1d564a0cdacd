"""Drawing sequences action by action: an item, or STOP, by log-odds at a temperature.

The log-odds of an item are those of its estimated probability of success, and those of STOP are
those of the break-even. Estimates lie between 0 and 1, and ``count`` tries are allowed.
"""

import numpy as np

from longrank.arrays import Flags, Vector
from longrank.kernels.compilation import compiled
from longrank.kernels.length import best_stop
from longrank.kernels.link import exponential, logarithm

LEAST = 1e-3  # estimates nearer to 0 or 1 count as this near, so that nothing is impossible
# Rewards, losses, patience, how many tries are allowed, and the temperature.
World = tuple[Vector, Vector, float, int, float]


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
def next_chances(estimates: Vector, taken: Flags, tried: int, world: World) -> Vector:
    """Compute the probability of each next action, STOP last, after some failures.

    Those that failed are ``taken``. Shape (k + 1,). O(k log k).
    """
    rewards, losses, patience, count, temperature = world
    k = estimates.shape[0]
    chances = np.zeros(k + 1)
    chances[k] = 1.0
    if tried == count:
        return chances
    best, size = np.empty(count - tried), 0
    for item in np.argsort(-estimates):
        if size == count - tried:
            break
        if not taken[item]:
            best[size] = estimates[item]
            size += 1
    stop = break_even(best, rewards[tried:count], losses[tried : count + 1], patience)
    if stop >= 1.0:
        return chances
    top, total = -np.inf, 0.0
    for i in range(k):
        odds = logarithm(float(estimates[i])) - logarithm(float(1.0 - estimates[i]))
        chances[i] = -np.inf if taken[i] else odds
    chances[k] = logarithm(stop) - logarithm(1.0 - stop) if stop > 0.0 else -np.inf
    for i in range(k + 1):
        top = max(top, chances[i])
    for i in range(k + 1):
        chances[i] = exponential((chances[i] - top) / temperature)
        total += chances[i]
    for i in range(k + 1):
        chances[i] /= total
    return chances
