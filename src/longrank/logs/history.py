"""A history: the decisions of a log and their outcomes, read from any format."""

from __future__ import annotations

import functools
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any, ParamSpec, TypeVar

import numpy as np

from longrank import checks
from longrank.cascade import Outcome, Ranking
from longrank.errors import InvalidInput
from longrank.features import Features
from longrank.logs import long_form
from longrank.logs.columns import (
    CANDIDATE,
    COLUMNS,
    FOR_EVALUATION,
    IDS,
    POSITION,
    REQUIRED,
)
from longrank.logs.decision import Decision
from longrank.logs.formats import LogTable, Unneeded, open_table
from longrank.logs.rules import Rules
from longrank.logs.violations import BadLog, Violation, empty, keep
from longrank.payoffs import Payoffs
from longrank.policies import Policy
from longrank.rows import SparseRows
from longrank.schema import Schema

P = ParamSpec("P")
T = TypeVar("T")
MAX_KEPT_BYTES = 256 * 2**20  # items and features that History.keep holds in memory
Progress = Callable[[int, int], None]
FORMAT = frozenset((*COLUMNS, IDS))  # columns that are not fields of the context
OTHERWISE = frozenset(("context", "items", "features"))  # with one of them no other column is
_OFTEN = 1000  # decisions between two reports of progress


