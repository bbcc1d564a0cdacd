"""One decision of a log, checked: what was played and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longrank.cascade import Outcome, Ranking
from longrank.payoffs import Payoffs


@dataclass(frozen=True, slots=True)
class Decision:
    """A row of a history. What the log does not have is None.

    ``items`` has shape (k, d); ``features``, of what was played, (n, dim); ``time`` is in
    seconds; ``prefix`` holds the probabilities of the first 1, ..., n items, and ``propensity``
    that of the sequence with its length. ``learned`` is False where the outcome is known but not
    to be learned from; ``left_out`` are the positions, from 1, of failures that say nothing about
    the candidates; ``turn`` says when the outcome came in, counted against those of other rows.
    """

    row: int
    id: str | int
    order: NDArray[np.int64]
    outcome: Outcome
    items: NDArray[np.float64] | None = None
    features: NDArray[np.float64] | None = None
    time: float | None = None
    payoffs: Payoffs | None = None
    budget: int | None = None
    propensity: float | None = None
    prefix: NDArray[np.float64] | None = None
    version: str | int | None = None
    learned: bool = True
    left_out: tuple[int, ...] = ()
    turn: int | None = None

    def observed(self, rows: NDArray[np.float64] | None = None) -> tuple[Ranking, Outcome]:
        """The receipt and the outcome to learn from, without the failures that are left out.

        ``rows`` are the features to learn; by default those of the log, or the items themselves.
        What the policy believed then is not in a log: NaN.
        """
        if rows is None:
            rows = self.features
        if rows is None:
            assert self.items is not None
            rows = self.items[self.order]
        order, outcome = self.order.copy(), self.outcome
        if self.left_out:
            kept = [i for i in range(outcome.tried) if i + 1 not in self.left_out]
            order, rows, outcome = order[kept], rows[kept], Outcome(len(kept), outcome.succeeded)
        unknown, values = np.full(len(order), np.nan), np.full(len(order) + 1, np.nan)
        receipt = Ranking(order, unknown, unknown, values, np.array(rows, np.float64, order="C"))
        return receipt, outcome

    @property
    def reward(self) -> float:
        """What it earned."""
        assert self.payoffs is not None
        return self.payoffs.reward(self.outcome)

    @property
    def tries(self) -> int:
        """The most tries that it allowed: by the budget, and by the candidates where known."""
        assert self.payoffs is not None
        most = self.payoffs.budget if self.budget is None else self.budget
        return most if self.items is None else min(most, len(self.items))

    def under(self, payoffs: Payoffs | None = None, budget: int | None = None) -> Decision:
        """The same decision under other payoffs, or cut off after ``budget`` tries.

        A sequence that is cut off is what the same policy would have played with less budget: it
        ends without a success where the success came later, and its probability is that of its
        first ``budget`` items. A larger budget than the log's changes nothing: nothing was seen.
        """
        changed = self if payoffs is None else replace(self, payoffs=payoffs)
        if budget is None or (changed.budget is not None and budget >= changed.budget):
            return changed
        n = min(budget, len(self.order))
        outcome = self.outcome
        if outcome.tried > n:
            outcome = Outcome(n, False)
        cut = n < len(self.order)
        prefix = None if self.prefix is None else self.prefix[:n]
        propensity = self.propensity
        if cut or n == budget:  # STOP after the last try is no longer a choice
            propensity = (1.0 if n == 0 else float(prefix[-1])) if prefix is not None else None
        return replace(
            changed,
            order=self.order[:n],
            outcome=outcome,
            features=None if self.features is None else self.features[:n],
            budget=budget,
            prefix=prefix,
            propensity=propensity,
        )
