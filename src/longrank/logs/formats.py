"""The formats of a log: files, frames and dictionaries, all read as rows of one table."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from longrank.errors import BadFile, InvalidInput, MissingExtra
from longrank.logs.columns import CANDIDATE, COLUMNS, Row
from longrank.logs.violations import Violation

BATCH = 1024  # rows in memory at once
Rows = Iterator[tuple[int, Row | Violation]]
Unneeded = frozenset[str]


@dataclass(frozen=True)
class LogTable:
    """A table that can be read repeatedly: its name, its columns, its rows by number.

    ``rows`` is given the columns that are not needed; it leaves out all of them, or none.
    """

    name: str
    columns: tuple[str, ...]
    rows: Callable[[Unneeded], Rows]

    def read(self, unneeded: Unneeded = frozenset()) -> Rows:
        """Read all rows once: each with its number, or the problem that it has."""
        return self.rows(unneeded)


def open_table(data: Any) -> LogTable:
    """Open a path, a pandas or polars frame, a pyarrow table, or a list of dictionaries."""
    if isinstance(data, str | os.PathLike):
        return _file(Path(data))
    library = type(data).__module__.partition(".")[0]
    if library == "pyarrow" and hasattr(data, "to_batches"):
        names = tuple(data.schema.names)
        return LogTable("table", names, lambda _: _arrow_rows(data.to_batches(BATCH)))
    if library == "polars" and hasattr(data, "iter_slices"):
        return LogTable("frame", tuple(data.columns), lambda _: _polars(data))
    if library == "pandas" and hasattr(data, "iloc"):
        return LogTable("frame", tuple(map(str, data.columns)), lambda _: _pandas(data))
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        names = tuple(dict.fromkeys(name for row in data for name in row))
        return LogTable("rows", names, lambda _: enumerate(map(dict, data), 1))
    rule = "be a path, a pandas or polars frame, a pyarrow table, or a list of dictionaries"
    raise InvalidInput("history", rule, type(data).__name__)


def _file(path: Path) -> LogTable:
    if not path.is_file():
        raise BadFile(f"there is no file {path}")
    match path.suffix.lower():
        case ".parquet":
            return _parquet(path)
        case ".csv":
            return _csv(path)
        case ".jsonl" | ".ndjson":
            return _json_lines(path)
        case other:
            raise BadFile(f"{path} must end in .parquet, .csv, .jsonl or .ndjson, not {other!r}")


def _polars(frame: Any) -> Rows:
    number = 0
    for part in frame.iter_slices(BATCH):
        for row in part.to_dicts():
            number += 1
            yield number, row


def _pandas(frame: Any) -> Rows:
    number = 0
    for start in range(0, len(frame), BATCH):
        for row in frame.iloc[start : start + BATCH].to_dict("records"):
            number += 1
            yield number, {str(name): _present(value) for name, value in row.items()}


def _present(value: Any) -> Any:
    """Turn the markers of pandas for missing values (NaN, NaT, NA) into None."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if type(value).__name__ in ("NaTType", "NAType") else value


def _parquet(path: Path) -> LogTable:
    """Open a Parquet file, read in batches; columns that are not needed are not read at all."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("reading Parquet", "logs") from error
    try:
        names = tuple(pq.read_schema(path).names)
    except (pa.ArrowInvalid, OSError) as error:
        raise BadFile(f"{path} is not a Parquet file: {error}") from error

    def rows(unneeded: Unneeded) -> Rows:
        wanted = [name for name in names if name not in unneeded]
        with pq.ParquetFile(path) as file:
            try:
                yield from _arrow_rows(file.iter_batches(BATCH, columns=wanted))
            except (pa.ArrowInvalid, OSError) as error:
                raise BadFile(f"{path} is damaged: {error}") from error

    return LogTable(path.name, names, rows)


def _arrow_rows(batches: Any) -> Rows:
    number = 0
    for batch in batches:
        names = batch.schema.names
        for cells in zip(*(_arrow_cells(column) for column in batch.columns), strict=True):
            number += 1
            yield number, dict(zip(names, cells, strict=True))


def _arrow_cells(column: Any) -> list[Any]:
    """Return the cells of a column; lists of numbers as arrays, without an object per number."""
    import pyarrow.types as types

    def numbers(kind: Any) -> bool:
        return bool(types.is_floating(kind) or types.is_integer(kind))

    if not types.is_list(column.type) or column.null_count:
        return list(column.to_pylist())
    inner = column.values
    starts = column.offsets.to_numpy()
    if numbers(inner.type) and not inner.null_count:
        values = inner.to_numpy()
        return [values[a:b] for a, b in pairwise(starts)]
    if (
        types.is_list(inner.type)
        and numbers(inner.type.value_type)
        and not inner.null_count
        and not inner.values.null_count
    ):
        values, edges = inner.values.to_numpy(), inner.offsets.to_numpy()
        widths = edges[1:] - edges[:-1]
        cells: list[Any] = []
        for a, b in pairwise(starts):
            if b > a and (widths[a:b] == widths[a]).all():
                cells.append(values[edges[a] : edges[b]].reshape(b - a, widths[a]))
            else:  # no row, or rows of different lengths
                cells.append([values[edges[i] : edges[i + 1]] for i in range(a, b)])
        return cells
    return list(column.to_pylist())


def _csv(path: Path) -> LogTable:
    """Open a CSV file, read line by line."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            header = next(csv.reader(file), [])
        except (csv.Error, UnicodeDecodeError) as error:
            raise BadFile(f"{path} is not a CSV file: {error}") from error
    return LogTable(path.name, tuple(header), lambda unneeded: _csv_rows(path, header, unneeded))


