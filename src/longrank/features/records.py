"""Records: candidates with named fields, and their shared context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from longrank.belief import SparseBelief
from longrank.contents import PART
from longrank.decision import Ranking
from longrank.errors import InvalidInput
from longrank.explanation import Names, Reasons
from longrank.features.base import Features, Greedy
from longrank.packing import Tree
from longrank.payoffs import Payoffs
from longrank.rows import LISTS, Slot, SparseRows
from longrank.schema import Record, Schema, as_records, have_prices, identities, read_prices
from longrank.schema.prices import COST
from longrank.schema.values import is_missing


class PreparedRecords:
    """The candidates of a round: records, context and rows."""

    __slots__ = ("best", "context", "records", "rows")

    best: tuple[SparseRows, NDArray[np.float64]] | None  # the chosen rows, what spoke for them

    def __init__(self, records: list[Record], context: Record, rows: SparseRows) -> None:
        self.records, self.context, self.rows = records, context, rows
        self.best = None

    def __len__(self) -> int:
        return len(self.records)


class Records(Features):
    """Rows made from named fields by a :class:`~longrank.Schema`.

    A row does not depend on the candidates above it. Needs a learner of sparse rows:
    :class:`~longrank.SparseLaplace`.

    Parameters
    ----------
    schema
        How records become rows; by default everything is inferred.
    """

    independent = True
    sparse = True
    kind = "records"
    contents: ClassVar = {"schema": PART}

    def __init__(self, schema: Schema | None = None) -> None:
        self.schema = Schema() if schema is None else schema
        if not isinstance(self.schema, Schema):
            raise InvalidInput("schema", "be a longrank.Schema", type(schema).__name__)

    def prepare(
        self,
        items: Any,
        dim: int | None,  # noqa: ARG002
        lazy: bool = False,  # noqa: ARG002
        *,
        context: Mapping[str, Any] | None = None,
    ) -> PreparedRecords:
        records = as_records(items)
        if records is None:
            rule = (
                "be records: a list of dictionaries or names, or a frame with named columns "
                "(arrays of numbers need a policy with dim)"
            )
            raise InvalidInput("candidates", rule, type(items).__name__)
        if context is not None and not isinstance(context, Mapping):
            raise InvalidInput("context", "be a dictionary", type(context).__name__)
        shared = {} if context is None else context
        return PreparedRecords(records, shared, self.schema.encode(records, shared))

    def greedy(self, prepared: PreparedRecords, belief: Any, count: int) -> Greedy:
        greedy: Greedy = belief.foresee(prepared.rows, count, 0)
        return greedy

    def decide(
        self,
        prepared: PreparedRecords,
        belief: Any,
        payoffs: Payoffs,
        minimum: int,
        chosen: NDArray[np.int64],
        numbers: NDArray[np.float64],
    ) -> int:
        assert isinstance(belief, SparseBelief)
        length, rows, added = belief.decide(
            prepared.rows,
            payoffs.rewards,
            payoffs.losses,
            minimum,
            chosen,
            numbers,
            payoffs.patience,
        )
        prepared.best = rows, added
        return length

    def along(self, prepared: PreparedRecords, order: NDArray[np.int64]) -> Any:
        return prepared.rows.take(order)

    def price(self, payoffs: Payoffs, prepared: PreparedRecords) -> Payoffs:
        if have_prices(prepared.records):
            names = self.schema.sides["candidate"].prices
            payoffs = read_prices(payoffs, prepared.records, names)
        return super().price(payoffs, prepared)

    def without_cost(self, prepared: PreparedRecords, payoffs: Payoffs) -> NDArray[np.bool_]:
        if payoffs.costs is not None or COST not in self.schema.sides["candidate"].prices:
            return super().without_cost(prepared, payoffs)
        return np.array([is_missing(each.get(COST)) for each in prepared.records], np.bool_)

    def rows(self, prepared: PreparedRecords) -> Any:
        return prepared.rows

    def receipt(
        self,
        prepared: PreparedRecords,
        order: NDArray[np.int64],
        numbers: NDArray[np.float64],
        belief: Any,
    ) -> Ranking:
        assert isinstance(belief, SparseBelief)
        found, prepared.best = prepared.best, None
        if found is None:
            rows = prepared.rows.take(order)
            found = rows, belief.contributions(rows)
        rows, added = found
        assert rows.plan is not None
        chosen = [dict(prepared.records[i]) for i in order.tolist()]
        context = dict(prepared.context)
        if rows.plan.lists:
            for fields, some in ((rows.layout.candidate, chosen), (rows.layout.context, [context])):
                _copy_lists(fields, some)
        reasons = Reasons(added, rows.plan, chosen, context)
        names = Names(identities(prepared.records, order.tolist()), rows, reasons)
        return Ranking.from_buffer(order, numbers, 0, names)

    def recall(self, ranking: Ranking, count: int) -> Any:
        rows = ranking.rows(count)
        if not isinstance(rows, SparseRows):
            raise InvalidInput("ranking", "have rows of records to learn from", repr(ranking))
        return self.schema.planned(rows)

    def observe(self, rows: Any) -> None:
        self.schema.observe(rows)

    def view(self) -> Self:
        return type(self)(self.schema.view())

    def state(self) -> Tree:
        return {"schema": self.schema.saved()}

    @classmethod
    def from_state(cls, state: Tree) -> Self:
        return cls(Schema.from_state(Schema.migrate(state["schema"])))

    def __repr__(self) -> str:
        return f"Records({self.schema!r})"


def _copy_lists(fields: Iterable[Slot], records: list[dict[str, Any]]) -> None:
    """Keep lists as they are now, and sets in an order that is the same in every process."""
    for name in [field.name for field in fields if field.kind in LISTS]:
        for record in records:
            value = record.get(name)
            if isinstance(value, set | frozenset):
                record[name] = sorted(value)
            elif isinstance(value, list | np.ndarray):
                record[name] = list(value)
