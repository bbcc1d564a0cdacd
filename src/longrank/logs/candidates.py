"""The candidates of a row: records, their context, and what was played of them."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from longrank import checks
from longrank.arrays import Array, Indices
from longrank.errors import InvalidInput
from longrank.logs.columns import IDS, Row
from longrank.rows import Slot
from longrank.schema import ID, Record, Schema, check_ids, identities
from longrank.schema.values import shorten

_MAX_REMEMBERED = 1 << 12  # records and names
_MAX_LETTERS = 1 << 22  # of JSON texts whose meaning is remembered


class Offered:
    """The candidates of a decision.

    ``records`` is None where candidates are arrays of numbers, of which ``names`` are the ids.
    """

    __slots__ = ("_names", "records", "size")

    def __init__(self, names: list[Any] | None, records: list[Record] | None) -> None:
        self._names, self.records = names, records
        known = records if records is not None else names
        self.size = len(known or ())

    @property
    def names(self) -> list[Any]:
        """The ids of the candidates; the position of one without."""
        if self._names is None:
            assert self.records is not None
            self._names = identities(self.records, range(self.size))
        return self._names

    @property
    def numbered(self) -> bool:
        """Whether the ids are whole numbers, by the first one."""
        if self.size == 0:
            return False
        return type(self.records[0].get(ID) if self.records else self.names[0]) is int


class CandidateReader:
    """Reads candidates and context of one row after the other.

    The kinds of their fields are those that ``schema`` declares, or those of earlier rows: a
    number stays a number.
    """

    def __init__(self, schema: Schema | None = None) -> None:
        given = Schema() if schema is None else schema
        kinds = {name: kind.name for name, kind in given.fields.items()}  # any number, without log
        self._sides = Schema(kinds, ignore=given.ignore).sides
        self.prices = given.sides["candidate"].prices  # fields that are no features
        self._fields: dict[str, tuple[Slot, ...]] = {}
        self._checked: dict[int, Record] = {}  # candidates by identity: many rows share them
        self._names: dict[tuple[type, str | int], Record] = {}
        self._texts: dict[str, Any] = {}
        self._letters = 0  # in these texts

    def candidates(self, row: Row, items: Array | None, named: bool) -> Offered | None:
        """Return the candidates; ``named`` if plain names are records too."""
        if row.get("candidates") is None:
            return None
        cell = self._cell(row, "candidates", "a list of records or names")
        if not isinstance(cell, list):
            raise InvalidInput("candidates", "be a list", shorten(cell))
        kinds = set(map(type, cell))
        if items is not None and len(items) != len(cell):
            raise InvalidInput("candidates", f"be {len(items)}, as many as items", len(cell))
        if any(issubclass(kind, Mapping) for kind in kinds):
            records = cell if kinds == {dict} else _as_dictionaries(cell)
            check_ids(records)
            return Offered(None, records)
        if any(issubclass(kind, bool) or not issubclass(kind, str | int) for kind in kinds):
            raise InvalidInput("candidates", "be texts or whole numbers", shorten(cell))
        if len(set(cell)) != len(cell):
            raise InvalidInput("candidates", "be unique", shorten(cell))
        return Offered(cell, [self._named(name) for name in cell] if named else None)

    def _named(self, name: str | int) -> Record:
        """Return the record of a plain name, the same for the same name."""
        known = self._names.get((type(name), name))
        if known is None:
            if len(self._names) >= _MAX_REMEMBERED:
                self._names.clear()
            known = self._names[type(name), name] = {ID: name}
        return known

    def context(self, row: Row) -> Record | None:
        """Return what the candidates share."""
        if row.get("context") is None:
            return None
        cell = self._cell(row, "context", "a dictionary")
        if not isinstance(cell, Mapping):
            raise InvalidInput("context", "be a dictionary", shorten(cell))
        return cell

    def check(self, records: list[Record], context: Record | None) -> None:
        """Refuse a field without a kind, or whose kind differs from earlier rows."""
        checked = self._checked
        new = [record for record in records if id(record) not in checked]
        if new:
            self._check("candidate", records)
            if len(checked) > _MAX_REMEMBERED:
                checked.clear()
            checked.update((id(record), record) for record in new)
        self._check("context", [{} if context is None else context])

    def _check(self, name: str, records: list[Record]) -> None:
        side = self._sides[name]
        encoded = side.encode(records)
        if encoded.fields != self._fields.get(name):
            side.observe(encoded.fields, encoded.raw)
            self._fields[name] = encoded.fields

    def _cell(self, row: Row, column: str, what: str) -> Any:
        """Return the value of a cell, decoded if it is JSON text; equal texts share one object."""
        value = row[column]
        if isinstance(value, np.ndarray):
            return value.tolist()
        if isinstance(value, tuple):
            return list(value)
        if not isinstance(value, str):
            return value
        meaning = self._texts.get(value)
        if meaning is None:
            try:
                meaning = json.loads(value)
            except (ValueError, RecursionError):
                rule = f"be {what}, or JSON text of it"
                raise InvalidInput(column, rule, shorten(value)) from None
            self._letters += len(value)
            if self._letters > _MAX_LETTERS:
                self._texts.clear()
                self._letters = len(value)
            self._texts[value] = meaning
        return meaning


def played(row: Row, offered: Offered | None, size: int | None) -> Indices:
    """Return what was played, as indices."""
    column = "order"
    if row.get("order") is None:
        if row.get(IDS) is not None:
            column = IDS
        elif isinstance(row.get("tried"), list | tuple | np.ndarray):
            column = "tried"  # everything played was attempted
    entries = listed(row, column)
    if column == IDS or any(isinstance(entry, str) for entry in entries):
        if offered is None:
            raise InvalidInput(
                column, "hold indices where candidates are missing", shorten(entries)
            )
        entries = _find(entries, offered.names, column)
    for entry in entries:
        index = checks.whole(column, entry)
        if size is not None and index >= size:
            raise InvalidInput(column, f"hold indices below {size}, the candidates", index)
    if len(set(entries)) != len(entries):
        raise InvalidInput(column, "hold no candidate twice", shorten(entries))
    return np.array(entries, np.int64)


def two_readings(row: Row, order: Indices, offered: Offered | None) -> str:
    """Return the column whose whole numbers were read as positions, and may be ids.

    Empty where ``ids`` says what they are, or both come to the same.
    """
    if offered is None or not offered.numbered or row.get(IDS) is not None:
        return ""
    column, names = "tried" if row.get("order") is None else "order", offered.names
    entries = listed(row, column)
    if len(set(names)) < len(names) or not set(names).issuperset(entries):
        return ""
    return column if [names.index(each) for each in entries] != order.tolist() else ""


def attempted(row: Row, order: Indices | None, offered: Offered | None) -> int:
    """Return the number of attempts, where ``tried`` lists them."""
    entries = listed(row, "tried")
    if order is None:
        return len(entries)
    named = row.get(IDS) is not None or any(isinstance(entry, str) for entry in entries)
    own = order.tolist()
    first = [offered.names[i] for i in own] if named and offered is not None else own
    if entries != first[: len(entries)]:
        raise InvalidInput("tried", f"be the first of order, {shorten(first)}", shorten(entries))
    return len(entries)


def listed(row: Row, column: str) -> list[Any]:
    """Return the list in a cell."""
    value = row.get(column)
    if not isinstance(value, list | tuple | np.ndarray):
        raise InvalidInput(column, "be a list", repr(value))
    return value.tolist() if isinstance(value, np.ndarray) else list(value)


def _find(wanted: list[Any], names: list[Any], column: str) -> list[int]:
    where = {name: i for i, name in enumerate(names)}
    several = len(where) < len(names)
    for entry in wanted:
        if not isinstance(entry, str | int | float) or entry not in where:
            raise InvalidInput(column, "hold ids of the candidates", repr(entry))
        if several and names.count(entry) > 1:
            rule = "hold ids that name one candidate (indices tell others apart)"
            raise InvalidInput(column, rule, repr(entry))
    return [where[entry] for entry in wanted]


def _as_dictionaries(records: list[Any]) -> list[Record]:
    for i, each in enumerate(records):
        if not isinstance(each, Mapping | str):
            raise InvalidInput(f"candidate {i}", "be a dictionary or a name", shorten(each))
    return [{ID: each} if isinstance(each, str) else dict(each) for each in records]