class History:
    """A log that can be read repeatedly, one batch in memory at a time.

    Iterating gives pairs of ranking and outcome to learn from, in the order of the outcomes;
    :meth:`decisions` gives everything that the log holds, on demand also decisions without an
    outcome (neither ``tried`` nor ``succeeded``), of which there are :attr:`missing`. The whole log
    is checked once before the first one, so that nothing is learned from a log with an error in its
    last row.

    Parameters
    ----------
    data
        The path of a .parquet, .csv or .jsonl file, a pandas or polars frame, a pyarrow table, or
        a list of dictionaries, with the columns that ``longrank logs columns`` lists.
    columns
        What columns of the format are called in this log, where that is something else:
        ``{"id": "payment", "ids": "routes"}``.
    context
        The columns that are fields of the context. By default, where candidates are records and
        there is no column ``context``: all that are not part of the format.
    payoffs
        Those of decisions without ``rewards`` and ``losses``.
    schema
        Which kinds of fields are declared, and which fields are ignored, where the log is checked;
        by default the schema of the first policy that learns from it.

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
        table = _open(data, {} if columns is None else columns)
        self.name = table.name
        self.table_columns = table.columns
        self._payoffs, self.schema = payoffs, schema
        self._given = None if context is None else tuple(context)
        for name in self._given or ():
            if name not in table.columns:
                raise InvalidInput("context", "name columns of the log", repr(name))
        self._gathers = False  # whether the context of a row is made of its columns
        self.fields: tuple[str, ...] = ()  # columns of the user's own that are fields
        if long_form.is_long(table.columns):
            self.table, self.fields = long_form.by_decision(table, self._given)
        else:
            self.table = table
            if self._given is not None:
                self._gathers, self.fields = True, self._given
            elif "candidates" in table.columns and not OTHERWISE.intersection(table.columns):
                self._gathers = True
                self.fields = tuple(name for name in table.columns if name not in FORMAT)
        self._count: int | None = None
        self._learnable = False  # whether every row has features to learn from
        self._turns: list[int] = []  # of every row, if the log has an order to learn in
        self._missing: list[
            int
        ] = []  # the place of each decision without an outcome: that of the decision before it
        self._part: tuple[int, int | None] = (0, None)
        self._change: Callable[[Decision], Decision] | None = None
        self._kept: _Kept | None = None

    @classmethod
    def of(cls, source: Any) -> History:
        """Return a history of anything that holds a log; a history is returned as it is."""
        return source if isinstance(source, History) else cls(source)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table; of its decisions if the table is in long form."""
        return self.table.columns

    def read(
        self, unneeded: Unneeded = frozenset(), *, missing: bool = False
    ) -> Iterator[Decision | list[Violation]]:
        """Read every row once: the decision, or what is wrong with it.

        A decision without an outcome, neither ``tried`` nor ``succeeded``, is given only if
        ``missing`` ones are wanted: unobserved is not failed. If there is something wrong with it
        as well, all that is given of it is its row and its id.
        """
        if self._kept is not None:
            yield from (one for one in self._kept if missing or one.outcome is not None)
            return
        if absent := self._missing_column():
            shown = ", ".join(self.columns) or "none"
            rule = "be a column"
            if self.columns:
                rule += " (or say which one it is, with --columns or History(columns=...))"
            yield [Violation(self.name, 0, absent, rule, shown)]
            return
        rules = Rules(self.name, self._payoffs, self.schema, kinds=self._count is None)
        for number, row in self.table.read(unneeded):
            if isinstance(row, Violation):
                yield [row]
                continue
            unobserved = row.get("tried") is None and row.get("succeeded") is None
            if unobserved and not missing:
                continue
            for name in unneeded:  # frames have read it all the same
                row.pop(name, None)
            if self._given is not None and self._gathers:
                row["context"] = {name: row.get(name) for name in self._given}
            elif self._gathers:
                row["context"] = {name: row[name] for name in row if name not in FORMAT}
            decision, problems = rules.read(number, row)
            if decision is None and unobserved:
                decision = Decision(number, number, np.empty(0, np.int64), None)
            yield problems if decision is None else decision

    def _missing_column(self) -> str:
        """Return a column that the log needs and has not; empty if it has all."""
        for name in REQUIRED:
            if name in self.columns or (name == "order" and IDS in self.columns):
                continue
            if name == "order" and "tried" in self.columns:
                rows = (row.get("tried") for _, row in self.table.read() if isinstance(row, dict))
                first = next((tried for tried in rows if tried is not None), 0)
                if isinstance(first, list | tuple | np.ndarray):
                    continue  # what was tried is listed: then that is what was played
            return name
        return ""

    def validate(self) -> int:
        """Check the whole log, once; return the number of decisions, or raise :class:`BadLog`."""
        if self._count is None:
            self._validate(lambda _: None)
        assert self._count is not None
        return self._count

    def _validate(self, each: Callable[[Decision], None]) -> None:
        """Check the whole log; ``each`` is called with every decision."""
        kept: list[Violation] = []
        more = count = 0
        learnable, turns, missing = True, [], []
        for found in self.read(missing=True):
            if isinstance(found, Decision) and found.outcome is None:
                missing.append(max(count - 1, 0))
                each(found)
                continue
            count += 1
            if isinstance(found, list):
                more += keep(kept, found)
                continue
            learnable &= found.features is not None
            if found.turn is not None:
                turns.append(found.turn)
            each(found)
        if count == 0:
            kept.append(empty(self.name))
        if kept:
            raise BadLog(kept, more)
        self._count, self._learnable, self._turns = count, learnable, turns
        self._missing = missing

    def keep(self) -> History:
        """Read and check the log once; return a history that needs not read it again.

        Evaluations use it, since they pass over the decisions many times. Items and features
        beyond 256 MB are kept in a temporary file, and the rest in memory.
        """
        if self._kept is not None:
            return self
        kept, count = _Kept(), 0

        def add(decision: Decision) -> None:
            nonlocal count
            count += decision.outcome is not None
            if self._holds(max(count - 1, 0)):
                kept.add(decision)

        self._validate(add)
        first, last = self._part
        changes = {
            "_count": len(range(self._count or 0)[first:last]),
            "_turns": self._turns[first:last],
            "_missing": [place - first for place in self._missing if self._holds(place)],
        }
        return self._copy(_kept=kept, _part=(0, None), **changes)

    def _holds(self, place: int) -> bool:
        """Tell whether the decision at a place of the log is in this part of it."""
        first, last = self._part
        return place >= first and (last is None or place < last)

    def __len__(self) -> int:
        """Return the number of decisions; the first call reads the log."""
        first, last = self._part
        total = self.validate()
        return max(0, (total if last is None else min(last, total)) - first)

    @property
    def missing(self) -> int:
        """The number of decisions without an outcome; the first call reads the log."""
        self.validate()
        return sum(map(self._holds, self._missing))

    def decisions(self, *, missing: bool = False) -> Iterator[Decision]:
        """Return every decision that has an outcome, in order; or, with ``missing``, every one."""
        self.validate()
        return self._decisions(frozenset(), missing=missing)

    def _decisions(self, unneeded: Unneeded, *, missing: bool = False) -> Iterator[Decision]:
        last, count = self._part[1], 0
        for found in self.read(unneeded, missing=missing):
            count += isinstance(found, list) or found.outcome is not None
            place = max(count - 1, 0)
            if last is not None and place >= last:
                return
            if not self._holds(place):
                continue
            if isinstance(found, list):  # the file has changed since it was checked
                raise BadLog(found)
            yield found if self._change is None else self._change(found)

    def learned(self, *, items: bool = False) -> Iterator[Decision]:
        """Return the decisions to learn from, in the order in which their outcomes arrived.

        Decisions whose outcome overtook that of an earlier one wait in memory. ``items`` are read
        only if wanted, or if some decision has no ``features``: reading them takes time.
        """
        self.validate()
        return self._learned(FOR_EVALUATION if self._learnable and not items else frozenset())

    def _learned(self, unneeded: Unneeded) -> Iterator[Decision]:
        if self._change is not None:
            unneeded = frozenset()
        first, last = self._part
        turns = iter(sorted(self._turns[first:last]))
        due = next(turns, None)
        waiting: dict[int | None, Decision] = {}
        for decision in self._decisions(unneeded):
            waiting[decision.turn] = decision
            while due in waiting:
                now = waiting.pop(due)
                due = next(turns, None)
                if now.learned:
                    yield now

    def __iter__(self) -> Iterator[tuple[Ranking, Outcome]]:
        return (decision.observed() for decision in self.learned())

    def pairs(
        self, policy: Policy, progress: Progress | None = None
    ) -> Iterator[tuple[Ranking, Outcome]]:
        """Return rankings and outcomes with the features of ``policy``, for it to learn from.

        If the log has no ``features``, or those of another feature map, they are made from its
        candidates; what the policy's feature map refuses is refused before the first pair.
        """
        features = getattr(policy, "features", None)
        if self.schema is None:
            self.schema = getattr(policy, "schema", None)
        rebuild = not self._features_are(features)
        if rebuild:
            assert features is not None
            self._rehearse(features.view())
        total = len(self)
        unneeded = FOR_EVALUATION - {"items"} if rebuild or not self._learnable else FOR_EVALUATION
        for done, decision in enumerate(self._learned(unneeded)):
            if progress is not None and done % _OFTEN == 0:
                progress(done, total)
            yield decision.observed_by(features) if rebuild else decision.observed()
        if progress is not None:
            progress(total, total)

    def _rehearse(self, features: Features) -> None:
        """Refuse what a feature map refuses, before anything is learned."""
        problems: list[InvalidInput] = []

        def rehearse(decision: Decision) -> None:
            if problems or not decision.learned:
                return
            try:
                rows = decision.rows_by(features)
            except InvalidInput as error:
                where = f"{self.name}, row {decision.row}: {error.parameter}"
                problems.append(InvalidInput(where, error.rule, error.value))
                return
            tried = decision.ended.tried
            if isinstance(rows, SparseRows) and tried:  # the kinds of fields that are new
                features.observe(rows.take(decision.attributable or slice(tried)))

        whole = self._part == (0, None) and self._change is None
        if self._count is None and whole and "outcome_seq" not in self.columns:
            self._validate(rehearse)  # both at once
        else:
            self.validate()
            for decision in self._learned(FOR_EVALUATION - {"items"}):
                rehearse(decision)
        if problems:
            raise problems[0]

    def _features_are(self, features: Features | None) -> bool:
        """Tell whether the log's rows are those of a feature map, by the first one played."""
        if features is None or features.sparse:
            return features is None
        self.validate()
        if not self._learnable:
            return False
        if features.grows:  # what rows were like then is known from the candidates alone
            return "items" not in self.columns
        if "items" not in self.columns:
            return True
        first = next((one for one in self.decisions() if len(one.order)), None)
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

    def under(
        self,
        payoffs: Payoffs | Callable[[Payoffs], Payoffs] | None = None,
        budget: int | None = None,
    ) -> History:
        """Return the same decisions under other payoffs, or with a smaller budget.

        ``payoffs`` may be a function of those of the log. See :meth:`Decision.under`.
        """
        before = self._change

        def change(decision: Decision) -> Decision:
            one = decision if before is None else before(decision)
            new = payoffs(one.payoffs) if callable(payoffs) and one.payoffs else payoffs
            return one.under(new if isinstance(new, Payoffs) else None, budget)

        return self._copy(_change=change)

    def _copy(self, **changes: object) -> History:
        copy = object.__new__(History)
        copy.__dict__ = self.__dict__ | changes
        return copy

    def __repr__(self) -> str:
        return f"History({self.name!r})"


