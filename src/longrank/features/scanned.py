"""Very many items: one pass over them, and exact scores for the few that can win."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from longrank import checks, kernels
from longrank.features.base import Greedy

PART = 1 << 16  # contenders that are scored at once
LARGE = 1 << 18  # numbers in an array; from here on the pass costs more than all else

Vector = NDArray[np.float64]
T = TypeVar("T")


class Scanned:
    """Items that were checked and scored for their means in one pass.

    The width of an item x lies between sqrt(smallest eigenvalue of M^-1) |x| and
    sqrt(largest) |x|, so that mean and norm bound its score; only items whose bound reaches the
    scores of ``count`` others are scored exactly. The result is that of scoring them all.
    """

    def __init__(self, items: NDArray[np.floating], weights: Vector) -> None:
        self.items = items
        self.means, self.squares = np.empty(len(items)), np.empty(len(items))

        def scan(part: slice) -> tuple[float, int]:
            row, square = kernels.scan_rows(
                items[part], weights, self.means[part], self.squares[part]
            )
            return (square if square == square else np.inf), row + part.start

        square, row = max(_in_threads(scan, len(items)))
        checks.rows(items, row, square, unit=True)
        self.reach = float(np.abs(weights).sum())  # no mean is larger

    def __len__(self) -> int:
        return len(self.items)

    def greedy(
        self,
        weights: Vector,
        inverse: NDArray[np.float64],
        bonus: float,
        ceiling: float,
        count: int,
    ) -> Greedy:
        """The best ``count`` by min(mean + bonus * width, ceiling)."""
        eigenvalues = np.clip(np.linalg.eigvalsh(inverse)[[0, -1]], 0.0, None)
        low, high = (bonus * np.sqrt(eigenvalues)).tolist()
        some = self._contenders(low, high, ceiling, count) if count else np.empty(0, np.int64)

        def best(part: NDArray[np.int64]) -> Greedy:
            rows = np.ascontiguousarray(self.items[part])
            tries = min(count, len(part))
            order, chosen, means, scores = kernels.greedy_plain(
                rows, weights, inverse, bonus, ceiling, tries
            )
            return part[order], chosen, means, scores

        if len(some) > max(PART, 2 * count):  # many tie: part by part, for the sake of memory
            parts = np.array_split(some, -(-len(some) // max(PART, 2 * count)))
            some = np.sort(np.concatenate([best(part)[0] for part in parts]))
        return best(some)

    def _contenders(self, low: float, high: float, ceiling: float, count: int) -> NDArray[np.int64]:
        """Who can be among the best: an item is out if ``count`` others are certain to beat it."""

        def sure(part: slice) -> Vector:
            return kernels.sure_scores(self.means[part], self.squares[part], low, count)

        def able(part: slice) -> NDArray[np.int64]:
            found = kernels.contenders(self.means[part], self.squares[part], high, bar)
            found += part.start
            return found

        scores = np.concatenate(_in_threads(sure, len(self)))
        bar = min(float(np.sort(scores)[-count]), ceiling)
        bar -= 1e-11 * (1.0 + abs(bar) + high + self.reach)  # bounds carry rounding errors
        return np.concatenate(_in_threads(able, len(self)))


def _in_threads(work: Callable[[slice], T], size: int) -> list[T]:
    """Work on parts of a range at once; the kernels let go of the interpreter."""
    parts = min(os.cpu_count() or 1, 8)
    edges = [size * i // parts for i in range(parts + 1)]
    slices = [slice(a, b) for a, b in itertools.pairwise(edges)]
    with ThreadPoolExecutor(parts) as pool:
        return list(pool.map(work, slices))
