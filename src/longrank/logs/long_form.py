"""Long form, one row per candidate, turned into one row per decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from longrank.errors import InvalidInput
from longrank.logs.columns import CANDIDATE, COLUMNS, FEATURE_PREFIX, PAID, POSITION, PRICES, Row
from longrank.logs.formats import LogTable, Rows
from longrank.logs.rules import whole
from longrank.logs.violations import Violation
from longrank.schema import ID
from longrank.schema.prices import PRICES as PRICE_FIELDS

Group = list[tuple[int, Row]]


def by_decision(
    tables: Sequence[LogTable], context: Sequence[str] | None = None
) -> tuple[list[LogTable], tuple[str, ...]]:
    """Return the log with one row per decision, numbered by its first candidate.

    Also returns which columns are fields of records or of their context.
    """
    joints = [_Joint(table, context) for table in tables]
    for joint in joints:
        joint.all = joints
    joined = [LogTable(joint.table.name, joint.columns, joint.rows) for joint in joints]
    return joined, tuple(dict.fromkeys(name for joint in joints for name in joint.fields))


@dataclass
class _Joint:
    """The rows of a table, those of a decision joined."""

    table: LogTable
    given: Sequence[str] | None  # the fields of the context, if declared

    all: Sequence[_Joint] = ()  # those of all files of the log

    def __post_init__(self) -> None:
        names = self.table.columns
        self.features = tuple(name for name in names if name.startswith(FEATURE_PREFIX))
        own = (name for name in names if name not in (*COLUMNS, POSITION, CANDIDATE))
        self.fields = () if self.features else tuple(own)
        self.prices = tuple(name for name in (*PRICES, PAID) if name in names)
        self.kept = tuple(n for n in names if n in COLUMNS and n not in self.prices)
        # without a column for the number of attempts, each row says how its own attempt ended
        self.single = "tried" not in names and "succeeded" in names
        if self.single:
            self.kept = tuple(name for name in self.kept if name != "succeeded")
        made = ["order", *self.prices, *(("tried", "succeeded") if self.single else ())]
        if self.features:
            made.append("items")
        if CANDIDATE in names or self.fields:
            made.append("candidates")
        if self.fields and "context" not in names:
            made.append("context")
        self.columns = (*self.kept, *made)

    @property
    def shared(self) -> frozenset[str]:
        """The fields of the context: the same for all candidates of each decision of the log."""
        return self._constant.difference(
            *(set(joint.fields) - joint._constant for joint in self.all if joint is not self)
        )

    @cached_property
    def _constant(self) -> frozenset[str]:
        """The same by the decisions of this file."""
        if self.given is not None or "context" in self.kept or not self.fields:
            return frozenset(self.given or ())
        constant = set(self.fields) - PRICE_FIELDS
        for group in self._groups():
            if isinstance(group, list):
                first = group[0][1]
                for _, row in group[1:]:
                    constant -= {n for n in constant if not _same(row.get(n), first.get(n))}
        return frozenset(constant)

    def _groups(self) -> Iterator[Group | tuple[int, Violation]]:
        """Return the rows of each decision, or a row that cannot be read."""
        group: Group = []
        for number, row in self.table.rows():
            if isinstance(row, Violation):
                yield number, row
                continue
            if group and row.get("id") != group[0][1].get("id"):
                yield group
                group = []
            group.append((number, row))
        if group:
            yield group

    def rows(self) -> Rows:
        """Return a row per decision."""
        for group in self._groups():
            if isinstance(group, tuple):
                yield group
                continue
            try:
                yield group[0][0], self._join(group)
            except _Broken as broken:
                yield group[0][0], Violation(self.table.name, *broken.args)

    def _join(self, group: Group) -> Row:
        first, joined = group[0][0], {column: group[0][1].get(column) for column in self.kept}
        for number, row in group[1:]:
            for column in self.kept:
                if not _same(row.get(column), joined[column]):
                    shown = repr(joined[column])
                    rule = f"be the same in all rows of a decision, as {shown} in row {first}"
                    raise _Broken(number, column, rule, repr(row.get(column)))
        order = joined["order"] = _order(group)
        if self.single:
            joined |= _outcome(group, order)
        for column in self.prices:
            paid = column == PAID
            joined[column] = _ends(group, order, PAID) or None if paid else _prices(group, column)
        if self.features:
            joined["items"] = self._items(group)
        if "candidates" in self.columns and not self.features:
            own = [name for name in self.fields if name not in self.shared]
            joined["candidates"] = [
                ({ID: row[CANDIDATE]} if CANDIDATE in row else {})
                | {name: row.get(name) for name in own}
                for _, row in group
            ]
        elif "candidates" in self.columns:
            joined["candidates"] = [row.get(CANDIDATE) for _, row in group]
        if self.fields and "context" not in self.kept:
            row = group[0][1]
            joined["context"] = {n: row.get(n) for n in self.fields if n in self.shared}
        return joined

    def _items(self, group: Group) -> list[list[Any]]:
        items = [[row.get(column) for column in self.features] for _, row in group]
        for (number, _), values in zip(group, items, strict=True):
            for column, value in zip(self.features, values, strict=True):
                if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                    raise _Broken(number, column, "be a number", repr(value))
        return items


class _Broken(Exception):
    """A rule that a row breaks: its number, column, rule and value."""


def _order(group: Group) -> list[int]:
    """Return what was played, by the positions of the rows."""
    places: dict[int, int] = {}
    for index, (number, row) in enumerate(group):
        try:
            position = whole(row, POSITION)
        except InvalidInput:
            position = 0
        if position is None:
            continue
        if position < 1:
            raise _Broken(number, POSITION, "be 1, 2, ... or missing", repr(row[POSITION]))
        if position in places:
            raise _Broken(number, POSITION, "be unique within a decision", repr(position))
        places[position] = index
    if sorted(places) != list(range(1, len(places) + 1)):
        raise _Broken(group[0][0], POSITION, "count from 1 without a gap", repr(sorted(places)))
    return [places[position] for position in sorted(places)]


def _ends(group: Group, order: list[int], column: str) -> list[Any]:
    """Return what a column says of the attempts: of the first of those played, and of no others."""
    for i, (number, row) in enumerate(group):
        if i not in order and row.get(column) is not None:
            raise _Broken(number, column, "be missing where position is", repr(row[column]))
    ends = [group[i][1].get(column) for i in order]
    tried = sum(end is not None for end in ends)
    if None in ends[:tried]:
        number = group[order[ends.index(None)]][0]
        raise _Broken(number, column, "be known of the first attempts", "nothing")
    return ends[:tried]


def _outcome(group: Group, order: list[int]) -> Row:
    """Return how a decision ended, where each row says how its own attempt did."""
    ends = _ends(group, order, "succeeded")
    for i, won in zip(order, ends[:-1], strict=False):
        if won:
            rule = "be true of the last attempt only"
            raise _Broken(group[i][0], "succeeded", rule, repr(won))
    return {"tried": len(ends) or None, "succeeded": ends[-1] if ends else None}


def _prices(group: Group, column: str) -> list[Any] | None:
    """Return what a column says of each candidate; None if it says nothing of all of them."""
    prices = [row.get(column) for _, row in group]
    if all(price is None for price in prices):
        return None
    if None in prices:
        rule = "be present for all candidates of a decision, or for none"
        raise _Broken(group[prices.index(None)][0], column, rule, "nothing")
    return prices


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return np.array_equal(first, second)
    return bool(first == second) or (first != first and second != second)
