"""A decision of a log: what was played and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longrank.cascade import Outcome, Ranking
from longrank.features import Features
from longrank.payoffs import Payoffs


@dataclass(frozen=True, slots=True)
class Decision:
    """A checked row of a history. What the log does not have is None.

    ``items`` has shape (k, d); ``features``, of what was played, (n, dim); ``time`` is in
    seconds; ``prefix`` holds the probabilities of the first 1, ..., n items, and ``propensity``
    that of the sequence with its length. ``learned`` is False if the outcome must not be learned
    from; ``left_out`` are the positions, from 1, of failures that say nothing about the
    candidates; ``turn`` orders the outcomes of a log by when they arrived.
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
        """Return the receipt and the outcome to learn from, without the failures left out.

        ``rows`` are the features to learn; by default those of the log, or else the items. A log
        does not hold what the policy believed at the time: those numbers are NaN.
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
        receipt = Ranking.blind(order, rows, len(order), np.nan)
        return receipt, outcome

    def observed_by(self, features: Features | None) -> tuple[Ranking, Outcome]:
        """Return the same with rows that ``features`` makes of the items, where there are any."""
        if self.items is None or features is None:
            return self.observed()
        return self.observed(features.along(features.prepare(self.items, None), self.order))

    @property
    def reward(self) -> float:
        """The reward that the decision earned."""
        assert self.payoffs is not None
        return self.payoffs.reward(self.outcome)

    @property
    def tries(self) -> int:
        """The maximum number of attempts, by the budget and by the candidates where known."""
        assert self.payoffs is not None
        limit = self.payoffs.budget if self.budget is None else self.budget
        return limit if self.items is None else min(limit, len(self.items))

    def under(self, payoffs: Payoffs | None = None, budget: int | None = None) -> Decision:
        """Return the decision under other payoffs, or truncated after ``budget`` attempts.

        A truncated sequence is what the same policy would have played with a smaller budget: it
        ends without success if the success came later, and its probability is that of its first
        ``budget`` items. A larger budget than the log's changes nothing.
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
        if cut or n == budget:  # STOP after the last attempt is no longer a choice
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
