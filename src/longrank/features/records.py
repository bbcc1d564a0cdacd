"""Records: candidates with named fields, and their shared context."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from longrank.arrays import Flags, Indices
from longrank.contents import PART
from longrank.decision import Ranking
from longrank.errors import InvalidInput
from longrank.explanation import Names, Reasons
from longrank.features.base import Features
from longrank.packing import Tree
from longrank.payoffs import Payoffs
from longrank.rows import LISTS, Slot, SparseRows
from longrank.schema import (
    Record,
    Schema,
    as_records,
    check_ids,
    have_prices,
    identities,
    read_prices,
)
from longrank.schema.prices import COST
from longrank.schema.values import is_missing


class RecordRound:
    """The candidates of a round: records, context and rows."""

    __slots__ = ("context", "records", "rows")

    def __init__(self, records: list[Record], context: Record, rows: SparseRows) -> None:
        self.records, self.context, self.rows = records, context, rows

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

    def encode(
        self,
        items: Any,
        dim: int | None,
        lazy: bool = False,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> RecordRound:
        records = as_records(items)
        if records is None:
            rule = (
                "be records: a list of dictionaries or names, or a frame with named columns "
                "(arrays of numbers need a policy with dim)"
            )
            raise InvalidInput("candidates", rule, type(items).__name__)
        check_ids(records)
        if context is not None and not isinstance(context, Mapping):
            raise InvalidInput("context", "be a dictionary", type(context).__name__)
        shared = {} if context is None else context
        return RecordRound(records, shared, self.schema.encode(records, shared))

    def along(self, candidates: RecordRound, order: Indices) -> Any:
        return candidates.rows.take(order)

    def rows(self, candidates: RecordRound) -> Any:
        return candidates.rows

    def price(self, candidates: RecordRound, payoffs: Payoffs) -> Payoffs:
        """Return the payoffs of a round, with the costs and values in its records."""
        if have_prices(candidates.records):
            names = self.schema.sides["candidate"].prices
            payoffs = read_prices(payoffs, candidates.records, names)
        return payoffs

    def without_cost(self, candidates: RecordRound) -> Flags:
        """Return which records do not say what a try costs."""
        if COST not in self.schema.sides["candidate"].prices:
            return np.ones(len(candidates), np.bool_)
        return np.array([is_missing(each.get(COST)) for each in candidates.records], np.bool_)

    def name(
        self, candidates: RecordRound, order: Indices, rows: SparseRows, added: NDArray[np.float64]
    ) -> Names:
        """Return ids, rows and reasons of an order, for its receipt.

        ``rows`` are those of the order, and ``added`` is what each field adds to their means.
        """
        assert rows.plan is not None
        chosen = [dict(candidates.records[i]) for i in order.tolist()]
        context = dict(candidates.context)
        if rows.plan.lists:
            for fields, some in ((rows.layout.candidate, chosen), (rows.layout.context, [context])):
                _copy_lists(fields, some)
        reasons = Reasons(added, rows.plan, chosen, context)
        return Names(identities(candidates.records, order.tolist()), rows, reasons)

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