def _open(data: Any, columns: Mapping[str, str]) -> LogTable:
    """Open a table whose columns are called otherwise than in the format."""
    known = (*COLUMNS, IDS, POSITION, CANDIDATE)
    for name in columns:
        if name not in known:
            raise InvalidInput("columns", f"have keys among {', '.join(known)}", repr(name))
    table = open_table(data, {own: name for name, own in columns.items()})
    for name, own in columns.items():
        if name not in table.columns:
            raise InvalidInput("columns", "name columns of the log", repr(own))
        if table.columns.count(name) > 1:
            rule = f"not name another column {name!r}, which the log has as well"
            raise InvalidInput("columns", rule, repr(own))
    return table


class _Kept:
    """Checked decisions, in memory up to a limit; the matrices of the others in a file."""

    def __init__(self) -> None:
        self._room = MAX_KEPT_BYTES
        self._entries: list[tuple[Decision, dict[str, tuple[int, tuple[int, ...]]]]] = []
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, decision: Decision) -> None:
        found = {"items": decision.items, "features": decision.features}
        matrices = {name: matrix for name, matrix in found.items() if matrix is not None}
        self._room -= sum(matrix.nbytes for matrix in matrices.values())
        if self._room >= 0:
            self._entries.append((decision, {}))
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        places = {}
        for name, matrix in matrices.items():
            places[name] = self._file.tell(), matrix.shape
            self._file.write(matrix.tobytes())
        self._entries.append((replace(decision, items=None, features=None), places))

    def __iter__(self) -> Iterator[Decision]:
        for decision, places in self._entries:
            yield replace(decision, **self._load(places)) if places else decision

    def _load(self, places: dict[str, tuple[int, tuple[int, ...]]]) -> dict[str, Any]:
        assert self._file is not None
        found = {}
        for name, (start, shape) in places.items():
            self._file.seek(start)
            data = self._file.read(8 * int(np.prod(shape)))
            found[name] = np.frombuffer(data).reshape(shape).copy()
        return found


def history_is_source(function: Callable[P, T]) -> Callable[P, T]:
    """Accept the former name of the parameter ``source`` with a warning."""

    @functools.wraps(function)
    def call(*args: P.args, **settings: P.kwargs) -> T:
        if "history" in settings:
            text = f"{function.__name__}: the parameter 'history' is now called 'source'"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            settings["source"] = settings.pop("history")
        return function(*args, **settings)

    return call


@history_is_source
def learn_from(policy: Policy, source: Any, *, progress: Progress | None = None) -> int:
    """Learn the decisions of a log in the order of their outcomes; return how many.

    The state is the same, bit for bit, as that of a policy that learned them online in that
    order. The whole log is checked first: nothing is learned from a log with an error. If the
    log has no ``features``, or those of another feature map than the policy's, they are made from
    its ``items``. :meth:`longrank.Policy.learn_from` of a :class:`History` does the same.

    Parameters
    ----------
    source
        A :class:`History`, or whatever it takes: a file, a frame, a list of dictionaries.
    progress
        Called with the number of decisions done and their total, every thousand and at the end.
    """
    return policy.learn_from(History.of(source).pairs(policy, progress))
