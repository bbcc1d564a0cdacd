"""Contenders: the few of very many candidates that may be chosen.

The mean and the norm of a row bound its score: its width lies between sqrt(smallest eigenvalue of
M^-1) |x| and sqrt(largest) |x|. A pass over all candidates finds those whose bound reaches the
best, and only these are scored exactly. The result is that of scoring them all.
"""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from longrank import checks, kernels
from longrank.arrays import Flags, Indices, Vector
from longrank.features.tabular import Numbers
from longrank.learners.base import Belief
from longrank.planning.round import Greedy, Round, scores_of

LARGE = 1 << 18  # numbers in an array; from here on the pass costs more than all else
PART = 1 << 15  # candidates in a part, which a thread scans before it takes the next
MANY = 1 << 10  # candidates, or fewer, are all planned with
TIED = 1 << 12  # candidates expanded at once where cheap bounds cannot separate them
THREADS = min(os.cpu_count() or 1, 8)  # the kernels release the GIL
_ROUNDING = 1e-11  # relative; of the bounds of one pass
_SLACK = 1e-9  # relative; of bounds that are compared as probabilities

T = TypeVar("T")
Screened = tuple[Vector, Indices, Vector]  # best lower bounds, items, their upper bounds


def find_best(
    rows: NDArray[np.floating], belief: Belief, bonus: float, count: int, checked: bool = True
) -> Greedy:
    """Choose the best ``count`` rows by their scores; rows that were not ``checked`` are."""
    weights, inverse, ceiling, _ = belief

    def best(some: Indices) -> Greedy:
        whole = some[-1] - some[0] + 1 == len(some)
        own = rows[some[0] : some[-1] + 1] if whole else rows[some]
        tries = min(count, len(some))
        return kernels.greedy_plain(own, weights, inverse, bonus, ceiling, tries)

    if rows.size < LARGE:
        return kernels.greedy_plain(rows, weights, inverse, bonus, ceiling, count)
    some = _reaching_rows(rows, belief, bonus, count, checked)
    if len(some) > PART:  # many tie: part by part, for the sake of memory
        parts = np.array_split(some, -(-len(some) // max(PART, 2 * count)))
        with ThreadPoolExecutor(THREADS) as pool:
            orders = pool.map(lambda part: best(part)[0], parts)
            some = np.concatenate([part[np.sort(o)] for part, o in zip(parts, orders, strict=True)])
    if len(some) == 0:
        return kernels.greedy_plain(rows[:0], weights, inverse, bonus, ceiling, 0)
    order, chosen, means, scores = best(some)
    return some[order], chosen, means, scores


def _reaching_rows(
    rows: NDArray[np.floating], belief: Belief, bonus: float, count: int, checked: bool
) -> Indices:
    """Find rows that may be among the best: a row is out if ``count`` others certainly beat it."""
    smallest, largest = eigenvalue_bounds(belief.inverse)
    low, high = sorted((bonus * math.sqrt(smallest), bonus * math.sqrt(largest)))
    most = abs(bonus) * math.sqrt(largest) + float(np.abs(belief.weights).sum())
    slack, ceiling = _ROUNDING * (1.0 + most), belief.ceiling  # of a row of norm 1
    if ceiling < math.inf:
        ceiling -= slack * (math.sqrt(kernels.worst_row(rows)[1]) if checked else 1.0)

    def scan(start: int) -> tuple[float, int, Vector, Indices, Vector]:
        row, square, sure, some, bounds = kernels.scan(
            rows[start : start + PART], belief.weights, low - slack, high + slack, ceiling, count
        )
        bad = square if square == square else np.inf
        return bad, row + start, sure, some + start, bounds.copy()

    parts = _in_parts(scan, len(rows))
    if not checked:
        square, row = max(part[:2] for part in parts)
        checks.rows(rows, row, square, unit=True)
    sure = np.sort(np.concatenate([part[2] for part in parts]))
    bar = min(float(sure[-count]), ceiling) if count else math.inf
    return np.concatenate([some[bounds >= bar] for *_, some, bounds in parts])


def find_contenders(
    dealt: Round, belief: Belief, bonus: Any, few: int, widest: Vector | None = None
) -> Indices | None:
    """Find candidates with prices among which the best plan is, in ascending order.

    They contain the ``few`` best at every worth of a success (``docs/planning.md``), so that
    foresight has a choice. None if all candidates are contenders.

    Parameters
    ----------
    widest
        The largest bonus that each may still get, where it is not ``bonus``. Those whose bonus may
        grow are among the contenders, and so is the leader.
    """
    features, candidates, payoffs, count, _ = dealt
    if count == 0 or len(candidates) <= max(MANY, few):
        return None
    fill: Callable[..., None]
    given: tuple[Any, ...]
    if isinstance(candidates, Numbers):
        fill, given = kernels.outline_tabular, (candidates.items, candidates.view)
    elif (rows := features.rows(candidates)).size >= LARGE:
        fill, given = kernels.outline_plain, (rows,)
    else:
        return None
    most = bonus if widest is None else widest
    low, high = _bound_scores(_outline(fill, *given, belief.weights), belief, bonus, most)
    some = _narrow(low, high, belief.link, payoffs.prices(len(candidates)), count, few)
    if widest is not None:  # candidates whose bonus may grow, and the leader
        some = np.union1d(some, np.flatnonzero((high >= low.max()) | (widest > bonus)))
    if len(some) <= (few if few > count else TIED):  # foresight scores them at each position
        return some
    low, high = np.empty(len(some)), np.empty(len(some))
    for start in range(0, len(some), TIED):
        own, part = some[start : start + TIED], slice(start, start + TIED)
        means, widths = belief.score(features.along(candidates, own))
        added = bonus[own] if isinstance(bonus, np.ndarray) else bonus
        low[part] = high[part] = scores_of(means, widths, added, belief.ceiling)
        if widest is not None:
            high[part] = scores_of(means, widths, widest[own], belief.ceiling)
    left = np.zeros(len(some), np.bool_)
    if widest is not None:
        left = widest[some] > bonus
        left[np.argmax(low)] = True
    paid = payoffs.after(0, some).prices(len(some))
    left[_narrow(low, high, belief.link, paid, count, few)] = True
    return some[left]


def _bound_scores(
    outline: tuple[Vector, Vector], belief: Belief, bonus: Any, most: Any
) -> tuple[Vector, Vector]:
    """Bound scores with bonuses up to ``most``: how wide a row can be follows from its norm."""
    means, squares = outline
    largest, norms = _largest_eigenvalue(belief.inverse), np.sqrt(squares)
    slack = _SLACK * (1.0 + norms * math.sqrt(float(belief.weights @ belief.weights)))
    widths = (1.0 + _SLACK) * math.sqrt(largest) * norms
    return (
        scores_of(means - slack, widths, np.minimum(bonus, 0.0), belief.ceiling),
        scores_of(means + slack, widths, np.maximum(most, 0.0), belief.ceiling),
    )


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


def find_looked_at(
    candidates: Numbers, looks: Flags, belief: Any, settings: kernels.Optimism, few: int
) -> Indices:
    """Find the candidates that may be among the best ``few``, and those that are looked at.

    Exact means, with bounds on the widths, rule out most of them.
    """
    items, view = candidates.items, candidates.view

    def scan(start: int) -> Screened:
        part = slice(start, start + PART)
        best, some, bounds = kernels.screen_looking(
            items[part], view, belief.weights, looks[part], settings, few
        )
        return best, some + start, bounds.copy()

    def best(part: Indices) -> Indices:
        columns = kernels.expand_columns(items[part], view)
        given = belief.weights, belief.inverse, looks[part], settings, few
        return part[kernels.strongest_looking(columns, *given)]

    some = _reaching(_in_parts(scan, len(items)), few)
    if len(some) > TIED:
        some = np.concatenate([best(part) for part in np.split(some, range(TIED, len(some), TIED))])
    return some


def _reaching(screened: list[Screened], few: int) -> Indices:
    """Return the items whose upper bound reaches ``few`` of the lower bounds."""
    bar = np.partition(np.concatenate([best for best, *_ in screened]), -few)[-few]
    return np.concatenate([some[bounds >= bar] for _, some, bounds in screened])


def _in_parts(scan: Callable[[int], T], size: int) -> list[T]:
    """Scan the parts in parallel; a single one in this thread, which is cheaper."""
    if size <= PART:
        return [scan(0)]
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(scan, range(0, size, PART)))


def _outline(
    fill: Callable[..., None], items: NDArray[np.floating], *given: Any
) -> tuple[Vector, Vector]:
    """Compute the means and the squared norms of the rows of items."""
    means, squares = np.empty(len(items)), np.empty(len(items))

    def scan(start: int) -> None:
        part = slice(start, start + PART)
        fill(items[part], *given, means[part], squares[part])

    _in_parts(scan, len(items))
    return means, squares


def eigenvalue_bounds(matrix: NDArray[np.float64]) -> tuple[float, float]:
    """Bound the eigenvalues of a positive semidefinite matrix from below and from above.

    Gershgorin's circles, and the Frobenius norm: good enough to rule out nearly all items, and
    without the threads of LAPACK, whose busy waiting would delay ours.
    """
    diagonal = np.diagonal(matrix)
    around = np.abs(matrix).sum(axis=1) - np.abs(diagonal)
    largest = min(float((diagonal + around).max()), math.sqrt(float((matrix * matrix).sum())))
    return max(float((diagonal - around).min()), 0.0), max(largest, 0.0)


def _largest_eigenvalue(matrix: NDArray[np.float64]) -> float:
    """Bound the eigenvalues of a covariance from above, by the norm of its fourth power."""
    size = float(np.abs(matrix).max(initial=0.0))
    if size == 0.0:
        return 0.0
    square = (matrix / size) @ (matrix / size)
    fourth = square @ square
    by_norm = size * math.pow((fourth * fourth).sum(), 0.125)
    return min(float(eigenvalue_bounds(matrix)[1]), by_norm)
