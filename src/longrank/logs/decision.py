"""A decision of a log: what was played and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from longrank.arrays import Array, Indices
from longrank.decision import Outcome, Ranking
from longrank.errors import InvalidInput
from longrank.explanation import Names
from longrank.features import Features, Records
from longrank.features.records import RecordRound
from longrank.payoffs import Payoffs
from longrank.policies import Policy
from longrank.rows import SparseRows
from longrank.schema import Record, identities
from longrank.schema.prices import COST, PRICES, VALUE


@dataclass(frozen=True, slots=True)
class Decision:
    """A checked row of a history. What the log does not have is None, also the outcome.

    Fields that the format has as well are called as there. The candidates are ``items``, shape
    (k, d), or records: dictionaries in ``candidates``, with the ``context`` that they share.
    ``features``, of what was played, have shape (n, dim); ``time`` is in seconds. ``payoffs`` have
    the prices of the candidates, if any; ``price_fields`` are the fields of the records that they
    were read from, and ``patience`` is the value that policies are given.
    """

    row: int
    id: str | int
    order: Indices
    outcome: Outcome | None
    items: Array | None = None
    features: Array | None = None
    candidates: list[Record] | None = None
    context: Record | None = None
    time: float | None = None
    payoffs: Payoffs | None = None
    price_fields: frozenset[str] = frozenset()
    patience: float = 1.0
    budget: int | None = None
    propensity: float | None = None
    prefix_propensities: Array | None = None
    policy_version: str | int | None = None
    learned: bool = True
    not_attributable: tuple[int, ...] = ()
    outcome_seq: int | None = None

    @property
    def ended(self) -> Outcome:
        """The outcome of a decision that has one."""
        assert self.outcome is not None
        return self.outcome

    def observed(self, rows: Array | SparseRows | None = None) -> tuple[Ranking, Outcome]:
        """Return the receipt and the outcome to learn from, without the failures left out.

        ``rows`` are the features to learn; by default those of the log, or else the items; there
        are none for records. A log does not hold what the policy believed at the time: those
        numbers are NaN.
        """
        if rows is None:
            rows = self.features
        if rows is None and self.items is not None:
            rows = self.items[self.order]
        order, outcome, kept = self.order.copy(), self.ended, self.attributable
        if kept is not None:
            paid = outcome.costs and tuple(outcome.costs[i] for i in kept)
            order, outcome = order[kept], Outcome(len(kept), outcome.succeeded, paid)
            rows = rows[kept] if isinstance(rows, np.ndarray) else rows and rows.take(kept)
        if isinstance(rows, np.ndarray):
            return Ranking.without_belief(order, rows, len(order), np.nan), outcome
        block = np.empty((len(order), 0)) if rows is None else rows.block(rows.dim)
        names, played = None, order.tolist()
        if self.items is None or (rows is not None and rows.layout.candidate):
            ids = played if self.candidates is None else identities(self.candidates, played)
            names = Names(ids, rows, [[] for _ in ids])
        return Ranking.without_belief(order, block, len(order), np.nan, names), outcome

    @property
    def attributable(self) -> list[int] | None:
        """Which attempts say something about the candidates; None if all do."""
        if not self.not_attributable:
            return None
        return [i for i in range(self.ended.tried) if i + 1 not in self.not_attributable]

    def observed_by(self, features: Features | None) -> tuple[Ranking, Outcome]:
        """Return the same with rows that ``features`` makes of the candidates."""
        if isinstance(features, Records):
            prepared = self._encoded(features)
            ranking, outcome = self.observed(features.along(prepared, self.order))
            return ranking.planned(self.patience, sample=prepared.sample), outcome
        return self.observed(None if features is None else self.rows_by(features))

    def _encoded(self, features: Records) -> RecordRound:
        given = self.given(features)
        if given is None:
            rule = "be present for this policy, as records or as arrays"
            raise InvalidInput("candidates", rule, "none")
        return features.encode(given, context=self.context)

    def given(self, features: Features | None) -> list[Record] | Array | None:
        """Return the candidates in the form that a feature map takes; None without them."""
        records = self.items is None or (isinstance(features, Records) and features.dim is None)
        return self.candidates if records and self.candidates is not None else self.items

    def rows_by(self, features: Features) -> Array | SparseRows | None:
        """Return the rows that ``features`` makes of what was played; None if the log has them."""
        if isinstance(features, Records):
            return self._encoded(features).along(self.order)
        if self.items is not None:
            return features.along(features.encode(self.items, None), self.order)
        if self.features is None:
            rule = "be present for a policy on arrays (recommended() takes records)"
            raise InvalidInput("items", rule, "none")
        return None

    def offer(self, policy: Policy) -> tuple[Any, Payoffs, dict[str, Any]]:
        """Return the candidates as a policy takes them, the payoffs, and the context by keyword.

        Where fields of the records are prices, the payoffs have them, and the records those that
        are features to this policy.
        """
        assert self.payoffs is not None
        features = getattr(policy, "features", None)
        payoffs = self.payoffs if self.patience == 1.0 else self.payoffs.patient(self.patience)
        shared = {} if self.context is None else {"context": self.context}
        records = self.candidates
        if records is None or self.given(features) is not records:
            return self.items, payoffs, shared if isinstance(features, Records) else {}
        if self.price_fields:
            read = PRICES
            if isinstance(features, Records):
                read = features.schema.sides["candidate"].prices
            payoffs = payoffs.priced(
                payoffs.costs if COST in read else None,
                payoffs.success_values if VALUE in read else None,
            )
            records = [{n: r[n] for n in r if n not in read} for r in records]
        return records, payoffs, shared

    @property
    def reward(self) -> float:
        """The reward that the decision earned.

        It counts what the attempts really cost, where the outcome says so, or else the costs of
        the candidates.
        """
        assert self.payoffs is not None
        priced = self.payoffs.has_prices
        return (self.payoffs.along(self.order) if priced else self.payoffs).reward(self.ended)

    def paid(self, payoffs: Payoffs) -> Array:
        """Return what each attempt along the order costs, shape (n,).

        Really, where the outcome says so; otherwise as planned in ``payoffs``.
        """
        order, outcome = self.order, self.outcome
        costs = np.zeros(len(order)) if payoffs.costs is None else payoffs.costs[order]
        if outcome is not None and outcome.costs is not None:
            costs[: outcome.tried] = outcome.costs
        return costs

    @property
    def size(self) -> int | None:
        """The number of candidates, if all are known."""
        known = self.candidates if self.items is None else self.items
        return None if known is None else len(known)

    def under(self, payoffs: Payoffs | None = None, budget: int | None = None) -> Decision:
        """Return the decision under other payoffs, or truncated after ``budget`` attempts.

        The candidates keep their prices, unless the payoffs have other ones.
        A truncated sequence is what the same policy would have played with a smaller budget: it
        ends without success if the success came later, and its probability is that of its first
        ``budget`` items. A larger budget than the log's changes nothing.
        """
        if payoffs is not None and self.payoffs is not None and not payoffs.has_prices:
            payoffs = payoffs.priced(self.payoffs.costs, self.payoffs.success_values)
        changed = self if payoffs is None else replace(self, payoffs=payoffs)
        if budget is None or (changed.budget is not None and budget >= changed.budget):
            return changed
        n = min(budget, len(self.order))
        outcome = self.outcome
        if outcome is not None and outcome.tried > n:
            outcome = Outcome(n, False, outcome.costs and outcome.costs[:n])
        cut = n < len(self.order)
        prefix = None if self.prefix_propensities is None else self.prefix_propensities[:n]
        propensity = self.propensity
        if cut or n == budget:  # STOP after the last attempt is no longer a choice
            propensity = (1.0 if n == 0 else float(prefix[-1])) if prefix is not None else None
        return replace(
            changed,
            order=self.order[:n],
            outcome=outcome,
            features=None if self.features is None else self.features[:n],
            budget=budget,
            prefix_propensities=prefix,
            propensity=propensity,
        )