def _csv_rows(path: Path, header: list[str], unneeded: Unneeded) -> Rows:
    csv.field_size_limit(2**31 - 1)  # many candidates make a long cell
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file)
        next(lines, None)
        number = 0
        while True:
            number += 1
            try:
                cells = next(lines)
            except StopIteration:
                return
            except (csv.Error, UnicodeDecodeError) as error:
                yield number, Violation(path.name, number, "the row", "be readable", str(error))
                return
            if len(cells) != len(header):
                rule = f"have {len(header)} cells, one for each column"
                yield number, Violation(path.name, number, "the row", rule, str(len(cells)))
                continue
            row: Row = {}
            broken: Violation | None = None
            for name, cell in zip(header, cells, strict=True):
                if name in unneeded:
                    continue
                try:
                    row[name] = _csv_value(name, cell)
                except ValueError:
                    shown = cell if len(cell) < 40 else f"{cell[:40]}..."
                    broken = broken or Violation(
                        path.name, number, name, "be a JSON list", repr(shown)
                    )
            yield number, broken or row


def _csv_value(name: str, cell: str) -> Any:
    """Return the value that the text of a cell stands for; the rules check it later."""
    if cell == "":
        return None
    column = COLUMNS.get(name)
    if column is not None and column.lists:
        return json.loads(cell)
    if name == CANDIDATE or (column is not None and column.kind == "text"):
        return cell
    if column is not None and column.kind == "truth":
        return {"true": True, "1": True, "false": False, "0": False}.get(cell.lower(), cell)
    for kind in (int, float):
        with suppress(ValueError):
            return kind(cell)
    return cell


def _json_lines(path: Path) -> LogTable:
    """Open a file of JSON objects, one per line; an object may leave out what it does not know.

    Its columns are the names in the first batch of lines.
    """
    names: dict[str, None] = {}
    for number, row in _json_rows(path, frozenset()):
        if isinstance(row, dict):
            names |= dict.fromkeys(row)
        if number >= BATCH:
            break
    return LogTable(path.name, tuple(names), lambda unneeded: _json_rows(path, unneeded))


def _json_rows(path: Path, unneeded: Unneeded) -> Rows:
    keys = [f'"{name}":'.encode() for name in unneeded]
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(_without(line, keys))
            except ValueError as error:
                yield number, Violation(path.name, number, "the line", "be JSON", str(error))
                continue
            if isinstance(row, dict):
                for name in unneeded:
                    row.pop(name, None)
                yield number, row
            else:
                shown = type(row).__name__
                yield number, Violation(path.name, number, "the line", "be a JSON object", shown)


def _without(line: bytes, keys: list[bytes]) -> bytes:
    """Cut numbers that are not needed out of a line: parsing them is what takes the time.

    A key is cut with its value where only numbers, lists and a comma stand before the next text,
    which then is the next key. No key is found inside a text, where quotation marks are escaped.
    """
    for key in keys:
        start = line.find(key)
        end = line.find(b'"', start + len(key))
        between = line[start:end]
        if start >= 0 and between.rstrip().endswith(b",") and b"}" not in between:
            line = line[:start] + line[end:]
    return line
