"""The paper's constants and bounds, as printed.

`exploration` is alpha(b, d, T, delta), `regret_bound` is Theorem 1, `approximation_ratio` is
gamma(s) of the Lemma on Greedy, `remark_budget` is the b of the Remark. The proof's own constants
are larger in three places, and its slope z = 1 is loose (the logistic curve has 1/4): see the page
on departures.
"""

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from longrank import checks
from longrank.errors import InvalidInput
from longrank.links import LOGISTIC, Link
from longrank.payoffs import Payoffs

_GREEDY = 1.0 - 1.0 / math.e  # greedy's share of the best of a monotone submodular function
_MAX = sys.float_info.max


def _constants(radius: float, link: Link) -> tuple[float, float, float]:
    """Compute c_sigma / c_sigma', 1 / c_sigma' and the odds c_sigma / (1 - c_sigma).

    1 - c_sigma is sigma(-radius): the difference would cancel.
    """
    c, c1 = c_sigma(radius, link), c_sigma_prime(radius, link)
    rest = float(link.probability(-radius))
    if min(c1, rest) < 1.0 / _MAX:
        raise _overflow(radius)
    return c / c1, 1.0 / c1, c / rest


def _overflow(radius: float) -> InvalidInput:
    return InvalidInput("radius", "be small enough for a finite bound", radius)


def c_sigma(radius: float, link: Link = LOGISTIC) -> float:
    """Compute c_sigma, the largest probability of scores in [-radius, radius].

    >>> round(c_sigma(1.0), 6)  # e / (1 + e)
    0.731059
    """
    return float(link.probability(checks.real("radius", radius, above=0.0)))


def c_sigma_prime(radius: float, link: Link = LOGISTIC) -> float:
    """Compute c_sigma', the smallest slope of the link over scores in [-radius, radius].

    >>> round(c_sigma_prime(1.0), 6)
    0.196612
    """
    return float(link.slope(checks.real("radius", radius, above=0.0)))


def exploration(
    budget: int, dim: int, horizon: int, delta: float, radius: float = 1.0, link: Link = LOGISTIC
) -> float:
    """Compute alpha(b, d, T, delta), the factor of the squared width in Algorithms 1 and 2.

    As printed in the paper: its proof that the bonus suffices with probability 1 - delta needs
    somewhat larger constants (departure 12). In practice far less is enough:

    >>> round(exploration(budget=10, dim=10, horizon=500, delta=0.05))
    14088
    """
    b, d, t = (
        checks.whole(name, value, minimum=1)
        for name, value in (("budget", budget), ("dim", dim), ("horizon", horizon))
    )
    checks.real("delta", delta, above=0.0)
    if delta >= 1.0 / math.e:
        raise InvalidInput("delta", "be below 1/e", delta)
    per_slope, steepness, odds = _constants(radius, link)
    ratio = per_slope * per_slope
    inner = t * odds + 4.0 * math.log(4.0 * (t + 1) / delta)
    alpha = (
        2.0 * b * radius**2
        + ratio * d * math.log(1.0 + 2.0 / b * inner)
        + 2.0
        * (12.0 * ratio + 36.0 * (1.0 + radius) * steepness)
        * math.log(2.0 * b * (t + 4) / delta)
        + 20.0 * radius**2 * math.log(2.0 * b * d * (t + 1) / delta)
    )
    if alpha > _MAX:
        raise _overflow(radius)
    return alpha


def regret_bound(
    budget: int,
    dim: int,
    horizon: int,
    delta: float,
    radius: float = 1.0,
    link: Link = LOGISTIC,
    slope: float = 1.0,
) -> float:
    """Compute Theorem 1's bound on the cumulative regret of Algorithm 1, as printed.

    It is stated to hold with probability 1 - delta, for an alpha whose proof needs larger constants
    (see :func:`exploration`). ``slope`` is the paper's z, any bound on the slope of the link;
    rewards are in [0, 1] and losses in [-1, 0]. For Algorithm 2, with ``dim`` the number of topics,
    it bounds the scaled regret.
    """
    z = checks.real("slope", slope, above=0.0)
    alpha = exploration(budget, dim, horizon, delta, radius, link)
    odds = _constants(radius, link)[2]
    root = math.sqrt(math.e * odds) * math.sqrt(horizon) * math.sqrt(alpha)
    bound = 4.0 * z * root * dim * math.log(1.0 + horizon)
    if bound > _MAX:
        raise _overflow(radius)
    return bound


