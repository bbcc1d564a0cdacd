"""Costs of attempts, learned from outcomes where the log does not give them beforehand."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from longrank.arrays import Array
from longrank.logs.batch import Batch
from longrank.logs.columns import PAID
from longrank.logs.decision import Decision
from longrank.schema import identities

Means = dict[Any, float]


@dataclass(frozen=True)
class LoggedCosts:
    """Expected costs of attempts: the mean of a candidate by its id, or least squares on items.

    Fitted in time order, in the blocks of the outcome model: a decision's corrections use what was
    known before its block. Costs that the log never reports, of attempts without a bill or not
    made, are expected from the whole log: the last entry. ``means`` has for each block the mean of
    each id, ``weights``, shape (blocks + 1, d + 1), those of items; ``overall`` are the means of
    all attempts, which a candidate's mean counts as one more attempt. ``noise`` is the mean square
    of what an attempt cost beyond what was expected, also where costs are given beforehand.
    """

    overall: Array
    weights: Array | None
    means: tuple[Means, ...]
    noise: float = 0.0

    def expect(self, decision: Decision, block: int = -1) -> Array:
        """Return the expected costs of all candidates of a decision, as known to a block."""
        if self.weights is not None:
            assert decision.items is not None
            own = self.weights[block]
            return np.asarray(np.maximum(decision.items @ own[:-1] + own[-1], 0.0))
        assert decision.candidates is not None
        ids = identities(decision.candidates, range(len(decision.candidates)))
        known, otherwise = self.means[block], float(self.overall[block])
        return np.array([known.get(each, otherwise) for each in ids])


class CostFitting:
    """Fits expected costs, decision by decision."""

    def __init__(self) -> None:
        self._total, self._count = 0.0, 0
        self._squares, self._expected = 0.0, 0  # of prediction errors, and their number
        self._sums: dict[Any, tuple[float, int]] = {}
        self._products: tuple[Array, Array] | None = None  # X'X and X'y of items
        self._overall: list[float] = []
        self._blocks: list[tuple[Array | None, Means]] = []
        self._known = False  # whether something was before the present block

    def begin_block(self) -> None:
        """Remember what is known before the next block."""
        self._known = self._count > 0
        overall = self._total / max(self._count, 1)
        self._overall.append(overall)
        means = {name: (overall + total) / (1 + n) for name, (total, n) in self._sums.items()}
        self._blocks.append((self._solved(), means))

    def add(self, batch: Batch) -> None:
        """Learn the costs that the outcomes of a batch report."""
        if PAID not in batch.lists:
            return
        for decision in batch:
            paid = np.array(decision.ended.costs or ())
            if not len(paid) or decision.payoffs is None:
                continue
            tried = decision.order[: len(paid)]
            planned = decision.payoffs.costs
            if (planned is None or not planned.any()) and self._known:
                planned = self._of(self._overall[-1:], self._blocks[-1:]).expect(decision)
            if planned is not None:
                self._squares += float(((planned[tried] - paid) ** 2).sum())
                self._expected += len(paid)
            self._total += float(paid.sum())
            self._count += len(paid)
            if decision.items is not None:
                x = np.column_stack([decision.items[tried], np.ones(len(paid))])
                if self._products is None:
                    self._products = np.zeros((x.shape[1], x.shape[1])), np.zeros(x.shape[1])
                self._products[0][:] += x.T @ x
                self._products[1][:] += x.T @ paid
                continue
            for name, cost in zip(
                identities(decision.candidates or [], tried.tolist()), paid.tolist(), strict=True
            ):
                total, count = self._sums.get(name, (0.0, 0))
                self._sums[name] = total + cost, count + 1

    def fitted(self) -> LoggedCosts | None:
        """Return what was fitted; None if no outcome reported costs."""
        if not self._count:
            return None
        self.begin_block()
        return self._of(self._overall, self._blocks)

    def _of(self, overall: list[float], blocks: list[tuple[Array | None, Means]]) -> LoggedCosts:
        noise = self._squares / max(self._expected, 1)
        if self._sums or self._products is None:
            return LoggedCosts(np.array(overall), None, tuple(m for _, m in blocks), noise)
        nothing = np.zeros(len(self._products[1]))
        weights = np.stack([nothing if own is None else own for own, _ in blocks])
        return LoggedCosts(np.array(overall), weights, (), noise)

    def _solved(self) -> Array | None:
        """Solve penalised least squares; the constant is hardly penalised."""
        if self._products is None:
            return None
        square, right = self._products
        penalties = np.append(np.ones(len(right) - 1), 1e-6)
        return np.asarray(np.linalg.solve(square + np.diag(penalties), right))
