"""The interface of a feature map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import kernels
from longrank.belief import Belief
from longrank.cascade import Ranking
from longrank.packing import Tree
from longrank.parts import Part
from longrank.payoffs import Payoffs

Prepared = Any  # has a length; what it is, is each map's own affair
Greedy = tuple[
    NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
]  # order, rows, means, scores along it

Outline = tuple[NDArray[np.float64], NDArray[np.float64]]  # means and squared norms of rows


class Features(Part, ABC):
    """Turns the items of a round into the rows that a learner scores and learns from.

    A row may depend on the items above it, so choosing is greedy: at each position the item with
    the best score given those already chosen. Where rows do not depend on the prefix this is
    sorting.

    Attributes
    ----------
    max_square
        The largest squared norm of a row: receipts from elsewhere with longer ones are refused.
    independent
        Whether the row of an item is the same whatever stands above it.
    sparse
        Whether rows are :class:`longrank.rows.SparseRows` of records, for a learner that takes
        such.
    grows
        Whether rows become longer as more is known: :meth:`adapt` returns how long they are then,
        ``first_length`` is how long they were at first, and ``settled`` whether that is over.
    """

    max_square: float = 1e300
    independent: bool = False
    sparse: bool = False
    grows: bool = False
    settled: bool = True
    first_length: int = 0

    @abstractmethod
    def prepare(self, items: ArrayLike, dim: int | None, lazy: bool = False) -> Prepared:
        """Check the items and bring them into the form that the other methods take.

        ``dim`` is the length of the rows that the learner expects (None: any). With ``lazy``
        :meth:`greedy` may check very many items as it reads them.
        """

    def check(self, items: ArrayLike) -> None:
        """Refuse items that :meth:`prepare` refuses."""
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
        """Return what the round pays, with the costs and values that the items tell."""
        if payoffs.costs is not None:
            payoffs.check_prices(len(prepared))
        return payoffs

    def without_cost(self, prepared: Prepared, payoffs: Payoffs) -> NDArray[np.bool_]:
        """Return of which items neither the payoffs, as given, nor they themselves tell a cost."""
        return np.full(len(prepared), payoffs.costs is None)

    def rows(self, prepared: Prepared) -> NDArray[np.float64]:
        """Return the rows of all items as they come, where they are independent."""
        return self.along(prepared, np.arange(len(prepared)))

    def some(self, prepared: Prepared, chosen: NDArray[np.int64]) -> Prepared:
        """Return some of the prepared items by themselves: for features with an :meth:`outline`."""
        raise NotImplementedError(f"{type(self).__name__} has no outline")

    def outline(
        self,
        prepared: Prepared,  # noqa: ARG002
        weights: NDArray[np.float64],  # noqa: ARG002
    ) -> Outline | None:
        """Return the means and the squared norms of all rows, where they are many.

        That bounds their scores without making rows of them all: by default None.
        """
        return None

    def next_rows(self, prepared: Prepared, prefix: Sequence[int]) -> Any:
        """Return the row of every item, were it to come next after those of ``prefix``.

        The rows of items above are 0 where rows depend on what stands above.
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
        """Return the receipt of a decision, of what :meth:`decide` filled."""
        return Ranking.filled(order, numbers, len(belief.weights))

    def recall(self, ranking: Ranking, count: int) -> Any:
        """Return the first ``count`` rows of a receipt, for the learner."""
        return ranking.rows(count)

    def carried(self, prepared: Prepared) -> NDArray[np.float64] | None:  # noqa: ARG002
        """Return the candidates that a receipt carries for :meth:`adapt`: by default none."""
        return None

    def adapt(self, ranking: Ranking) -> int:
        """Learn from what a receipt carries of its candidates; return the length of a row now."""
        raise NotImplementedError(f"{type(self).__name__} does not grow")

    def observe(self, rows: Any) -> None:
        """Learn from observed rows what the map itself needs to know: by default nothing."""

    def view(self) -> Self:
        """Return a copy that shares nothing that :meth:`observe` writes."""
        return self

    def compiled_selection(
        self,
        items: Any,  # noqa: ARG002
    ) -> kernels.Selection | kernels.RecordSelection | None:
        """The items of many rounds, prepared, and how compiled runs choose among them.

        None where it is not compiled; subclasses do not inherit it.
        """
        return None

    @abstractmethod
    def state(self) -> Tree:
        """Return all that is needed to build it again, as a tree for :mod:`longrank.packing`."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Tree) -> Self:
        """Build it again from a state in the present layout."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
