"""Confidence bounds by betting: they hold for every number of decisions, and at every look.

A gambler bets against the claim that numbers of at least 0 have a mean of at most m. If it is true
his capital is a supermartingale, so it reaches 1 / risk with a probability of at most ``risk``, at
whatever time one looks (Ville 1939). The means that would make him that rich are too small: they
are below the lower bound (Waudby-Smith, Ramdas 2024). No upper bound of the numbers is needed,
which suits weighted rewards (Karampatziakis, Mineiro, Ramdas 2021), and what is drawn may depend on
the past, as in the log of a policy that learns.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_MOST = 0.75  # the part of the capital that is at stake at most
_PARTS = 2.0 ** -np.arange(1.0, 11.0)  # of the capital that gamblers stake who bet at all times
_SHARES = np.log(1.0 / np.arange(1, 11) / (1.0 / np.arange(1, 11)).sum())  # what each begins with


def stakes(values: Array, risk: float) -> Array:
    """Return what to bet on each value, from the values before it.

    The best constant bet on n values with a standard deviation of s is sqrt(2 log(1 / risk) / n) /
    s.
    """
    times = np.arange(1, len(values) + 1)
    means = (0.5 + np.cumsum(values)) / (times + 1.0)
    squares = 0.25 + np.append(0.0, np.cumsum((values - means) ** 2)[:-1])
    bound = 2.0 * math.log(1.0 / risk) * times / (squares * float(len(values)))
    return np.asarray(np.sqrt(bound))


def capital(values: Array, mean: float, bets: Array) -> Array:
    """Return the logarithm of the capital after each bet that the mean is above ``mean``."""
    most = _MOST / mean if mean > 0.0 else math.inf
    return np.asarray(np.cumsum(np.log1p(np.minimum(bets, most) * (values - mean))))


def mixture(values: Array, mean: float) -> Array:
    """Return the logarithm of the capital after each bet of many gamblers that share a purse.

    Nobody knows how long the game lasts, nor the best bet: it is the smaller, the longer one must
    wait for a decision. So each of them stakes a constant part of his capital (Cover 1991). A part
    b turns 1 into 1 - b + b x / m, whose expectation is at most 1 if x >= 0 has a mean of at most
    m, whatever was before; so each capital, and their sum, is a nonnegative supermartingale, and
    ever reaches 1 / risk with a probability of at most ``risk`` (Ville 1939).
    """
    ratios = values / mean - 1.0
    total = np.full(len(values), -math.inf)
    for part, share in zip(_PARTS, _SHARES, strict=True):
        total = np.logaddexp(total, share + np.cumsum(np.log1p(part * ratios)))
    return total


def lower(values: Array, risk: float) -> float:
    """Return a lower confidence bound of the mean of values of at least 0.

    It is wrong with a probability of at most ``risk``, if each value has at most this mean given
    those before it.
    """
    bets, enough = stakes(values, risk), math.log(1.0 / risk)
    return _least(values, lambda mean: bool(capital(values, mean, bets)[-1] >= enough), 40)


def constant_lower(values: Array, risk: float) -> float:
    """Return a lower confidence bound of the mean of values of at least 0 whose means may differ.

    What a policy earns more than a log that learns is such a mean: large at first, and then less.
    Gamblers who stake a constant part of their capital gain no more by it than if all means were
    the same, since the product of 1 - b + b m_t / m is at most 1 if the mean of the m_t is m. It is
    wrong with a probability of at most ``risk``, for all numbers of values together.
    """
    enough = math.log(1.0 / risk)
    return _least(values, lambda mean: bool(mixture(values, mean)[-1] >= enough), 25)


def _least(values: Array, refuted: Callable[[float], bool], steps: int) -> float:
    """Return the least mean that is not refuted."""
    low, high = 0.0, float(values.mean()) if len(values) else 0.0  # nobody gains on a larger claim
    if high <= 0.0 or not refuted(1e-12):
        return 0.0
    for _ in range(steps):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def exceeds(values: Array, mean: float, risk: float) -> bool:
    """Tell whether the mean of values of at least 0 is above ``mean``; wrong with ``risk``."""
    return bool(capital(values, mean, stakes(values, risk))[-1] >= math.log(1.0 / risk))


def matched(weights: Array, values: Array, risk: float) -> float:
    """Return a lower bound of the mean of values in [0, 1] that were kept with these weights.

    The weights are in [0, 1], and independent of the values.
    """
    low, high = 0.0, 1.0
    bets, enough = stakes(weights * values, risk), math.log(1.0 / risk)
    for _ in range(40):
        middle = 0.5 * (low + high)
        most = _MOST / max(middle, 1e-12)
        grown = np.log1p(np.minimum(bets, most) * weights * (values - middle)).sum()
        low, high = (middle, high) if grown >= enough else (low, middle)
    return low
