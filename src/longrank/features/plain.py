"""Items as they are: independent outcomes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels
from longrank.features.base import Features, Greedy, Prepared
from longrank.features.many import LARGE, Many
from longrank.packing import Tree


class Plain(Features):
    """The row of an item is the item, whatever stands above it (the paper's Algorithm 1)."""

    independent = True

    def prepare(self, items: ArrayLike, dim: int | None, lazy: bool = False) -> Prepared:
        array = checks.shaped(items, dim)
        many = array.size >= LARGE
        if not (many and lazy):
            row, square = kernels.worst_row(array)
            if not square <= checks.UNIT:
                checks.rows(array, row, square, unit=True)
        return Many(array) if many else array

    def greedy(
        self,
        prepared: Prepared,
        weights: NDArray[np.float64],
        inverse: NDArray[np.float64],
        bonus: float,
        ceiling: float,
        count: int,
    ) -> Greedy:
        if isinstance(prepared, Many):
            return prepared.greedy(weights, inverse, bonus, ceiling, count)
        return kernels.greedy_plain(prepared, weights, inverse, bonus, ceiling, count)

    def decide(
        self,
        prepared: Prepared,
        weights: NDArray[np.float64],
        inverse: NDArray[np.float64],
        bonus: float,
        ceiling: float,
        rewards: NDArray[np.float64],
        losses: NDArray[np.float64],
        link: int,
        least: int,
        chosen: NDArray[np.int64],
        numbers: NDArray[np.float64],
    ) -> int:
        decide = super().decide if type(prepared) is Many else kernels.decide_plain
        return decide(
            prepared,
            weights,
            inverse,
            bonus,
            ceiling,
            rewards,
            losses,
            link,
            least,
            chosen,
            numbers,
        )

    def along(self, prepared: Prepared, order: NDArray[np.int64]) -> NDArray[np.float64]:
        items = prepared.items if isinstance(prepared, Many) else prepared
        return np.ascontiguousarray(items[order], np.float64)

    def compiled_choice(self, items: NDArray[np.float64]) -> kernels.Choice:
        row, square = kernels.worst_row(items)
        checks.rows(items, row, square, unit=True)
        longest = math.sqrt(square)
        return kernels.Choice(items, kernels.greedy_plain, kernels.rows_along, longest)

    def state(self) -> Tree:
        return {"kind": "plain"}

    @classmethod
    def from_state(cls, state: Tree) -> Plain:  # noqa: ARG003
        return cls()

    def __repr__(self) -> str:
        return "Plain()"
