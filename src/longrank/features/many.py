"""Very many items: one pass over them, and exact scores for the few that can win."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank import checks, kernels
from longrank.belief import Belief
from longrank.features.base import Greedy, Outline

LARGE = 1 << 18  # numbers in an array; from here on the pass costs more than all else
PART = 1 << 15  # contenders that are scored at once
TIED = 1 << 12  # items that cannot be told apart cheaply are expanded so many at once
THREADS = min(os.cpu_count() or 1, 8)  # the kernels let go of the interpreter
_ROUNDING = 1e-11  # relative; of bounds

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]
Screened = tuple[Vector, Indices, Vector]  # best lower bounds, items, their upper bounds


class Many:
    """Items that are checked and ranked in one pass.

    The width of an item x lies between sqrt(smallest eigenvalue of M^-1) |x| and
    sqrt(largest) |x|, so that mean and norm bound its score; only items whose bound reaches the
    scores of ``count`` others are scored exactly. The result is that of scoring them all.
    """

    def __init__(self, items: NDArray[np.floating]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def greedy(self, belief: Belief, count: int) -> Greedy:
        """Choose the best ``count`` by their scores."""
        weights, inverse, bonus, ceiling, _ = belief

        def best(some: Indices) -> Indices:
            whole = some[-1] - some[0] + 1 == len(some)
            rows = self.items[some[0] : some[-1] + 1] if whole else self.items[some]
            tries = min(count, len(some))
            order = kernels.greedy_plain(rows, weights, inverse, bonus, ceiling, tries)[0]
            return np.sort(some[order])

        with ThreadPoolExecutor(THREADS) as pool:
            some = self._contenders(pool, belief, count)
            if len(some) > PART:  # many tie: part by part, for the sake of memory
                parts = np.array_split(some, -(-len(some) // max(PART, 2 * count)))
                some = np.concatenate(list(pool.map(best, parts)))
        order, rows, means, scores = kernels.greedy_plain(
            self.items[some], weights, inverse, bonus, ceiling, count
        )
        return some[order], rows, means, scores

    def _contenders(self, pool: ThreadPoolExecutor, belief: Belief, count: int) -> Indices:
        """Find who can be among the best: an item is out if ``count`` others certainly beat it."""
        weights, inverse, bonus, ceiling, _ = belief
        smallest, largest = eigenvalue_bounds(inverse)
        low, high = sorted((bonus * math.sqrt(smallest), bonus * math.sqrt(largest)))
        most = abs(bonus) * math.sqrt(largest) + float(np.abs(weights).sum())  # no score is larger
        slack = _ROUNDING * (1.0 + most)
        low, high = low - slack, high + slack

        def scan(start: int) -> tuple[float, int, Vector, Indices, Vector]:
            row, square, sure, some, bounds = kernels.scan(
                self.items[start : start + step], weights, low, high, ceiling - slack, count
            )
            return (square if square == square else np.inf), row + start, sure, some + start, bounds

        step = min(-(-len(self) // THREADS), 2 * PART)  # small, so that no thread has to wait
        parts = list(pool.map(scan, range(0, len(self), step)))
        square, row = max(part[:2] for part in parts)
        checks.rows(self.items, row, square, unit=True)
        sure = np.sort(np.concatenate([part[2] for part in parts]))
        bar = min(float(sure[-count]), ceiling - slack) if count else math.inf
        return np.concatenate([some[bounds >= bar] for *_, some, bounds in parts])


def eigenvalue_bounds(matrix: NDArray[np.float64]) -> tuple[float, float]:
    """What no eigenvalue of a positive semidefinite matrix falls below, and what none exceeds.

    Gershgorin's circles, and the Frobenius norm: good enough to rule out nearly all items, and
    without the threads of LAPACK, which go on to wait busily where ours should run.
    """
    diagonal = np.diagonal(matrix)
    around = np.abs(matrix).sum(axis=1) - np.abs(diagonal)
    largest = min(float((diagonal + around).max()), math.sqrt(float((matrix * matrix).sum())))
    return max(float((diagonal - around).min()), 0.0), max(largest, 0.0)


def outline(fill: Callable[..., None], items: NDArray[np.floating], *given: Any) -> Outline:
    """Compute the means and the squared norms of the rows of items, part by part."""
    means, squares = np.empty(len(items)), np.empty(len(items))

    def scan(start: int) -> None:
        part = slice(start, start + PART)
        fill(items[part], *given, means[part], squares[part])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(scan, range(0, len(items), PART)))
    return means, squares


def screen(
    items: NDArray[np.floating],
    looks: NDArray[np.bool_],
    view: kernels.View,
    belief: Belief,
    optimism: kernels.Optimism,
    few: int,
) -> Indices:
    """Find the items that can be among the best ``few``, and those that are looked at.

    A sketch of their scores rules out most of them, their exact means most of the rest.
    """
    weights, inverse = belief.weights, belief.inverse
    rough = kernels.sketch(view, weights, optimism[0], optimism[3])
    bars = [-math.inf]  # of the parts so far; the highest is as good for all of them

    def scan(start: int) -> Screened:
        part = slice(start, start + PART)
        best, some, bounds = kernels.screen_roughly(
            items[part], view, rough, looks[part], few, max(bars)
        )
        bars.append(float(best[0]))
        return best, some + start, bounds.copy()

    def scan_again(start: int) -> Screened:
        part = some[start : start + PART]
        best, kept, bounds = kernels.screen_looking(
            items[part], view, weights, looks[part], optimism, few
        )
        return best, part[kept], bounds.copy()

    some = _reaching(_in_parts(scan, len(items)), few)
    if len(some) > 2 * few:
        some = _reaching(_in_parts(scan_again, len(some)), few)
    if len(some) <= TIED:
        return some

    def best(part: Indices) -> Indices:
        columns = kernels.expand_columns(items[part], view)
        given = weights, inverse, looks[part], optimism, few
        return part[kernels.strongest_looking(columns, *given)]

    return np.concatenate([best(part) for part in np.split(some, range(TIED, len(some), TIED))])


def _in_parts(scan: Callable[[int], Screened], size: int) -> list[Screened]:
    """Scan part after part, side by side; a single one here, since starting threads costs more."""
    if size <= PART:
        return [scan(0)]
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(scan, range(0, size, PART)))


def _reaching(found: list[Screened], few: int) -> Indices:
    """Return the items whose upper bound reaches ``few`` of the lower bounds."""
    bar = np.partition(np.concatenate([best for best, *_ in found]), -few)[-few]
    return np.concatenate([some[bounds >= bar] for _, some, bounds in found])
