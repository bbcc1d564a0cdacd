"""A whole run of a policy through a stream of rounds, compiled: the inner loop of experiments.

It is made of the same kernels as the policies, and gives the same run to the last bit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compiled import compiled
from longrank.kernels.curve import probabilities, probability
from longrank.kernels.foresight import greedy_foreseeing
from longrank.kernels.laplace import laplace_cascade
from longrank.kernels.length import best_length, enough_to_go_on, probe_is_due
from longrank.kernels.likelihood import grow_and_fit
from longrank.kernels.ranking import (
    coverage_along,
    greedy_coverage,
    greedy_plain,
    top,
    worst_row,
)
from longrank.kernels.update import observe_cascade

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

STEPS, REFITS, LAPLACE = 0, 1, 2  # how a learner learns


@compiled
def live(
    items: Matrix,
    starts: Indices,
    wins: Flags,
    rewards: Vector,
    losses: Vector,
    coverage: bool,
    at_random: Flags,
    keys: Vector,
    bonus: float,
    prior: float,
    radius: float,
    rate: float,
    link: int,
    ceiling: float,
    method: int,
    forgetting: float,
    probing: bool,
    foresight: int,
    earned: Vector,
    lengths: Indices,
    tried: Indices,
) -> None:
    """Rank, play and learn in every round t, whose items are rows ``starts[t]:starts[t+1]``.

    ``items`` are topics where ``coverage``; ``wins`` says which succeed; in rounds ``at_random``
    the order is that of ``keys``, at full budget. The learner starts with M = prior * I; it is
    the online one, the maximum likelihood one (``prior`` is its penalty) or the Laplace one by
    ``method``. With ``probing`` it tries an item at times where it would give up; ``foresight``
    is how many failures it foresees (Laplace, not ``coverage``). Fills what was ``earned``, the
    ``lengths`` committed to, and how many were ``tried``.
    """
    d = items.shape[1]
    weights, inverse = np.zeros(d), np.eye(d) / prior
    curvature, penalties = inverse.copy(), np.full(d, prior)
    most = starts.shape[0] - 1
    history = np.empty((wins.shape[0] if method == REFITS else 0, d))
    successes = np.empty(history.shape[0], np.bool_)
    seen, given_up = 0, 0
    longest = 1.0 if coverage else math.sqrt(worst_row(items)[1])  # of rows
    enough = enough_to_go_on(rewards, losses)
    for t in range(most):
        chunk = items[starts[t] : starts[t + 1]]
        count = min(rewards.shape[0], chunk.shape[0])
        length = count
        if at_random[t]:
            order = top(keys[starts[t] : starts[t + 1]], count)
            rows = coverage_along(chunk, order) if coverage else chunk[order]
        elif foresight > 0:
            order, rows, _, scores = greedy_foreseeing(
                chunk, weights, inverse, bonus, count, foresight
            )
            length = best_length(probabilities(link, scores), rewards, losses)
        else:
            # The order matters only up to the first success. So it is made as far as that, once
            # it is certain that all further items are worth trying, however bad they are.
            worst = probability(link, -longest * math.sqrt(np.dot(weights, weights)) - 1e-9)
            reach = min(count, 4)
            while True:
                if coverage:
                    order, rows, _, scores = greedy_coverage(
                        chunk, weights, inverse, bonus, ceiling, reach
                    )
                else:
                    order, rows, _, scores = greedy_plain(
                        chunk, weights, inverse, bonus, ceiling, reach
                    )
                length = best_length(probabilities(link, scores), rewards, losses)
                if reach == count:
                    break
                certain = length == reach and worst >= enough[reach]
                if certain and wins[starts[t] + order].any():
                    length = count
                    break
                reach = min(count, 4 * reach)
        if length == 0 and count > 0:
            if probing and probe_is_due(given_up):
                length = 1
            given_up += 1
        attempts, succeeded = 0, False
        while attempts < length and not succeeded:
            succeeded = wins[starts[t] + order[attempts]]
            attempts += 1
        earned[t] = rewards[attempts - 1] if succeeded else losses[attempts]
        lengths[t], tried[t] = length, attempts
        if attempts == 0:
            continue
        if method == REFITS:
            for i in range(attempts):
                history[seen + i] = rows[i]
                successes[seen + i] = succeeded and i == attempts - 1
            grow_and_fit(
                history[: seen + attempts],
                successes[: seen + attempts],
                seen,
                penalties,
                link,
                weights,
                inverse,
                curvature,
            )
            seen += attempts
        elif method == LAPLACE:
            laplace_cascade(weights, inverse, rows[:attempts], succeeded, prior, forgetting)
        else:
            observe_cascade(weights, inverse, rows[:attempts], succeeded, radius, rate, link)
