"""Candidates of any form: names, records, frames and arrays, with their shared context."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels
from longrank.arrays import Flags, Indices, Matrix
from longrank.contents import PART, optional, whole
from longrank.decision import Ranking
from longrank.errors import BadFile, InvalidInput
from longrank.explanation import Names, Reasons
from longrank.features.base import Features
from longrank.features.tabular import Numbers, Tabular
from longrank.packing import Tree
from longrank.payoffs import Payoffs
from longrank.rows import LISTS, MAX_DENSE, Layout, Plan, Slot, SparseRows
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

ARRAY = "features"  # the field of a candidate that is an array and comes with a context
_FORMS = "records", "arrays"
_NO_FIELDS = Layout((), ())
_NO_ENTRIES = Plan(
    np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, np.int64),
    ((None, None),), shared=(None,),
)  # fmt: skip


class RecordRound:
    """The candidates of a round: records, context and rows.

    ``records`` is None where candidates are an array. ``numbers`` are those of the dense block,
    ``dim`` is how many columns it has, and ``sample`` are some of them that a receipt carries.
    """

    __slots__ = ("context", "dim", "numbers", "records", "rows", "sample", "size")

    def __init__(
        self,
        records: list[Record] | None,
        context: Record,
        rows: SparseRows,
        numbers: Numbers | None,
        sample: Matrix | None,
    ) -> None:
        self.records, self.context, self.rows, self.numbers = records, context, rows, numbers
        self.size, self.sample = len(rows.keys), sample
        self.dim = 0
        if numbers is not None:
            self.dim = numbers.items.shape[1] + 1 + len(numbers.view[4][0])

    def __len__(self) -> int:
        return self.size

    def along(self, order: Indices) -> SparseRows:
        """Return the rows of some candidates, with the dense block."""
        rows = self.rows.take(order)
        return rows if self.numbers is None else rows.but(dense=self.numbers.along(order))


class Records(Features):
    """Rows made of candidates of any form by a :class:`~longrank.Schema`.

    The numbers of the candidates make a dense block (:class:`Tabular`), everything else makes
    sparse columns. An array of k x d numbers is k candidates with one field of d numbers. A row
    does not depend on the candidates above it. Needs a learner in blocks:
    :class:`~longrank.Blocks`.

    Parameters
    ----------
    schema
        How records become rows; by default everything is inferred.
    dim
        If given, candidates must be arrays of so many numbers.
    """

    max_square = 1e6
    independent = True
    sparse = True
    kind = "records"
    contents: ClassVar = {"schema": PART, "dim": optional(whole(1)), "numbers": optional(PART)}

    def __init__(self, schema: Schema | None = None, dim: int | None = None) -> None:
        self.schema = Schema() if schema is None else schema
        if not isinstance(self.schema, Schema):
            raise InvalidInput("schema", "be a longrank.Schema", type(schema).__name__)
        self.dim = None if dim is None else checks.whole("dim", dim, minimum=1)
        self.numbers: Tabular | None = None if self.dim is None else Tabular(self.dim)
        self._labels: tuple[Any, Plan, Indices] | None = None

    @property
    def block(self) -> int:
        """How many columns the dense block has."""
        return 0 if self.numbers is None else self.numbers.length

    def encode(
        self,
        items: Any,
        dim: int | None = None,
        lazy: bool = False,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> RecordRound:
        arrays = self.numbers is not None and not self._known
        numeric = isinstance(items, np.ndarray) or (arrays and hasattr(items, "columns"))
        records = None if numeric else as_records(items)
        if context is not None and not isinstance(context, Mapping):
            raise InvalidInput("context", "be a dictionary", type(context).__name__)
        if records is None or (arrays and not records):
            if not context and not self._known:
                return self._encode_array(items)
            array = self._checked(items)
            if array.shape[1] > MAX_DENSE:
                rule = f"have at most {MAX_DENSE} columns where there is a context"
                raise InvalidInput("items", rule, array.shape[1])
            records = [{ARRAY: row} for row in array.tolist()]
        elif self.numbers is not None and arrays:
            why = "as those that it learned from" if self.dim is None else "since dim was given"
            rule = f"be an array of {self.numbers.dim} numbers for each candidate, {why}"
            raise InvalidInput("candidates", rule, "records")
        check_ids(records)
        shared = {} if context is None else context
        rows = self.schema.encode(records, shared)
        tabular = self.numbers
        if rows.items is None:
            return RecordRound(records, shared, rows, None, None)
        if tabular is None:
            tabular = self._tabular(rows.layout.dense)
        return RecordRound(records, shared, rows, *tabular.encode(rows.items))

    def _encode_array(self, items: ArrayLike) -> RecordRound:
        array = self._checked(items)
        tabular, dim = self.numbers, array.shape[1]
        if tabular is None and dim:
            tabular = Tabular(dim)
        if tabular is None:
            return RecordRound(None, {}, _no_atoms(len(array)), None, None)
        return RecordRound(None, {}, _no_atoms(len(array)), *tabular.encode(array))

    def _checked(self, items: ArrayLike) -> NDArray[np.floating]:
        """Return candidates as an array, if they may be one."""
        if self._known - {ARRAY}:
            rule = "be records, as those that it learned from: dictionaries, names or a frame"
            raise InvalidInput("candidates", rule, type(items).__name__)
        array: Any = items
        if not (type(items) is np.ndarray and items.ndim == 2 and items.dtype == np.float64):
            try:
                array = checks.shaped(items, None)
            except InvalidInput as error:
                if self.numbers is not None:
                    raise
                rule = "be an array of numbers, a list of dictionaries or names, or a frame"
                raise InvalidInput("candidates", rule, type(items).__name__) from error
        wanted = self.dim if self.numbers is None else self.numbers.dim
        if wanted is not None and len(array) and array.shape[1] != wanted:
            raise InvalidInput("items", f"have {wanted} columns", array.shape[1])
        row, square = kernels.worst_row(array)
        if not square < math.inf:
            checks.rows(array, row, square, unit=False)
        return array if len(array) or wanted is None else np.empty((0, wanted))

    def _tabular(self, fields: tuple[Slot, ...]) -> Tabular:
        plain = sum(field.kind == "number" for field in fields)
        groups = [plain] * (plain > 0) + [f.width for f in fields if f.kind == "embedding"]
        return Tabular(sum(groups), groups)

    def along(self, candidates: RecordRound, order: Indices) -> Any:
        return candidates.along(order)

    def rows(self, candidates: RecordRound) -> Any:
        numbers = candidates.numbers
        return candidates.rows if numbers is None else candidates.rows.but(dense=numbers.rows)

    def price(self, candidates: RecordRound, payoffs: Payoffs) -> Payoffs:
        """Return the payoffs of a round, with the costs and values in its records."""
        if candidates.records is not None and have_prices(candidates.records):
            names = self.schema.sides["candidate"].prices
            payoffs = read_prices(payoffs, candidates.records, names)
        return payoffs

    def without_cost(self, candidates: RecordRound) -> Flags:
        """Return which candidates do not say what a try costs."""
        records = candidates.records
        if records is None or COST not in self.schema.sides["candidate"].prices:
            return np.ones(len(candidates), np.bool_)
        return np.array([is_missing(each.get(COST)) for each in records], np.bool_)

    def labels(self, candidates: RecordRound) -> tuple[Plan, Indices]:
        """Return the plan with the labels of the dense block, and that of each of its columns."""
        plan, numbers = candidates.rows.plan, candidates.numbers
        assert plan is not None
        if numbers is None or candidates.records is None:
            return plan, np.zeros(candidates.dim, np.int64)
        of = plan, numbers.view[4]
        if self._labels is None or any(
            a is not b for a, b in zip(self._labels[0], of, strict=True)
        ):
            self._labels = of, *numbers.labelled(plan, candidates.rows.layout.dense)
        return self._labels[1:]

    def name(
        self, candidates: RecordRound, order: Indices, rows: SparseRows, added: NDArray[np.float64]
    ) -> Names:
        """Return ids, rows and reasons of an order of records, for its receipt.

        ``rows`` are those of the order, and ``added`` is what each field adds to their means.
        """
        assert candidates.records is not None
        plan, _ = self.labels(candidates)
        chosen = [dict(candidates.records[i]) for i in order.tolist()]
        context = dict(candidates.context)
        if plan.lists:
            for fields, some in ((rows.layout.candidate, chosen), (rows.layout.context, [context])):
                _copy_lists(fields, some)
        reasons = Reasons(added, plan, chosen, context)
        return Names(identities(candidates.records, order.tolist()), rows, reasons)

    def recall(self, ranking: Ranking, count: int) -> Any:
        rows, numbers, known = ranking.rows(count), self.numbers, self._known
        given = isinstance(rows, SparseRows)
        if not given and not rows.shape[1]:
            raise InvalidInput("ranking", "have rows to learn from", "none")
        arrays = not given or {field.name for field in rows.layout.candidate} == {ARRAY}
        knows = known or ({ARRAY} if numbers is not None else set())
        if knows and (knows - {ARRAY} if arrays else not known):
            rule = f"be of {_FORMS[not arrays]}, as the candidates that this policy learned from"
            raise InvalidInput("ranking", rule, f"one of {_FORMS[arrays]}")
        if given:
            wanted = self.schema.dense
            first = not wanted and bool(rows.layout.dense)
            if first:  # what it will be
                schema = self.schema.view()
                schema.observe(rows)
                wanted = schema.dense
            if first or rows.layout.dense != wanted:
                layout = rows.layout
                rows = self.schema.planned(_moved(rows, wanted))
                return rows.but(layout=layout)  # whose fields are those of what the receipt carries
        dense = rows.dense if given else rows
        if numbers is not None and dense is not None:
            if not numbers.dim < dense.shape[1] <= numbers.length:
                rule = f"have rows of {numbers.length} numbers, as this policy makes them"
                raise InvalidInput("ranking", rule, dense.shape[1])
            sample = ranking.sample if ranking.from_elsewhere else None
            if sample is not None and sample.shape[1] != numbers.dim:
                rule = f"carry candidates of {numbers.dim} columns"
                raise InvalidInput("ranking", rule, sample.shape[1])
        return self.schema.planned(rows) if given else _no_atoms(count, rows)

    @property
    def _known(self) -> set[str]:
        """The fields that it learned from; none where candidates were arrays without a context."""
        return set(self.schema.sides["candidate"].known)

    def observe(self, rows: Any, carried: Matrix | None = None) -> int:
        if rows.layout is not _NO_FIELDS:
            if not self._known:  # until now a view shares it
                self.schema = self.schema.view()
            self.schema.observe(rows)
        if self.numbers is None and rows.dense is not None:
            dense = self.schema.dense
            self.numbers = self._tabular(dense) if dense else Tabular(rows.dense.shape[1] - 1)
        numbers = self.numbers
        if numbers is None:
            return 0
        fits = rows.layout.dense == self.schema.dense
        if carried is not None and fits and carried.shape[1] == numbers.dim:
            numbers.take(carried)
        return numbers.length

    def view(self) -> Self:
        viewed = object.__new__(type(self))
        viewed.__dict__.update(self.__dict__)
        if self._known:
            viewed.schema = self.schema.view()
        viewed.numbers = None if self.numbers is None else self.numbers.view()
        return viewed

    def state(self) -> Tree:
        numbers = self.numbers
        return {
            "schema": self.schema.saved(),
            "dim": self.dim,
            "numbers": None if numbers is None else numbers.saved(),
        }

    @classmethod
    def from_state(cls, state: Tree) -> Self:
        features = cls(Schema.from_state(Schema.migrate(state["schema"])), state["dim"])
        if state["numbers"] is not None:
            features.numbers = Tabular.from_state(Tabular.migrate(state["numbers"]))
        numbers, dense = features.numbers, features.schema.dense
        if dense and (numbers is None or numbers.groups != features._tabular(dense).groups):
            raise BadFile("the numbers of a feature map and its schema do not fit together")
        return features

    def __repr__(self) -> str:
        return f"Records({self.schema!r})" if self.dim is None else f"Records(dim={self.dim})"


def _no_atoms(size: int, dense: Matrix | None = None) -> SparseRows:
    """Return rows that have no sparse part."""
    none = np.empty((size, 0))
    keys, empty = none.astype(np.uint64), np.empty(0)
    shared = empty.astype(np.uint64), empty
    return SparseRows(_NO_FIELDS, keys, none, *shared, none, np.empty((1, 0)), _NO_ENTRIES, dense)


def _moved(rows: SparseRows, wanted: tuple[Slot, ...]) -> SparseRows:
    """Return the rows of a receipt that was made before the fields of the block were settled."""
    before = rows.layout.dense
    rows = rows.but(layout=rows.layout._replace(dense=wanted))
    if not wanted:
        return rows.but(dense=None)
    starts, at = {}, 0
    for field in before:
        starts[field] = at
        at += field.numbers
    own = rows.block(at + 1)
    parts = [
        own[:, starts[field] : starts[field] + field.numbers]
        if field in starts
        else np.zeros((len(rows), field.numbers))
        for field in wanted
    ]
    return rows.but(dense=np.concatenate([*parts, np.ones((len(rows), 1))], axis=1))


def _copy_lists(fields: Iterable[Slot], records: list[dict[str, Any]]) -> None:
    """Keep lists as they are now, and sets in an order that is the same in every process."""
    for name in [field.name for field in fields if field.kind in LISTS]:
        for record in records:
            value = record.get(name)
            if isinstance(value, set | frozenset):
                record[name] = sorted(value)
            elif isinstance(value, list | np.ndarray):
                record[name] = list(value)
