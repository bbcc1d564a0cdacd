"""Long form, one row per candidate, turned into one row per decision."""

from __future__ import annotations

from typing import Any

import numpy as np

from longrank.errors import InvalidInput
from longrank.logs.columns import CANDIDATE, COLUMNS, FEATURE_PREFIX, POSITION, Row
from longrank.logs.formats import LogTable, Rows, Unneeded
from longrank.logs.rules import whole
from longrank.logs.violations import Violation


def is_long(columns: tuple[str, ...]) -> bool:
    """Tell whether a table has one row per candidate."""
    return POSITION in columns


def by_decision(table: LogTable) -> LogTable:
    """Return the log with one row per decision, numbered by its first candidate."""
    features = [name for name in table.columns if name.startswith(FEATURE_PREFIX)]
    kept = [name for name in table.columns if name in COLUMNS]
    made = [name for name in ("items",) if features]
    made += ["candidates"] if CANDIDATE in table.columns else []

    def rows(_: Unneeded) -> Rows:
        group: list[tuple[int, Row]] = []
        for number, row in table.read():
            if isinstance(row, Violation):
                yield number, row
                continue
            if group and row.get("id") != group[0][1].get("id"):
                yield _join(table.name, group, kept, features)
                group = []
            group.append((number, row))
        if group:
            yield _join(table.name, group, kept, features)

    return LogTable(table.name, (*kept, *made, "order"), rows)


def _join(
    name: str, group: list[tuple[int, Row]], kept: list[str], features: list[str]
) -> tuple[int, Row | Violation]:
    first, joined = group[0][0], {column: group[0][1].get(column) for column in kept}
    for number, row in group[1:]:
        for column in kept:
            if not _same(row.get(column), joined[column]):
                shown = repr(joined[column])
                rule = f"be the same in all rows of a decision, as {shown} in row {first}"
                return first, Violation(name, number, column, rule, repr(row.get(column)))
    places: dict[int, int] = {}
    for index, (number, row) in enumerate(group):
        try:
            position = whole(row, POSITION)
        except InvalidInput:
            position = 0
        if position is None:
            continue
        if position < 1:
            rule = "be 1, 2, ... or missing"
            return first, Violation(name, number, POSITION, rule, repr(row[POSITION]))
        if position in places:
            rule = "be unique within a decision"
            return first, Violation(name, number, POSITION, rule, repr(position))
        places[position] = index
    if sorted(places) != list(range(1, len(places) + 1)):
        rule = "count from 1 without a gap"
        return first, Violation(name, first, POSITION, rule, repr(sorted(places)))
    joined["order"] = [places[position] for position in sorted(places)]
    if features:
        items = [[row.get(column) for column in features] for _, row in group]
        joined["items"] = items
        for (number, _), values in zip(group, items, strict=True):
            for column, value in zip(features, values, strict=True):
                if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                    return first, Violation(name, number, column, "be a number", repr(value))
    if CANDIDATE in group[0][1]:
        joined["candidates"] = [row.get(CANDIDATE) for _, row in group]
    return first, joined


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)
