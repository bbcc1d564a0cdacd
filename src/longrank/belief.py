"""Belief: what features and policies need to know of a learner in order to rank."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.rows import SparseRows

Vector = NDArray[np.float64]
Order = NDArray[np.int64]


class Belief(NamedTuple):
    """A normal belief about the weights, and how it is acted on.

    The score of a row x is min(x.weights + bonus * sqrt(x' inverse x), ceiling); the link turns it
    into a probability. The arrays are the learner's own: read them, do not write.

    Attributes
    ----------
    weights
        The mean, shape (dim,).
    inverse
        The covariance M^-1, shape (dim, dim), symmetric.
    bonus
        How many standard deviations are added to a mean; an array has one for each row.
    ceiling
        Scores above it count as equal.
    link
        The code of the curve, for the kernels.
    """

    weights: NDArray[np.float64]
    inverse: NDArray[np.float64]
    bonus: Any  # a number, or an array
    ceiling: float
    link: int

    def score(self, rows: NDArray[np.float64]) -> tuple[Vector, Vector]:
        """Return means and widths of rows, shape (k, dim)."""
        return kernels.score_rows(rows, self.weights, self.inverse)

    def hope(self, rows: NDArray[np.float64]) -> tuple[Vector, Vector]:
        """Return means of rows, and scores: the means with the bonus, up to the ceiling."""
        means, widths = self.score(rows)
        return means, np.minimum(means + self.bonus * widths, self.ceiling)

    def take(self, chosen: Order) -> Belief:
        """Return it for some of the rows: of bonuses of their own, theirs."""
        own = isinstance(self.bonus, np.ndarray)
        return self._replace(bonus=self.bonus[chosen]) if own else self

    def foresee(
        self, rows: NDArray[np.float64], count: int, depth: int
    ) -> tuple[Order, NDArray[np.float64], Vector, Vector]:
        """Choose ``count`` rows as if those above had failed: order, rows, means, scores."""
        return kernels.greedy_foreseeing(rows, self.weights, self.inverse, self.bonus, count, depth)


class SparseBelief(NamedTuple):
    """A diagonal normal belief about the columns of sparse rows, and how it is acted on.

    Attributes
    ----------
    table
        The columns and groups, for :mod:`longrank.kernels.sparse`.
    bonus
        How many standard deviations are added to a mean; an array has one for each row.
    ceiling, link
        As for :class:`Belief`.
    """

    table: tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.uint64], NDArray[np.float64]]
    bonus: float | NDArray[np.float64]
    ceiling: float
    link: int

    def score(self, rows: SparseRows) -> tuple[Vector, Vector]:
        """Return means and widths of rows."""
        assert rows.plan is not None
        means, squares = kernels.score_sparse(rows.arrays(), rows.plan[:3], self.table)
        return means, np.sqrt(squares)

    def hope(self, rows: SparseRows) -> tuple[Vector, Vector]:
        """Return means of rows, and scores, as :meth:`Belief.hope`."""
        means, widths = self.score(rows)
        return means, np.minimum(means + self.bonus * widths, self.ceiling)

    def foresee(
        self, rows: SparseRows, count: int, depth: int
    ) -> tuple[Order, NDArray[np.float64], Vector, Vector]:
        """Choose ``count`` rows as if those above had failed: order, no rows, means, scores.

        With a ``depth`` of 0 the best by their scores.
        """
        assert rows.plan is not None
        order, means, scores = kernels.greedy_sparse(
            rows.arrays(),
            rows.plan[:3],
            self.table,
            self._bonuses(len(rows)),
            self.ceiling,
            count,
            depth,
        )
        return order, np.empty((count, 0)), means, scores

    def decide(
        self,
        rows: SparseRows,
        rewards: Vector,
        losses: Vector,
        minimum: int,
        chosen: Order,
        numbers: Vector,
        patience: float = 1.0,
    ) -> tuple[int, SparseRows, NDArray[np.float64]]:
        """Fill a receipt with the best: see :func:`longrank.kernels.decide`.

        Returns how many were chosen, their rows, and their :meth:`contributions`.
        """
        assert rows.plan is not None
        plan = rows.plan
        length, keys, own, spoke = kernels.decide_sparse(
            rows.arrays(),
            plan[:3],
            self.table,
            self._bonuses(len(rows)),
            self.ceiling,
            rewards,
            losses,
            self.link,
            minimum,
            chosen,
            numbers,
            plan.labels,
            len(plan.names),
            patience,
        )
        best = SparseRows(
            rows.layout,
            keys,
            own,
            rows.context_keys,
            rows.context_numbers,
            rows.raw[chosen[:length]],
            rows.context_raw,
            plan,
        )
        return length, best, spoke

    def _bonuses(self, count: int) -> Vector:
        bonus = self.bonus
        return bonus if isinstance(bonus, np.ndarray) else np.full(count, bonus)

    def contributions(self, rows: SparseRows) -> NDArray[np.float64]:
        """Return what each label of the plan adds to the mean of each row."""
        assert rows.plan is not None
        plan = rows.plan
        return kernels.contributions(
            rows.arrays(), plan[:3], self.table, plan.labels, len(plan.names)
        )
