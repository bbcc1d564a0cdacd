"""A history: decisions and what became of them, from any of the formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from longrank import checks
from longrank.cascade import Outcome, Ranking
from longrank.errors import InvalidInput
from longrank.logs import long_form
from longrank.logs.columns import REQUIRED
from longrank.logs.decision import Decision
from longrank.logs.opening import open_source
from longrank.logs.problems import BadLog, Problem, empty, keep
from longrank.logs.rules import Rules
from longrank.logs.source import Unneeded
from longrank.payoffs import Payoffs

_FOR_EVALUATION: Unneeded = frozenset(
    ("items", "rewards", "losses", "propensity", "prefix_propensities")
)


class History:
    """A log that can be read again and again, one batch in memory at a time.

    Iterating gives pairs of ranking and outcome to learn from, in the order of the outcomes, for
    :meth:`longrank.Policy.learn_from`; :meth:`decisions` gives all that the log has. Before the
    first one the whole log is checked, once, so that nothing is learned from a log with an error
    in its last row.

    Parameters
    ----------
    data
        The path of a .parquet, .csv or .jsonl file, a pandas or polars frame, a pyarrow table, or
        a list of dictionaries, with the columns that ``longrank logs columns`` lists.

    Examples
    --------
    >>> history = History([{"id": 1, "items": [[0.5], [0.1]], "order": [1, 0],
    ...                     "tried": 2, "succeeded": True}])
    >>> [(ranking.order.tolist(), outcome) for ranking, outcome in history]
    [([1, 0], Outcome(tried=2, succeeded=True))]
    """

    def __init__(self, data: Any) -> None:
        source = open_source(data)
        self.source = long_form.decisions(source) if long_form.is_long(source.columns) else source
        self.name = source.name
        self.table_columns = source.columns
        self._count: int | None = None
        self._learnable = False  # whether every row has features to learn from
        self._turns: list[int] = []  # of every row, where the log tells in which order to learn
        self._part: tuple[int, int | None] = (0, None)
        self._change: Callable[[Decision], Decision] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the table; those of a decision where it is in long form."""
        return self.source.columns

    def read(self, unneeded: Unneeded = frozenset()) -> Iterator[Decision | list[Problem]]:
        """Every row: the decision, or what is wrong with it. Checks nothing else.

        A decision whose outcome is not known yet, neither ``tried`` nor ``succeeded``, is passed
        over: unobserved is not failed.
        """
        for name in REQUIRED:
            if name not in self.columns:
                shown = ", ".join(self.columns) or "none"
                yield [Problem(self.name, 0, name, "be a column", shown)]
                return
        rules = Rules(self.name)
        for number, row in self.source.rows(unneeded):
            if isinstance(row, Problem):
                yield [row]
                continue
            if row.get("tried") is None and row.get("succeeded") is None:
                continue
            decision, problems = rules.read(number, row)
            yield problems if decision is None else decision

    def validate(self) -> int:
        """Check all of it, once; returns the number of decisions, or raises :class:`BadLog`."""
        if self._count is None:
            kept: list[Problem] = []
            more = count = 0
            self._learnable, self._turns = True, []
            for found in self.read():
                count += 1
                if not isinstance(found, list):
                    self._learnable &= found.features is not None
                    if found.turn is not None:
                        self._turns.append(found.turn)
                else:
                    more += keep(kept, found)
            if count == 0:
                kept.append(empty(self.name))
            if kept:
                raise BadLog(kept, more)
            self._count = count
        return self._count

    def __len__(self) -> int:
        """The number of decisions; reads the log, the first time."""
        first, last = self._part
        total = self.validate()
        return max(0, (total if last is None else min(last, total)) - first)

    def decisions(self) -> Iterator[Decision]:
        """Every decision, in order."""
        self.validate()
        return self._decisions(frozenset())

    def _decisions(self, unneeded: Unneeded) -> Iterator[Decision]:
        first, last = self._part
        for i, found in enumerate(self.read(unneeded)):
            if last is not None and i >= last:
                return
            if i < first:
                continue
            if isinstance(found, list):  # the file has changed since
                raise BadLog(found)
            yield found if self._change is None else self._change(found)

    def learned(self, *, items: bool = False) -> Iterator[Decision]:
        """The decisions to learn from, in the order in which their outcomes came in.

        Those whose outcome came before that of an earlier decision are kept in memory meanwhile.
        Where all have ``features`` there need not be ``items``, which take time to read.
        """
        self.validate()
        enough = self._learnable and self._change is None and not items
        unneeded = _FOR_EVALUATION if enough else frozenset()
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

    def part(self, first: int, last: int | None = None) -> History:
        """The decisions from ``first`` up to, not including, ``last``; counted in this history."""
        start = self._part[0] + checks.whole("first", first)
        end = self._part[1]
        if last is not None:
            if last < first:
                raise InvalidInput("last", f"be at least first, {first}", last)
            wanted = self._part[0] + last
            end = wanted if end is None else min(end, wanted)
        return self._copy((start, end), self._change)

    def under(
        self,
        payoffs: Payoffs | Callable[[Payoffs], Payoffs] | None = None,
        budget: int | None = None,
    ) -> History:
        """The same decisions under other payoffs, or with a smaller budget.

        ``payoffs`` may be a function of those of the log. See :meth:`Decision.under`.
        """
        before = self._change

        def change(decision: Decision) -> Decision:
            one = decision if before is None else before(decision)
            new = payoffs(one.payoffs) if callable(payoffs) and one.payoffs else payoffs
            return one.under(new if isinstance(new, Payoffs) else None, budget)

        return self._copy(self._part, change)

    def _copy(
        self, part: tuple[int, int | None], change: Callable[[Decision], Decision] | None
    ) -> History:
        copy = object.__new__(History)
        copy.__dict__ = self.__dict__ | {"_part": part, "_change": change}
        return copy

    def __repr__(self) -> str:
        return f"History({self.name!r})"
