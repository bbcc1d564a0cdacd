"""Expected costs of attempts whose cost is known only afterwards, from the same rows."""

from typing import Any, ClassVar, Self

import numpy as np

from longrank import kernels
from longrank.arrays import Vector
from longrank.contents import COUNT, Contents, covariance, numbers, optional, real, tree, whole
from longrank.learners.blocks import Blocks
from longrank.packing import Tree
from longrank.payoffs import MAX_PRICE

_MOST = 20.0  # times what was expected: more does not count, so that one outlier does little harm
_FAR = 30.0  # at most exp(30) units are expected
_SURPRISE = 25.0  # at most so much counts for the deviation, squared
_LEAST = 1e-3  # the least deviation, squared


class Costs:
    """Expected cost of an attempt, learned from actual costs.

    The mean is exp(score), and the deviation is proportional to it, so units do not matter and
    expected costs are positive. Rows of numbers have a full covariance, sparse rows have columns
    with learned priors.

    Parameters
    ----------
    dim
        The length of a row; 0 for sparse rows.
    columns
        How many columns sparse rows may have, as for :class:`Blocks`.
    """

    contents: ClassVar[Contents] = {
        "dim": whole(),
        "columns": whole(),
        "count": COUNT,
        "unit": real(0.0, MAX_PRICE),
        "squares": real(0.0),
        "weights": numbers("dim"),
        "inverse": covariance("dim"),
        "table": optional(tree(Blocks.contents)),
    }

    def __init__(self, dim: int, columns: int = 0) -> None:
        self.dim, self.columns = dim, columns
        self.count, self.unit = 0, 0.0  # of costs seen; the first one, in which they are learned
        self.squares = 0.0  # of what was missed, in proportion
        self._table = Blocks(columns=columns) if columns else None
        self._weights, self._inverse = np.zeros(dim), np.eye(dim)

    def observe(self, rows: Any, costs: Vector) -> None:
        """Learn from the actual costs of attempts."""
        if self.unit == 0.0:
            self.unit = float(costs.max())
            if self.unit == 0.0:
                return  # nothing was paid yet
        expected = np.exp(np.clip(self._score(rows)[0], -_FAR, _FAR))
        with np.errstate(over="ignore"):  # more than all numbers is more than the most
            ratios = np.minimum(costs / self.unit / expected, _MOST)
        units = ratios * expected
        self.squares += float(np.minimum((ratios - 1.0) ** 2, _SURPRISE).sum())
        self.count += len(units)
        if self._table is not None:
            self._table.observe_costs(rows, units, self._dispersion)
        else:
            rows = np.ascontiguousarray(rows, np.float64)
            kernels.learn_costs(self._weights, self._inverse, rows, units, self._dispersion)

    def expect(self, rows: Any, bonus: float) -> Vector:
        """Return the lowest plausible costs: ``bonus`` deviations below the mean."""
        means, widths = self._score(rows)
        expected = self.unit * np.exp(np.clip(means - bonus * widths, -_FAR, _FAR))
        return np.asarray(np.minimum(expected, MAX_PRICE))

    @property
    def _dispersion(self) -> float:
        """The variance of a cost in proportion to its mean's square, 1 to begin with."""
        return max((1.0 + self.squares) / (1.0 + self.count), _LEAST)

    def _score(self, rows: Any) -> tuple[Vector, Vector]:
        if self._table is not None:
            return self._table.score(rows)
        return kernels.score_rows(rows, self._weights, self._inverse)

    def extend(self, dim: int) -> None:
        """Take longer rows from now on."""
        old, self.dim = self.dim, dim
        weights, inverse = np.zeros(dim), np.eye(dim)
        weights[:old], inverse[:old, :old] = self._weights, self._inverse
        self._weights, self._inverse = weights, inverse

    def view(self) -> Self:
        """Return a copy to plan with while this one keeps learning."""
        viewed = object.__new__(type(self))
        viewed.__dict__.update(self.__dict__)
        viewed._weights, viewed._inverse = self._weights.copy(), self._inverse.copy()
        viewed._table = None if self._table is None else self._table.view()
        return viewed

    def state(self) -> Tree:
        """Return all of it, as a tree for :mod:`longrank.packing`."""
        return {
            "dim": self.dim,
            "columns": self.columns,
            "count": self.count,
            "unit": self.unit,
            "squares": self.squares,
            "weights": self._weights.copy(),
            "inverse": self._inverse.copy(),
            "table": None if self._table is None else self._table.state(),
        }

    @classmethod
    def from_state(cls, state: Tree) -> Self:
        """Build it again."""
        costs = cls(state["dim"], state["columns"])
        for name in ("count", "unit", "squares"):
            setattr(costs, name, state[name])
        costs._weights[:], costs._inverse[:] = state["weights"], state["inverse"]
        if state["table"] is not None:
            costs._table = Blocks.from_state(state["table"])
        return costs
