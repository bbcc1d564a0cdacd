"""Confidence sequences by betting: bounds that are valid for any sample size, at all times.

Bet against the claim that non-negative numbers have a mean of at most m. If the claim is true, the
capital is a supermartingale and ever reaches 1 / risk with probability at most ``risk`` (Ville
1939). The lower bound is the smallest m that betting fails to refute (Waudby-Smith, Ramdas 2024).
The numbers need no upper bound, which suits weighted rewards (Karampatziakis, Mineiro, Ramdas
2021), and may depend on the past, as in the log of a policy that learns.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_MOST = 0.75  # maximum share of the capital at stake
_PARTS = 2.0 ** -np.arange(1.0, 11.0)  # constant shares of the capital that are staked
_SHARES = np.log(
    1.0 / np.arange(1, 11) / (1.0 / np.arange(1, 11)).sum()
)  # log of the initial capital of each


def stakes(values: Array, risk: float) -> Array:
    """Return what to bet on each value, from the values before it.

    The best constant bet on n values with standard deviation s is sqrt(2 log(1 / risk) / n) / s.
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
    """Return the logarithm of the capital after each bet of a mixture of constant bets.

    The best bet depends on the unknown sample size, so the capital is split among constant bets
    (Cover 1991). Staking a share b turns 1 into 1 - b + b x / m, whose conditional expectation is
    at most 1 if x >= 0 has a mean of at most m. So the total is a non-negative supermartingale,
    and ever reaches 1 / risk with probability at most ``risk`` (Ville 1939).
    """
    ratios = values / mean - 1.0
    total = np.full(len(values), -math.inf)
    for part, share in zip(_PARTS, _SHARES, strict=True):
        total = np.logaddexp(total, share + np.cumsum(np.log1p(part * ratios)))
    return total


def lower(values: Array, risk: float) -> float:
    """Return a lower confidence bound of the mean of non-negative values.

    It errs with probability at most ``risk`` if each value, given those before it, has at most
    this mean.
    """
    bets, enough = stakes(values, risk), math.log(1.0 / risk)
    return _least(values, lambda mean: bool(capital(values, mean, bets)[-1] >= enough), 40)


def constant_lower(values: Array, risk: float) -> float:
    """Return a lower confidence bound of the mean of non-negative values whose means may differ.

    A policy's gain over a log that learns is such a mean: large at first, then smaller. Constant
    bets stay valid, since the product of 1 - b + b m_t / m is at most 1 if the m_t average m. The
    bound errs with probability at most ``risk`` over all sample sizes.
    """
    enough = math.log(1.0 / risk)
    return _least(values, lambda mean: bool(mixture(values, mean)[-1] >= enough), 25)


def _least(values: Array, refuted: Callable[[float], bool], steps: int) -> float:
    """Return the smallest mean that is not refuted."""
    low, high = 0.0, float(values.mean()) if len(values) else 0.0  # larger means are not refuted
    if high <= 0.0 or not refuted(1e-12):
        return 0.0
    for _ in range(steps):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def exceeds(values: Array, mean: float, risk: float) -> bool:
    """Whether the mean of non-negative values is above ``mean``; errs with ``risk``."""
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
