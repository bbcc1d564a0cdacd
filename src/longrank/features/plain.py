"""Items as they are: independent outcomes."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels
from longrank.belief import Belief
from longrank.features.base import Features, Greedy, Outline, Prepared
from longrank.features.many import LARGE, Many, outline
from longrank.packing import Tree
from longrank.payoffs import Payoffs


class Plain(Features):
    """Use items as rows, whatever is above them (the paper's Algorithm 1)."""

    max_square = checks.UNIT
    independent = True
    kind = "plain"

    def prepare(self, items: ArrayLike, dim: int | None, lazy: bool = False) -> Prepared:
        array = checks.shaped(items, dim)
        many = array.size >= LARGE
        if not (many and lazy):
            row, square = kernels.worst_row(array)
            if not square <= checks.UNIT:
                checks.rows(array, row, square, unit=True)
        return Many(array) if many else array

    def greedy(self, prepared: Prepared, belief: Belief, count: int) -> Greedy:
        if isinstance(prepared, Many):
            return prepared.greedy(belief, count)
        weights, inverse, bonus, ceiling, _ = belief
        return kernels.greedy_plain(prepared, weights, inverse, bonus, ceiling, count)

    def decide(
        self,
        prepared: Prepared,
        belief: Belief,
        payoffs: Payoffs,
        minimum: int,
        chosen: NDArray[np.int64],
        numbers: NDArray[np.float64],
    ) -> int:
        if type(prepared) is Many:
            return super().decide(prepared, belief, payoffs, minimum, chosen, numbers)
        weights, inverse, bonus, ceiling, link = belief
        return kernels.decide_plain(
            prepared,
            weights,
            inverse,
            bonus,
            ceiling,
            payoffs.rewards,
            payoffs.losses,
            link,
            minimum,
            chosen,
            numbers,
            payoffs.patience,
        )

    def along(self, prepared: Prepared, order: NDArray[np.int64]) -> NDArray[np.float64]:
        items = prepared.items if isinstance(prepared, Many) else prepared
        return np.ascontiguousarray(items[order], np.float64)

    def some(self, prepared: Prepared, chosen: NDArray[np.int64]) -> Prepared:
        return (prepared.items if isinstance(prepared, Many) else prepared)[chosen]

    def outline(self, prepared: Prepared, weights: NDArray[np.float64]) -> Outline | None:
        if not isinstance(prepared, Many):
            return None
        return outline(kernels.outline_plain, prepared.items, weights)

    def state(self) -> Tree:
        return {}

    @classmethod
    def from_state(cls, state: Tree) -> Self:  # noqa: ARG003
        return cls()
