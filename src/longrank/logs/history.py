"""A history: the decisions of a log and their outcomes, read from any format."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any

import numpy as np

from longrank import checks, notebook
from longrank.decision import Outcome, Ranking
from longrank.errors import InvalidInput
from longrank.features import Features, Records
from longrank.logs.batch import SIZE, Batch, Lists
from longrank.logs.columns import CANDIDATE, COLUMNS, IDS, POSITION, REQUIRED, Row
from longrank.logs.decision import Decision
from longrank.logs.formats import LogTable, open_tables
from longrank.logs.long_form import by_decision
from longrank.logs.rules import Rules
from longrank.logs.violations import BadLog, Violation, empty, keep
from longrank.payoffs import Payoffs
from longrank.policies import Policy
from longrank.rows import SparseRows
from longrank.schema import Schema

MAX_KEPT_BYTES = 16 * 2**20  # of lists of numbers that History.keep holds in memory
Progress = Callable[[int, int], None]
Revised = Callable[[Payoffs], Payoffs]
Change = tuple[Payoffs | Revised | None, int | None]  # of the payoffs, of the budget
FORMAT = frozenset((*COLUMNS, IDS))  # columns that are not fields of the context
OTHERWISE = frozenset(("context", "items", "features"))  # with one, no other column is a field
_OFTEN = 1000  # decisions between two reports of progress


class History:
    """A log that can be read repeatedly, one batch in memory at a time.

    Iterating yields pairs of ranking and outcome to learn from, in the order of the outcomes.
    :meth:`decisions` yields everything in the log, on request including decisions without an
    outcome (neither ``tried`` nor ``succeeded``), which :attr:`missing` counts. The whole log is
    validated before the first pair, so nothing is learned from a log with an error in its last row.

    Parameters
    ----------
    data
        The path of a .parquet, .csv or .jsonl file, a pandas or polars frame, a pyarrow table, or
        a list of dictionaries, with the columns that ``longrank logs columns`` lists. Several
        files can form one log: a folder, a pattern (``"logs/*.parquet"``), both in the order of
        their names, or a list of paths. Ids must be unique across all of them.
    columns
        What columns of the format are called in this log, if different:
        ``{"id": "payment", "ids": "routes"}``.
    context
        The columns that are context fields. By default, if candidates are records and there is no
        column ``context``, all columns that are not part of the format.
    payoffs
        The payoffs of decisions without ``rewards`` and ``losses``.
    schema
        Declared kinds of fields, and fields to ignore, when the log is checked; by default the
        schema of the first policy that learns from it.

    Examples
    --------
    >>> history = History([{"id": 1, "items": [[0.5], [0.1]], "order": [1, 0],
    ...                     "tried": 2, "succeeded": True}])
    >>> [(ranking.order.tolist(), outcome) for ranking, outcome in history]
    [([1, 0], Outcome(tried=2, succeeded=True))]
    >>> log = [{"payment": 7, "candidates": ["adyen", "stripe"], "tried": ["stripe"],
    ...         "succeeded": True, "brand": "visa", "amount": 120.0}]
    >>> [decision] = History(log, columns={"id": "payment"}).decisions()
    >>> decision.candidates, decision.context
    ([{'id': 'adyen'}, {'id': 'stripe'}], {'brand': 'visa', 'amount': 120.0})
    """

    def __init__(
        self,
        data: Any,
        *,
        columns: Mapping[str, str] | None = None,
        context: Sequence[str] | None = None,
        payoffs: Payoffs | None = None,
        schema: Schema | None = None,
    ) -> None:
        self.name, tables = _open(data, {} if columns is None else columns)
        self.table_columns = _all_columns(tables)
        self._payoffs, self.schema = payoffs, schema
        self._given = None if context is None else tuple(context)
        for name in self._given or ():
            if name not in self.table_columns:
                raise _no_column("context", name, self.table_columns)
        self._gathers = False  # whether the context of a row is made of its columns
        self.fields: tuple[str, ...] = ()  # columns of the user's own that are fields
        if POSITION in self.table_columns:
            tables, self.fields = by_decision(tables, self._given)
        elif self._given is not None:
            self._gathers, self.fields = True, self._given
        elif "candidates" in self.table_columns and not OTHERWISE.intersection(self.table_columns):
            self._gathers = True
            self.fields = tuple(name for name in self.table_columns if name not in FORMAT)
        self.tables = tables  # one for each file
        self._count: int | None = None
        self._learnable = False  # whether every row has features to learn from
        self._turns: list[int] = []  # of every row, if the log has an order to learn in
        # the place of each decision without an outcome: that of the decision before it
        self._missing = np.empty(0, np.int64)
        self._part: tuple[int, int | None] = (0, None)
        self._changes: tuple[Change, ...] = ()
        self._kept: _Kept | None = None

    def _repr_html_(self) -> str:
        """Show in a notebook where the log comes from and what it has, without reading it."""
        rows: list[tuple[str, object]] = [
            ("source", self.name),
            ("columns", ", ".join(self.table_columns)),
        ]
        if self.fields:
            rows.append(("fields of the context", ", ".join(self.fields)))
        if self._count is not None:
            rows.append(("decisions with an outcome", f"{self._count:,}"))
        return notebook.table("History", [], rows)

    @classmethod
    def of(cls, source: Any) -> History:
        """Return a history of any kind of log; a history is returned unchanged."""
        return source if isinstance(source, History) else cls(source)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table; of its decisions if the table is in long form."""
        return _all_columns(self.tables)

    def read(self) -> Iterator[Batch | list[Violation]]:
        """Read every row once: decisions in batches, and what is wrong with each other row.

        A decision without an outcome, neither ``tried`` nor ``succeeded``, is unobserved, not
        failed. If there is something wrong with it as well, all that is given of it is its row.
        """
        if self._kept is not None:
            yield from self._kept
            return
        pending: list[Decision] = []
        for read in self._rows():
            if isinstance(read, list):
                yield read
                continue
            pending.append(read)
            if len(pending) == SIZE:
                yield Batch.of(pending)
                pending = []
        if pending:
            yield Batch.of(pending)

    def _rows(self) -> Iterator[Decision | list[Violation]]:
        rules = Rules(self.name, self._payoffs, self.schema, kinds=self._count is None)
        for table in self.tables:
            rules.name = table.name
            if not table.columns:  # unreadable, or empty
                broken = [row for _, row in table.rows() if isinstance(row, Violation)]
                yield from ([each] for each in broken or [empty(table.name, "an empty log")])
            elif absent := self._missing_column(table):
                lacking = "`order` or `ids`" if absent == "order" else f"`{absent}`"
                own = ", ".join(table.columns)
                sentence = (
                    f"the log has no column {lacking}; its columns are {own} (if it is one of "
                    "them, say so with --columns or History(columns=...))"
                )
                yield [Violation(table.name, 0, absent, "be a column", own, sentence)]
            else:
                for number, row in table.rows():
                    yield self._read_row(rules, number, row)

    def _read_row(
        self, rules: Rules, number: int, row: Row | Violation
    ) -> Decision | list[Violation]:
        if isinstance(row, Violation):
            return [row]
        if self._given is not None and self._gathers:
            row["context"] = {name: row.get(name) for name in self._given}
        elif self._gathers:
            row["context"] = {name: row[name] for name in row if name not in FORMAT}
        decision, problems = rules.read(number, row)
        if decision is None and row.get("tried") is None and row.get("succeeded") is None:
            decision = Decision(number, number, np.empty(0, np.int64), None)
        return problems if decision is None else decision

    def _missing_column(self, table: LogTable) -> str:
        """Return a required column that the log lacks; empty if there is none."""
        columns = table.columns
        for name in REQUIRED:
            if name in columns or (name == "order" and IDS in columns):
                continue
            if name == "order" and "tried" in columns:
                rows = (row for _, row in table.rows() if isinstance(row, dict))
                first = next((row["tried"] for row in rows if row.get("tried") is not None), 0)
                if isinstance(first, list | tuple | np.ndarray):
                    continue  # the list of attempts is what was played
            return name
        return ""

    def validate(self) -> int:
        """Validate the whole log once; return the number of decisions, or raise :class:`BadLog`."""
        if self._count is None:
            self._validate()
        assert self._count is not None
        return self._count

    def _validate(self, each: Callable[[Batch], None] | None = None) -> None:
        """Check the whole log; ``each`` is called with every batch of decisions."""
        problems: list[Violation] = []
        missing, turns = [np.empty(0, np.int64)], []
        count, more, learnable = 0, 0, True
        for read in self.read():
            if isinstance(read, list):
                count += 1
                more += keep(problems, read)
                continue
            observed = read.observed
            missing.append(np.maximum(count + np.cumsum(observed) - 1, 0)[~observed])
            count += int(observed.sum())
            learnable &= bool(read.has("features")[observed].all())
            turns += [turn for turn in read.more.get("outcome_seq", ()) if turn is not None]
            if each is not None:
                each(read)
        if count == 0:
            problems.append(empty(self.name))
        if problems:
            raise BadLog(problems, more)
        self._count, self._learnable, self._turns = count, learnable, turns
        self._missing = np.concatenate(missing)

    def keep(self) -> History:
        """Read and validate the log once; return a history that need not read it again.

        Evaluations use it because they pass over the decisions more than once. Decisions are kept
        as columns; lists of numbers beyond 16 MB go to a temporary file.
        """
        if self._kept is not None:
            return self
        kept = _Kept()
        self._validate(kept.add)
        whole = self._copy(_kept=kept, _part=(0, None))
        return whole.part(*self._part) if self._part != (0, None) else whole

    def __len__(self) -> int:
        """Return the number of decisions; the first call reads the log."""
        first, last = self._part
        total = self.validate()
        return max(0, (total if last is None else min(last, total)) - first)

    @property
    def before(self) -> int:
        """The number of decisions of the log before this part of it."""
        return self._part[0]

    @property
    def missing(self) -> int:
        """The number of decisions without an outcome; the first call reads the log."""
        self.validate()
        first, last = self._part
        inside = self._missing >= first
        return int((inside if last is None else inside & (self._missing < last)).sum())

    def decisions(self, *, missing: bool = False) -> Iterator[Decision]:
        """Yield every decision that has an outcome, in order; with ``missing``, every decision."""
        batches = self.batches()
        return (each for batch in batches for each in batch if missing or each.outcome is not None)

    def batches(self) -> Iterator[Batch]:
        """Return every decision, also those without an outcome, many at once."""
        self.validate()
        return self._batches()

    def _batches(self) -> Iterator[Batch]:
        (first, last), count = self._part, 0
        for batch in self.read():
            if isinstance(batch, list):  # the file has changed since it was checked
                raise BadLog(batch)
            places = np.maximum(count + np.cumsum(batch.observed) - 1, 0)
            count += int(batch.observed.sum())
            start = int(np.searchsorted(places, first))
            end = len(batch) if last is None else int(np.searchsorted(places, last))
            if start < end:
                part = batch.take(start, end)
                for change in self._changes:
                    part = Batch.of(changed(list(part), *change))
                yield part
            if end < len(batch):
                return

    def learned(self) -> Iterator[Decision]:
        """Yield the decisions to learn from, in the order in which their outcomes arrived.

        Decisions whose outcome overtook an earlier one wait in memory.
        """
        self.validate()
        first, last = self._part
        turns = iter(sorted(self._turns[first:last]))
        due = next(turns, None)
        waiting: dict[int | None, Decision] = {}
        for decision in self.decisions():
            waiting[decision.outcome_seq] = decision
            while due in waiting:
                now = waiting.pop(due)
                due = next(turns, None)
                if now.learned:
                    yield now

    def __iter__(self) -> Iterator[tuple[Ranking, Outcome]]:
        return (decision.observed() for decision in self.keep().learned())

    def pairs(
        self, policy: Policy, progress: Progress | None = None
    ) -> Iterator[tuple[Ranking, Outcome]]:
        """Yield rankings and outcomes with the features of ``policy``, for it to learn from.

        If the log has no ``features``, or those of a different feature map, they are computed from
        its candidates. Candidates that the policy's feature map rejects are rejected before the
        first pair. The log is read once.
        """
        features = getattr(policy, "features", None)
        if self.schema is None:
            self.schema = getattr(policy, "schema", None)
        kept = self.keep()
        rebuild = not kept._features_are(features)
        if rebuild:
            assert features is not None
            kept._rehearse(features.view())
        total = len(kept)
        for done, decision in enumerate(kept.learned()):
            if progress is not None and done % _OFTEN == 0:
                progress(done, total)
            yield decision.observed_by(features) if rebuild else decision.observed()
        if progress is not None:
            progress(total, total)

    def _rehearse(self, features: Features) -> None:
        """Refuse what a feature map refuses, before anything is learned."""
        for decision in self.learned():
            try:
                rows = decision.rows_by(features)
            except InvalidInput as error:
                where = f"{self.name}, row {decision.row}: {error.parameter}"
                raise InvalidInput(where, error.rule, error.value) from None
            tried = decision.ended.tried
            if isinstance(rows, SparseRows) and tried:  # the kinds of fields that are new
                features.observe(rows.take(decision.attributable or slice(tried)))

    def _features_are(self, features: Features | None) -> bool:
        """Tell whether the log's rows are those of a feature map, by the first one played."""
        if features is None:
            return True
        self.validate()
        if not self._learnable:
            return False
        if isinstance(features, Records):  # whose rows grow: the candidates alone tell them
            first = next(self.decisions(), None)
            arrays = features.dim is not None
            return not first or (first.items if arrays else first.given(features)) is None
        if "items" not in self.columns:
            return True
        first = next((each for each in self.decisions() if len(each.order)), None)
        if first is None or first.items is None or first.features is None:
            return first is None
        made, _ = first.observed_by(features)
        logged, _ = first.observed()
        return np.array_equal(made.features, logged.features)

    def part(self, first: int, last: int | None = None) -> History:
        """Return the decisions from ``first`` up to, but not including, ``last``."""
        start = self._part[0] + checks.whole("first", first)
        end = self._part[1]
        if last is not None:
            if last < first:
                raise InvalidInput("last", f"be at least first, {first}", last)
            wanted = self._part[0] + last
            end = wanted if end is None else min(end, wanted)
        return self._copy(_part=(start, end))

    def under(self, payoffs: Payoffs | Revised | None = None, budget: int | None = None) -> History:
        """Return the same decisions under other payoffs, or with a smaller budget.

        ``payoffs`` may be a function of the log's payoffs. See :meth:`Decision.under`.
        """
        return self._copy(_changes=(*self._changes, (payoffs, budget)))

    def _copy(self, **changes: object) -> History:
        copy = object.__new__(History)
        copy.__dict__ = self.__dict__ | changes
        return copy

    def __repr__(self) -> str:
        return f"History({self.name!r})"


