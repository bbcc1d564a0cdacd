"""The interface of a feature map."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank.arrays import Indices
from longrank.decision import Ranking
from longrank.packing import Tree
from longrank.parts import Part

Encoded = Any  # has a length; what it is, is each map's own affair


class Features(Part, ABC):
    """Base class of feature maps: turn items into the rows that a learner scores and learns from.

    Your own map implements :meth:`encode` and :meth:`along`, and declares its ``settings``. A row
    may depend on the items above it.

    Attributes
    ----------
    max_square
        The largest squared norm of a row; receipts with longer rows are rejected.
    independent
        Whether the row of an item does not depend on the items above it.
    sparse
        Whether rows are :class:`longrank.rows.SparseRows` of records, for a learner that takes
        them.
    """

    max_square: float = 1e300
    independent: bool = False
    sparse: bool = False

    @abstractmethod
    def encode(self, items: ArrayLike, dim: int | None, lazy: bool = False) -> Encoded:
        """Validate the items and convert them to the form that the other methods take.

        ``dim`` is the length of the rows that the learner expects (None: any). With ``lazy``, very
        many items may be validated later, in the pass that scores them.
        """

    def check(self, items: ArrayLike) -> None:
        """Validate items as :meth:`encode` does."""
        self.encode(items, None)

    @abstractmethod
    def along(self, candidates: Encoded, order: Indices) -> NDArray[np.float64]:
        """Return the rows of the items in a given order. Shape (len(order), dim)."""

    def rows(self, candidates: Encoded) -> NDArray[np.float64]:
        """Return the rows of all items in the given order, if they are independent."""
        return self.along(candidates, np.arange(len(candidates)))

    def next_rows(self, candidates: Encoded, prefix: Sequence[int]) -> Any:
        """Return the row that every item would have if it came next after ``prefix``.

        If rows depend on the items above, the rows of the prefix itself are 0.
        """
        if self.independent:
            return self.rows(candidates)
        first = self.along(candidates, np.zeros(min(len(candidates), 1), np.int64))
        rows = np.zeros((len(candidates), first.shape[1]))
        for item in set(range(len(candidates))) - set(prefix):
            rows[item] = self.along(candidates, np.array([*prefix, item], np.int64))[-1]
        return rows

    def recall(self, ranking: Ranking, count: int) -> Any:
        """Return the first ``count`` rows of a receipt, for the learner."""
        return ranking.rows(count)

    def observe(self, rows: Any, carried: NDArray[np.float64] | None = None) -> int:
        """Learn from observed rows what the map itself needs; nothing by default.

        ``carried`` is what the receipt carries for that. Return how many columns the dense block
        has now, 0 without one.
        """
        return 0

    def view(self) -> Self:
        """Return a copy that shares nothing that :meth:`observe` writes."""
        return self

    @classmethod
    def from_state(cls, state: Tree) -> Self:
        """Rebuild it from a state in the current layout."""
        return cls(**{name: state[name] for name in cls.settings})

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
