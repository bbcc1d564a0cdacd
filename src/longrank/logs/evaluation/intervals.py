"""Confidence intervals of a mean, or of a function of means, over the decisions of a log.

Those by betting are valid for any sample size, at all times. Bet against the claim that
non-negative numbers have a mean of at most m. If that is true, the capital is a supermartingale
and ever reaches 1 / risk with probability at most ``risk`` (Ville 1939). The lower bound is the
smallest m that betting fails to refute (Waudby-Smith, Ramdas 2024). The numbers need no upper
bound, which suits weighted rewards (Karampatziakis, Mineiro, Ramdas 2021), and may depend on the
past, as in the log of a policy that learns.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from longrank.arrays import Array

Notes = tuple[str, ...]
FEW = 100  # effective decisions below which only betting gives intervals
_MOST = 0.75  # maximum share of the capital at stake
_PARTS = 2.0 ** -np.arange(1.0, 11.0)  # constant shares of the capital that are staked
_SHARES = np.log(
    1.0 / np.arange(1, 11) / (1.0 / np.arange(1, 11)).sum()
)  # log of the initial capital of each
_GROUPS = 10_000  # decisions that are resampled one by one; of more, groups of neighbours


@dataclass(frozen=True)
class IntervalSettings:
    """How to compute intervals."""

    confidence: float = 0.95
    interval: str = "bootstrap"  # or "betting"
    resamples: int = 1000
    seed: int = 0


def bootstrap(
    columns: Array,
    statistic: Callable[[Array], Array],
    influence: Array,
    settings: IntervalSettings,
) -> tuple[float, float]:
    """Resample decisions: the studentised bootstrap (Efron, Tibshirani 1993, section 12.5).

    Weighted rewards have a long tail on one side. A resample without the tail has a biased mean
    and a spread that is too small, so the percentiles of means miss the truth on that side too
    often; those of means in units of their own standard error do not.

    Parameters
    ----------
    columns
        One row per decision, shape (n, m).
    statistic
        Turns means of the columns, shape (resamples, m), into as many values.
    influence
        How far each decision moves the value, shape (n,): for a mean the number itself.
    """
    columns, influence = _grouped(columns), _grouped(influence)
    n = len(columns)
    rng = np.random.default_rng(settings.seed)
    moved = influence - influence.mean()
    table = np.column_stack([columns, moved, moved**2])
    means = np.empty((settings.resamples, table.shape[1]))
    for b in range(settings.resamples):
        counts = np.bincount(rng.integers(n, size=n), minlength=n)
        means[b] = counts @ table / n
    value, spread = float(statistic(columns.mean(axis=0)[np.newaxis])[0]), float(moved.std())
    if spread == 0.0:
        return value, value
    off = statistic(means[:, :-2]) - value
    spreads = np.sqrt(np.maximum(means[:, -1] - means[:, -2] ** 2, 0.0))
    # If a resample has no spread at all, nothing is known about its error.
    unknown = np.where(off == 0.0, 0.0, np.copysign(np.inf, off))
    steps = np.divide(off, spreads, out=unknown, where=spreads > 1e-7 * spread)
    tail = (1.0 - settings.confidence) / 2.0
    lower, upper = np.quantile(steps, [tail, 1.0 - tail], method="inverted_cdf")
    return float(value - upper * spread), float(value - lower * spread)


def _grouped(numbers: Array) -> Array:
    """Return the means of neighbours, as many as are worth resampling; their mean is the same."""
    n = len(numbers)
    if n <= _GROUPS:
        return numbers
    firsts = np.arange(_GROUPS) * n // _GROUPS
    return np.asarray(np.add.reduceat(numbers, firsts, axis=0) * (_GROUPS / n))


def score(
    value: float,
    variance: float,
    effective: float,
    earnable: tuple[float, float],
    settings: IntervalSettings,
) -> tuple[float, float]:
    """Return a normal interval that allows for rare unseen events.

    The normal interval of successes that are rare, or of none at all, is too narrow where it
    matters. So each end is computed as if z^2 / 2 more decisions (two, at 95%) had earned the most,
    or the least, that can be earned (after Agresti, Coull 1998, who add both to both).
    """
    z = NormalDist().inv_cdf(0.5 + settings.confidence / 2.0)
    more, n = 0.5 * z**2, max(effective, 1e-9)
    least, most = earnable
    value = min(max(value, least), most)
    ends = []
    for sign, extreme in ((-1.0, least), (1.0, most)):
        middle = (n * value + more * extreme) / (n + more)
        spread = n * (variance * n + (value - middle) ** 2) + more * (extreme - middle) ** 2
        ends.append(middle + sign * z * math.sqrt(spread) / (n + more))
    return max(ends[0], least), min(ends[1], most)


def betting(low_values: Array, high_values: Array, risk: float) -> tuple[float, float]:
    """Return bounds that hold for every number of decisions, on the scale from 0 to 1.

    The means of ``low_values`` and ``high_values``, all of at least 0, are at most the mean in
    question and 1 minus that mean. Contradictory bounds carry no information.
    """
    low = lower(low_values, risk / 2.0)
    high = 1.0 - lower(high_values, risk / 2.0)
    return (max(low, 0.0), min(high, 1.0)) if low <= high else (0.0, 1.0)


def mean_interval(
    values: Array, earnable: tuple[float, float], settings: IntervalSettings
) -> tuple[float, float, str]:
    """Return the interval of a mean of numbers in a known range, and its method."""
    least, most = earnable
    span, n = most - least, len(values)
    if span <= 0.0:
        return least, most, "known"
    if settings.interval == "betting" or n < FEW:
        scaled = np.clip((values - least) / span, 0.0, 1.0)
        low, high = betting(scaled, 1.0 - scaled, 1.0 - settings.confidence)
        return least + span * low, least + span * high, "betting"
    variance = float(values.var(ddof=1)) / n
    return *score(float(values.mean()), variance, float(n), earnable, settings), "normal"


def interval_between(
    lows: Array, highs: Array, earnable: tuple[float, float], settings: IntervalSettings
) -> tuple[float, float, str]:
    """Return the interval of a mean that is only known to be between two others; its method."""
    low, _, _ = mean_interval(lows, earnable, settings)
    _, high, method = mean_interval(highs, earnable, settings)
    return low, high, method


def ratio(plain: Array, terms: Array, weights: Array) -> tuple[float, Array]:
    """Return mean(plain) + sum_j mean(terms_j) / mean(weights_j), and each decision's influence.

    This is the self-normalised form of an estimate: ``plain`` has shape (n,), the others (n, m).
    A position without any weight counts 0.
    """
    weight = weights.mean(axis=0)
    shares = _shares(terms.mean(axis=0), weight)
    influence = plain + _shares(terms - shares * weights, weight).sum(axis=1)
    return float(plain.mean() + shares.sum()), influence


def ratio_interval(
    terms: Array, weights: Array, settings: IntervalSettings
) -> tuple[float, float, float]:
    """Return sum_j mean(terms_j) / mean(weights_j) with its bootstrap interval."""
    terms, weights, m = _grouped(terms), _grouped(weights), terms.shape[1]

    def statistic(means: Array) -> Array:
        return np.asarray(_shares(means[:, :m], means[:, m:]).sum(axis=1))

    value, influence = ratio(np.zeros(len(terms)), terms, weights)
    return value, *bootstrap(np.hstack([terms, weights]), statistic, influence, settings)


def _shares(terms: Array, weights: Array) -> Array:
    return np.divide(terms, weights, out=np.zeros_like(terms), where=weights > 0.0)


def effective_size(weights: Array) -> float:
    """Return (sum w)^2 / sum w^2, the number of equally weighted decisions that is as good."""
    square = float((weights**2).sum())
    return float(weights.sum()) ** 2 / square if square > 0.0 else 0.0


def cautions(effective: float, method: str, few: str = "there are few of them, so ") -> Notes:
    """Return what to know about an interval that rests on this many effective decisions."""
    if method != "betting":
        return ()
    reason = few if effective < FEW else ""
    return (f"{reason}the interval is one by betting: wide, but valid for any number of decisions",)


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
    return _bisected(lambda mean: capital(values, mean, bets)[-1] >= enough, _mean(values), 40)


def constant_lower(values: Array, risk: float) -> float:
    """Return a lower confidence bound of the mean of non-negative values whose means may differ.

    A policy's gain over a log that learns is such a mean: large at first, then smaller. Constant
    bets stay valid, since the product of 1 - b + b m_t / m is at most 1 if the m_t average m. The
    bound errs with probability at most ``risk`` over all sample sizes.
    """
    enough = math.log(1.0 / risk)
    return _bisected(lambda mean: mixture(values, mean)[-1] >= enough, _mean(values), 25)


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else 0.0


def _bisected(refuted: Callable[[float], bool], high: float, steps: int) -> float:
    """Return the smallest mean that is not refuted, given that ``high`` and above are not."""
    low = 0.0
    if high <= 0.0 or not refuted(1e-12):
        return low
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
    bets, enough = stakes(weights * values, risk), math.log(1.0 / risk)

    def refuted(mean: float) -> bool:
        gains = np.minimum(bets, _MOST / mean) * weights * (values - mean)
        return bool(np.log1p(gains).sum() >= enough)

    return _bisected(refuted, 1.0, 40)
