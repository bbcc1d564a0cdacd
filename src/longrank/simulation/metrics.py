"""Metrics of a run."""

import numpy as np

from longrank.arrays import Vector
from longrank.errors import InvalidInput
from longrank.simulation.loop import Run


def cumulative_reward(run: Run) -> float:
    """Sum the rewards (CR)."""
    return float(run.rewards.sum())


def average_reward(run: Run) -> Vector:
    """Compute CR(t) / t for t = 1, ..., T."""
    return np.asarray(np.cumsum(run.rewards) / np.arange(1, len(run.rewards) + 1))


def ncr(run: Run, random: Run) -> float:
    """Normalise the reward: (CR - CR_random) / (CR_max - CR_random).

    CR_max is the reward of a clairvoyant, and ``random`` a run of :class:`~longrank.Random` in the
    same world. NaN if a random order is perfect.
    """
    return _normalised(run, random, 0.0)


def ncr_published(run: Run, random: Run) -> float:
    """Normalise as the paper's tables do, with 1 added to the denominator.

    Every vanilla column of the tables at large budgets fits this, not the formula of the text; see
    the page on departures.
    """
    return _normalised(run, random, 1.0)


def normalised(reward: float, random: float, best: float, extra: float = 0.0) -> float:
    """Compute (reward - random) / (best - random + extra); NaN if the denominator is 0."""
    room = best - random + extra
    return (reward - random) / room if room else float("nan")


def _normalised(run: Run, random: Run, extra: float) -> float:
    if len(run.rewards) != len(random.rewards):
        raise InvalidInput("random", f"have {len(run.rewards)} rounds", len(random.rewards))
    best = float(run.hindsight.sum())
    return normalised(cumulative_reward(run), cumulative_reward(random), best, extra)


def pseudo_regret(run: Run) -> Vector:
    """Return the cumulative regret of expected rewards against the benchmark, after each round."""
    return np.asarray(np.cumsum(run.optimum - run.expected))


def scaled_regret(run: Run, ratio: float | Vector) -> Vector:
    """Like :func:`pseudo_regret`, against ``ratio`` (the paper's gamma) times the benchmark."""
    return np.asarray(np.cumsum(ratio * run.optimum - run.expected))