def remark_budget(
    budget: int, dim: int, horizon: int, delta: float, radius: float = 1.0, link: Link = LOGISTIC
) -> int:
    """Find the b of the Remark: the ``max_budget`` (at least ``budget``) with the smallest bound.

    Minimises b D^2 + (c_sigma / c_sigma')^2 d log(1 + (T e^D + log(T / delta)) / b) over whole
    b, where e^D stands for c_sigma / (1 - c_sigma) of the link.
    """
    minimum = checks.whole("budget", budget, minimum=1)
    per_slope, _, odds = _constants(radius, link)
    weight = per_slope * per_slope * checks.whole("dim", dim, minimum=1)
    t = checks.whole("horizon", horizon, minimum=1)
    checks.real("delta", delta, above=0.0, maximum=1.0)
    inner = t * odds + math.log(t / delta)
    if max(weight, inner) > _MAX:
        raise _overflow(radius)

    def bound(b: int) -> float:
        return b * radius**2 + weight * math.log(1.0 + inner / b)

    # The bound is convex in b: D^2 = weight inner / (b (b + inner)) at its minimum.
    share = weight / radius / radius
    root = 2.0 * share / (math.sqrt(1.0 + 4.0 * share / inner) + 1.0)
    low = max(minimum, math.floor(root))
    return min((low, low + 1), key=bound)


@dataclass(frozen=True)
class Approximation:
    """The ratio gamma(s), and which of its conditions hold.

    ``ratio`` is a guarantee only if all three are true: Greedy then earns at least ``ratio``
    times the expected reward of the best sequence of length s.
    """

    ratio: float
    weights_non_negative: bool
    weights_small: bool
    payoffs_mild: bool

    @property
    def holds(self) -> bool:
        return self.weights_non_negative and self.weights_small and self.payoffs_mild


def approximation_ratio(
    length: int,
    payoffs: Payoffs,
    weights: ArrayLike,
    radius: float = 1.0,
    link: Link = LOGISTIC,
    slope: float = 1.0,
) -> Approximation:
    """Compute gamma(s) of Greedy against the best sequence of length s, and check its conditions.

    ``weights`` is the true u over the topics, ``radius`` the D that bounds all scores.
    """
    s = checks.whole("length", length)
    if s > payoffs.budget:
        raise InvalidInput("length", f"be at most the payoffs' budget {payoffs.budget}", s)
    u = checks.vector("weights", weights)
    z = checks.real("slope", slope, above=0.0)
    if s <= 1:
        return Approximation(1.0, True, True, True)
    c, c1 = c_sigma(radius, link), c_sigma_prime(radius, link)
    share = max(1.0 / s, 1.0 - (s - 1) / 2.0 * c)
    first, last, loss = payoffs.rewards[0], payoffs.rewards[s - 1], payoffs.losses[s]
    spread = first - loss
    ratio = share * _GREEDY * c1 / z * ((last - loss) / spread if spread > 0.0 else 1.0)
    steep = c1 / z
    largest = math.sqrt(len(u)) * (1.0 - _GREEDY * steep) / (6.0 * z * (1.0 - _GREEDY * steep**2))
    mild = s * (last - loss) * share * (1.0 - _GREEDY * c1 / z) + 3.0 * loss * (1.0 - ratio)
    return Approximation(
        float(ratio),
        bool((u >= 0.0).all()),
        bool(np.abs(u).sum() <= largest),
        bool(mild >= 0.0),
    )
