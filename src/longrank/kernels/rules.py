"""How policies decide in a compiled run: see :class:`longrank.kernels.Rule`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import Kernel, compiled, generic
from longrank.kernels.foresight import greedy_foreseeing
from longrank.kernels.length import best_length, committed_length
from longrank.kernels.link import probabilities, probability
from longrank.kernels.looks import choose_looking
from longrank.kernels.ranking import top

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Order = NDArray[np.int64]
Flags = NDArray[np.bool_]
Decision = tuple[Order, Matrix, int]
Now = tuple[Matrix, Flags, bool, Vector, float]
Belief = tuple[Vector, Matrix, int, float]
Payoffs = tuple[Vector, Vector, Vector]


@compiled
def _norm(vector: Vector) -> float:
    total = 0.0
    for i in range(vector.shape[0]):
        total += vector[i] * vector[i]
    return math.sqrt(total)


@generic
def random_rule(
    greedy: Kernel,  # noqa: ARG001
    along: Kernel,
    now: Now,
    belief: Belief,  # noqa: ARG001
    payoffs: Payoffs,
    settings: tuple[Any, ...],  # noqa: ARG001
) -> Decision:
    """A random order at full budget."""
    items, _, _, keys, _ = now
    count = min(payoffs[0].shape[0], items.shape[0])
    order = top(keys, count)
    return order, along(items, order), count


@generic
def optimistic_rule(
    greedy: Kernel,
    along: Kernel,  # noqa: ARG001
    now: Now,
    belief: Belief,
    payoffs: Payoffs,
    settings: tuple[float, bool, Order],
) -> Decision:
    """The best by mean + bonus * width, as far as the outcome depends on it.

    ``settings`` are the bonus, whether to probe, and how often it has given up. The order matters
    only up to the first success. So it is made as far as that, once it is certain that all further
    items are worth trying, however bad they are.
    """
    items, wins, _, _, longest = now
    weights, inverse, link, ceiling = belief
    rewards, losses, enough = payoffs
    bonus, probing, given_up = settings
    count = min(rewards.shape[0], items.shape[0])
    worst = probability(link, -longest * _norm(weights) - 1e-9)
    reach = min(count, 4)
    while True:
        order, rows, _, scores = greedy(items, weights, inverse, bonus, ceiling, reach)
        chances = probabilities(link, scores)
        if reach == count:
            length = committed_length(chances, rewards, losses, probing, given_up)
            return order, rows, length
        certain = best_length(chances, rewards, losses) == reach and worst >= enough[reach]
        if certain and wins[order].any():
            return order, rows, count
        reach = min(count, 4 * reach)


@generic
def foreseeing_rule(
    greedy: Kernel,  # noqa: ARG001
    along: Kernel,  # noqa: ARG001
    now: Now,
    belief: Belief,
    payoffs: Payoffs,
    settings: tuple[float, bool, Order, int],
) -> Decision:
    """Optimism that foresees failures: the settings of ``optimistic_rule``, and how many."""
    items = now[0]
    weights, inverse, link, _ = belief
    rewards, losses, _ = payoffs
    bonus, probing, given_up, foresight = settings
    count = min(rewards.shape[0], items.shape[0])
    order, rows, _, scores = greedy_foreseeing(items, weights, inverse, bonus, count, foresight)
    chances = probabilities(link, scores)
    return order, rows, committed_length(chances, rewards, losses, probing, given_up)


@generic
def looking_rule(
    greedy: Kernel,  # noqa: ARG001
    along: Kernel,  # noqa: ARG001
    now: Now,
    belief: Belief,
    payoffs: Payoffs,
    settings: tuple[float, float, bool, Order, int, Flags, float],
) -> Decision:
    """Optimism that foresees failures and looks at candidates of which little is known.

    ``settings`` are the bonus, that of a look, whether to probe, how often it has given up, how
    many failures to foresee, which columns mark candidates, and the precision of the prior.
    Candidates with a key of 1 are looked at.
    """
    items, _, _, keys, _ = now
    weights, inverse, link, _ = belief
    rewards, losses, _ = payoffs
    bonus, wide, probing, given_up, foresight, marks, prior = settings
    count = min(rewards.shape[0], items.shape[0])
    columns, optimism = np.ascontiguousarray(items.T), (bonus, wide, marks, prior)
    order, rows, _, scores = choose_looking(
        columns, weights, inverse, keys > 0.0, optimism, count, foresight
    )
    chances = probabilities(link, scores)
    return order, rows, committed_length(chances, rewards, losses, probing, given_up)


@generic
def mixed_rule(
    greedy: Kernel,
    along: Kernel,
    now: Now,
    belief: Belief,
    payoffs: Payoffs,
    settings: tuple[Any, ...],
) -> Decision:
    """A random order in random rounds, else the best by the means."""
    if now[2]:
        return random_rule(greedy, along, now, belief, payoffs, settings)
    certain = 0.0, False, np.zeros(1, np.int64)
    return optimistic_rule(greedy, along, now, belief, payoffs, certain)