def changed(
    decisions: Sequence[Decision], payoffs: Payoffs | Revised | None, budget: int | None
) -> list[Decision]:
    """Return decisions under other payoffs, or with a smaller budget: see :meth:`History.under`."""
    revised: dict[int, Payoffs] = {}  # those of the log, by identity: many decisions share them
    altered = []
    for decision in decisions:
        own, new = decision.payoffs, payoffs
        if callable(payoffs):
            new = None
            if own is not None:
                if id(own) not in revised:
                    revised[id(own)] = payoffs(own)
                new = revised[id(own)]
        altered.append(decision.under(new, budget))  # type: ignore[arg-type]
    return altered


def _open(data: Any, columns: Mapping[str, str]) -> tuple[str, list[LogTable]]:
    """Open tables whose columns are called otherwise than in the format."""
    known = (*COLUMNS, IDS, POSITION, CANDIDATE)
    for name in columns:
        if name not in known:
            raise InvalidInput("columns", f"have keys among {', '.join(known)}", repr(name))
    called, tables = open_tables(data, {own: name for name, own in columns.items()})
    there = _all_columns(open_tables(data)[1]) if columns else ()
    for name, own in columns.items():
        if own not in there:
            raise _no_column("columns", own, there)
        if any(table.columns.count(name) > 1 for table in tables):
            rule = f"not name another column {name!r}, which the log has as well"
            raise InvalidInput("columns", rule, repr(own))
    return called, tables


