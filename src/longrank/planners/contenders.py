"""Contenders: of very many candidates with prices, the few that a plan can contain."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.belief import Belief
from longrank.features import Features
from longrank.features.base import Outline, Prepared
from longrank.features.many import eigenvalue_bounds
from longrank.payoffs import Payoffs

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]

MANY = 1 << 10  # so many candidates, or fewer, are all planned with
PART = 1 << 12  # candidates that are expanded and scored at once
_ROUNDING = 1e-9  # relative; of bounds


def find_contenders(
    features: Features,
    prepared: Prepared,
    belief: Belief,
    payoffs: Payoffs,
    count: int,
    few: int,
    widest: Vector | None = None,
) -> Indices | None:
    """Find candidates among which the best plan of ``count`` is, in ascending order.

    They contain the ``few`` best at every worth of a success (``docs/planning.md``), so that
    foresight has a choice. The mean and the norm of its row bound a candidate's score, so that
    only those are expanded and scored exactly for whom that is not enough. None where rows depend
    on those above, or are at hand anyway.

    Parameters
    ----------
    widest
        The largest bonus that each may still get, where it is not that of the belief. Those whose
        bonus may grow are among the contenders, and so is the leader by the belief's.
    """
    if not features.independent or count == 0 or len(prepared) <= max(MANY, few):
        return None
    outline = features.outline(prepared, belief.weights)
    if outline is None:
        return None
    most = belief.bonus if widest is None else widest
    low, high = _score_bounds(outline, belief, most)
    some = _narrow(low, high, belief.link, payoffs.prices(len(prepared)), count, few)
    if widest is not None:  # whoever may grow, or lead
        some = np.union1d(some, np.flatnonzero((high >= low.max()) | (widest > belief.bonus)))
    if len(some) <= (few if few > count else PART):  # foresight scores them at each position
        return some
    low, high = np.empty(len(some)), np.empty(len(some))
    for start in range(0, len(some), PART):
        part = slice(start, start + PART)
        rows, own = features.along(prepared, some[part]), belief.take(some[part])
        low[part] = own.hope(rows)[1]
        if widest is not None:
            high[part] = own._replace(bonus=widest[some[part]]).hope(rows)[1]
    if widest is None:
        left, high = np.zeros(len(some), np.bool_), low
    else:
        left = widest[some] > belief.bonus
        left[np.argmax(low)] = True
    paid = payoffs.after(0, some).prices(len(some))
    left[_narrow(low, high, belief.link, paid, count, few)] = True
    return some[left]


def _score_bounds(outline: Outline, belief: Belief, most: float | Vector) -> tuple[Vector, Vector]:
    """Bound scores with bonuses up to ``most``: how wide a row can be follows from its norm."""
    means, squares = outline
    largest, norms = _largest_eigenvalue(belief.inverse), np.sqrt(squares)
    slack = _ROUNDING * (1.0 + norms * math.sqrt(float(belief.weights @ belief.weights)))
    widths = (1.0 + _ROUNDING) * math.sqrt(largest) * norms
    return (
        np.minimum(means + np.minimum(belief.bonus, 0.0) * widths - slack, belief.ceiling),
        np.minimum(means + np.maximum(most, 0.0) * widths + slack, belief.ceiling),
    )


def _largest_eigenvalue(matrix: NDArray[np.float64]) -> float:
    """What no eigenvalue of a covariance exceeds: also the norm of its fourth power tells."""
    size = float(np.abs(matrix).max(initial=0.0))
    if size == 0.0:
        return 0.0
    square = (matrix / size) @ (matrix / size)
    fourth = square @ square
    by_norm = size * math.pow((fourth * fourth).sum(), 0.125)
    return min(float(eigenvalue_bounds(matrix)[1]), by_norm)


def _narrow(
    low: Vector,
    high: Vector,
    link: int,
    prices: tuple[Vector, Vector, Vector, Vector, float],
    count: int,
    few: int,
) -> Indices:
    """Find the ``few`` best at every worth, of candidates whose scores lie between bounds."""
    costs, values, rewards, losses, patience = prices
    rewards, losses = rewards[:count], losses[: count + 1]
    sure, able = kernels.probabilities(link, low), kernels.probabilities(link, high)
    # Where a success is worse than a failure, a larger chance makes a candidate worse. It is then
    # worth no try, and matters only where a plan can end.
    ends = float((rewards - losses[1:]).min())
    turn = (able - sure) * np.maximum(-(values + ends), 0.0)
    return kernels.narrow_bounds(
        sure, costs + turn, able, costs - turn, values, rewards, losses, patience, few
    )
