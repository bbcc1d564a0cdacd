"""Very many items: one pass over them, and exact scores for the few that can win."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from longrank import checks, kernels
from longrank.features.base import Greedy

PART = 1 << 15  # items whose contenders are scored at once
THREADS = min(os.cpu_count() or 1, 8)  # the kernels let go of the interpreter
LARGE = 1 << 18  # numbers in an array; from here on the pass costs more than all else

Vector = NDArray[np.float64]


class Scanned:
    """Items that were checked and scored for their means in one pass.

    The width of an item x lies between sqrt(smallest eigenvalue of M^-1) |x| and
    sqrt(largest) |x|, so that mean and norm bound its score; only items whose bound reaches the
    scores of ``count`` others are scored exactly. The result is that of scoring them all.
    """

    def __init__(self, items: NDArray[np.floating], weights: Vector) -> None:
        self.items, self.weights = items, weights
        self.means, self.squares = np.empty(len(items)), np.empty(len(items))

        def scan(part: slice) -> tuple[float, int]:
            row, square = kernels.scan_rows(
                items[part], weights, self.means[part], self.squares[part]
            )
            return (square if square == square else np.inf), row + part.start

        with ThreadPoolExecutor(THREADS) as pool:
            square, row = max(pool.map(scan, _slices(len(items), -(-len(items) // THREADS))))
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
        if weights is not self.weights:
            return Scanned(self.items, weights).greedy(weights, inverse, bonus, ceiling, count)
        eigenvalues = np.clip(np.linalg.eigvalsh(inverse)[[0, -1]], 0.0, None)
        low, high = (bonus * np.sqrt(eigenvalues)).tolist()
        slices = _slices(len(self), max(PART, 2 * count))

        def sure(part: slice) -> Vector:
            return kernels.sure_scores(self.means[part], self.squares[part], low, count)

        def best(part: slice) -> NDArray[np.int64]:
            some = kernels.contenders(self.means[part], self.squares[part], high, bar)
            whole = len(some) == part.stop - part.start
            rows = self.items[part] if whole else self.items[part][some]
            tries = min(count, len(some))
            order = kernels.greedy_plain(rows, weights, inverse, bonus, ceiling, tries)[0]
            found: NDArray[np.int64] = some[order] + part.start
            return found

        finalists = np.empty(0, np.int64)
        if count:
            with ThreadPoolExecutor(THREADS) as pool:
                scores = np.concatenate(list(pool.map(sure, slices)))
                bar = min(float(np.sort(scores)[-count]), ceiling)
                bar -= 1e-11 * (1.0 + abs(bar) + high + self.reach)  # bounds carry rounding errors
                finalists = np.sort(np.concatenate(list(pool.map(best, slices))))
        order, rows, means, scores = kernels.greedy_plain(
            self.items[finalists], weights, inverse, bonus, ceiling, count
        )
        return finalists[order], rows, means, scores


def _slices(size: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]
