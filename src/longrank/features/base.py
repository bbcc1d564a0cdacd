"""The interface of a feature map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import kernels
from longrank.packing import Tree

Prepared = Any  # has a length; what it is, is each map's own affair
Greedy = tuple[
    NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
]  # order, rows, means, scores along it


class Features(ABC):
    """Turns the items of a round into the rows that a learner scores and learns from.

    A row may depend on the items above it, so choosing is greedy: at each position the item with
    the best score given those already chosen. Where rows do not depend on the prefix this is
    sorting.

    Attributes
    ----------
    independent
        Whether the row of an item is the same whatever stands above it.
    """

    independent: bool = False

    @abstractmethod
    def prepare(self, items: ArrayLike, dim: int | None, lazy: bool = False) -> Prepared:
        """Check the items, and bring them into the form that the other methods take.

        ``dim`` is the length of the rows that the learner expects (None: any). With ``lazy``
        the numbers of very many items may be left for :meth:`greedy` to check as it reads them.
        """

    @abstractmethod
    def greedy(
        self,
        prepared: Prepared,
        weights: NDArray[np.float64],
        inverse: NDArray[np.float64],
        bonus: float,
        ceiling: float,
        count: int,
    ) -> Greedy:
        """The ``count`` best items by min(mean + bonus * width, ceiling), one after the other."""

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
        """As much of :meth:`greedy`'s order as is worth playing, but at least so many items.

        Returns how many, and fills a receipt: see :func:`longrank.kernels.decide`.
        """
        greedy = self.greedy(prepared, weights, inverse, bonus, ceiling, len(chosen))
        return kernels.decide(*greedy, rewards, losses, link, least, chosen, numbers)

    @abstractmethod
    def along(self, prepared: Prepared, order: NDArray[np.int64]) -> NDArray[np.float64]:
        """The rows of the items in a given order. Shape (len(order), dim)."""

    def rows(self, prepared: Prepared) -> NDArray[np.float64]:
        """The rows of all items as they come, where they are independent."""
        return self.along(prepared, np.arange(len(prepared)))

    def compiled_choice(self, items: NDArray[np.float64]) -> kernels.Choice | None:  # noqa: ARG002
        """The items of many rounds, prepared, and how compiled runs choose among them.

        None where it is not compiled; subclasses do not inherit it.
        """
        return None

    @abstractmethod
    def state(self) -> Tree:
        """All that is needed to build it again, as a tree for :mod:`longrank.packing`."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Tree) -> Features:
        """Build it again."""