def _no_column(parameter: str, name: str, columns: Sequence[str]) -> InvalidInput:
    rule = f"name columns of the log, which are {', '.join(columns)}"
    return InvalidInput(parameter, rule, repr(name))


def _all_columns(tables: Sequence[LogTable]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for table in tables for name in table.columns))


class _Kept:
    """Checked decisions as columns, in memory up to a limit; the lists of the others in a file."""

    def __init__(self) -> None:
        self._room = MAX_KEPT_BYTES
        self._batches: list[tuple[Batch, dict[str, int]]] = []  # and where its lists are
        self._file: IO[bytes] | None = None

    def add(self, batch: Batch) -> None:
        lists, places = batch.lists, dict[str, int]()
        self._room -= sum(each.values.nbytes + each.firsts.nbytes for each in lists.values())
        if self._room < 0:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            for name, each in lists.items():
                places[name] = self._file.tell()
                for array in (each.firsts, each.values, each.known):
                    np.save(self._file, array)
            batch = replace(batch, lists={})
        self._batches.append((batch, places))

    def __iter__(self) -> Iterator[Batch]:
        for batch, places in self._batches:
            loaded = {name: self._load(at) for name, at in places.items()}
            yield replace(batch, lists=loaded) if loaded else batch

    def _load(self, place: int) -> Lists:
        assert self._file is not None
        self._file.seek(place)
        return Lists(*(np.load(self._file) for _ in range(3)))


def learn_from(policy: Policy, source: Any, *, progress: Progress | None = None) -> int:
    """Learn from the decisions of a log in the order of their outcomes; return how many.

    The state is the same, bit for bit, as that of a policy that learned online in that order. The
    whole log is validated first: nothing is learned from a log with an error. If the log has no
    ``features``, or those of a different feature map than the policy's, they are computed from its
    ``items``. :meth:`longrank.Policy.learn_from` with a :class:`History` does the same.

    Parameters
    ----------
    source
        A :class:`History` or anything it accepts: a file, a frame, a list of dictionaries.
    progress
        Called with the number of decisions done and their total, every thousand and at the end.
    """
    return policy.learn_from(History.of(source).pairs(policy, progress))
