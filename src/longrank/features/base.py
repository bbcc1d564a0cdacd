"""The interface of a feature map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import kernels
from longrank.belief import Belief
from longrank.decision import Ranking
from longrank.packing import Tree
from longrank.parts import Part
from longrank.payoffs import Payoffs

Prepared = Any  # has a length; what it is, is each map's own affair
Greedy = tuple[
    NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
]  # order, rows, means, scores along it

Outline = tuple[NDArray[np.float64], NDArray[np.float64]]  # means and squared norms of rows


class Features(Part, ABC):
    """Base class of feature maps: turn items into the rows that a learner scores and learns from.

    A row may depend on the items above it, so choosing is greedy: at each position, the item with
    the best score given those already chosen. If rows do not depend on the prefix, this is
    sorting.

    Attributes
    ----------
    max_square
        The largest squared norm of a row; receipts with longer rows are rejected.
    independent
        Whether the row of an item does not depend on the items above it.
    sparse
        Whether rows are :class:`longrank.rows.SparseRows` of records, for a learner that takes
        them.
    grows
        Whether rows become longer as more is known: :meth:`adapt` returns their current length,
        ``first_length`` is their initial length, and ``settled`` says whether growth has ended.
    """

    max_square: float = 1e300
    independent: bool = False
    sparse: bool = False
    grows: bool = False
    settled: bool = True
    first_length: int = 0

    @abstractmethod
    def prepare(self, items: ArrayLike, dim: int | None, lazy: bool = False) -> Prepared:
        """Validate the items and convert them to the form that the other methods take.

        ``dim`` is the length of the rows that the learner expects (None: any). With ``lazy``,
        :meth:`greedy` may validate very many items as it reads them.
        """

    def check(self, items: ArrayLike) -> None:
        """Validate items as :meth:`prepare` does."""
        self.prepare(items, None)

    @abstractmethod
    def greedy(self, prepared: Prepared, belief: Belief, count: int) -> Greedy:
        """Choose the ``count`` best items by their scores, one after the other."""

    def decide(
        self,
        prepared: Prepared,
        belief: Belief,
        payoffs: Payoffs,
        minimum: int,
        chosen: NDArray[np.int64],
        numbers: NDArray[np.float64],
    ) -> int:
        """Truncate the greedy order at the best length (at least ``minimum`` items).

        Returns the length, and fills a receipt: see :func:`longrank.kernels.decide`.
        """
        greedy, link = self.greedy(prepared, belief, len(chosen)), belief.link
        rewards, losses, patience = payoffs.rewards, payoffs.losses, payoffs.patience
        return kernels.decide(*greedy, rewards, losses, link, minimum, chosen, numbers, patience)

    @abstractmethod
    def along(self, prepared: Prepared, order: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the rows of the items in a given order. Shape (len(order), dim)."""

    def price(self, payoffs: Payoffs, prepared: Prepared) -> Payoffs:
        """Return the payoffs of the round, with the costs and values of the items."""
        if payoffs.costs is not None:
            payoffs.check_prices(len(prepared))
        return payoffs

    def without_cost(self, prepared: Prepared, payoffs: Payoffs) -> NDArray[np.bool_]:
        """Return the items whose cost is given neither by the payoffs nor by the items."""
        return np.full(len(prepared), payoffs.costs is None)

    def rows(self, prepared: Prepared) -> NDArray[np.float64]:
        """Return the rows of all items in the given order, if they are independent."""
        return self.along(prepared, np.arange(len(prepared)))

    def some(self, prepared: Prepared, chosen: NDArray[np.int64]) -> Prepared:
        """Return a subset of the prepared items, for features with an :meth:`outline`."""
        raise NotImplementedError(f"{type(self).__name__} has no outline")

    def outline(
        self,
        prepared: Prepared,  # noqa: ARG002
        weights: NDArray[np.float64],  # noqa: ARG002
    ) -> Outline | None:
        """Return the means and squared norms of all rows, if there are many.

        These bound the scores without computing all rows. None by default.
        """
        return None

    def next_rows(self, prepared: Prepared, prefix: Sequence[int]) -> Any:
        """Return the row that every item would have if it came next after ``prefix``.

        If rows depend on the items above, the rows of the prefix itself are 0.
        """
        if self.independent:
            return self.rows(prepared)
        first = self.along(prepared, np.zeros(min(len(prepared), 1), np.int64))
        rows = np.zeros((len(prepared), first.shape[1]))
        for item in set(range(len(prepared))) - set(prefix):
            rows[item] = self.along(prepared, np.array([*prefix, item], np.int64))[-1]
        return rows

    def receipt(
        self,
        prepared: Prepared,  # noqa: ARG002
        order: NDArray[np.int64],
        numbers: NDArray[np.float64],
        belief: Belief,
    ) -> Ranking:
        """Return the receipt of a decision that :meth:`decide` filled."""
        return Ranking.from_buffer(order, numbers, len(belief.weights))

    def recall(self, ranking: Ranking, count: int) -> Any:
        """Return the first ``count`` rows of a receipt, for the learner."""
        return ranking.rows(count)

    def carried(self, prepared: Prepared) -> NDArray[np.float64] | None:  # noqa: ARG002
        """Return the candidates that a receipt carries for :meth:`adapt`; none by default."""
        return None

    def adapt(self, ranking: Ranking) -> int:
        """Learn from the candidates that a receipt carries; return the new length of a row."""
        raise NotImplementedError(f"{type(self).__name__} does not grow")

    def observe(self, rows: Any) -> None:
        """Learn from observed rows what the map itself needs; nothing by default."""

    def view(self) -> Self:
        """Return a copy that shares nothing that :meth:`observe` writes."""
        return self

    @abstractmethod
    def state(self) -> Tree:
        """Return everything needed to rebuild it, as a tree for :mod:`longrank.packing`."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Tree) -> Self:
        """Rebuild it from a state in the current layout."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
