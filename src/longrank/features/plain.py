"""Items as they are: independent outcomes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels
from longrank.features.base import Features, Greedy, Prepared
from longrank.packing import Tree


class Plain(Features):
    """The row of an item is the item, whatever stands above it (the paper's Algorithm 1)."""

    def prepare(self, items: ArrayLike, dim: int | None) -> Prepared:
        return checks.items(items, dim, unit=True)

    def greedy(
        self,
        prepared: Prepared,
        weights: NDArray[np.float64],
        inverse: NDArray[np.float64],
        bonus: float,
        ceiling: float,
        count: int,
    ) -> Greedy:
        return kernels.greedy_plain(prepared, weights, inverse, bonus, ceiling, count)

    def along(self, prepared: Prepared, order: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.ascontiguousarray(prepared[order], np.float64)

    def state(self) -> Tree:
        return {"kind": "plain"}

    @classmethod
    def from_state(cls, state: Tree) -> Plain:  # noqa: ARG003
        return cls()

    def __repr__(self) -> str:
        return "Plain()"
