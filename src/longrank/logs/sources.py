"""Tables as rows: Parquet, CSV and JSON lines in batches; pandas, polars and pyarrow in memory."""

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
from longrank.logs.columns import COLUMNS
from longrank.logs.problems import Problem

BATCH = 1024  # rows in memory at once
Row = dict[str, Any]
Rows = Iterator[tuple[int, Row | Problem]]
Unneeded = frozenset[str]


@dataclass(frozen=True)
class Source:
    """A table that can be read again and again: its name, its columns, its rows by number.

    ``rows`` is told which columns nobody needs; it may leave them out.
    """

    name: str
    columns: tuple[str, ...]
    rows: Callable[[Unneeded], Rows]


def open_source(data: Any) -> Source:
    """A file by its ending, a frame or table by its kind, or a list of dictionaries."""
    if isinstance(data, str | os.PathLike):
        return _file(Path(data))
    kind = type(data).__module__.partition(".")[0]
    if kind == "pyarrow" and hasattr(data, "to_batches"):
        return Source("table", tuple(data.schema.names), lambda _: _arrow(data.to_batches(BATCH)))
    if kind == "polars" and hasattr(data, "iter_slices"):
        return Source("frame", tuple(data.columns), lambda _: _polars(data))
    if kind == "pandas" and hasattr(data, "iloc"):
        return Source("frame", tuple(map(str, data.columns)), lambda _: _pandas(data))
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        names = tuple(dict.fromkeys(name for row in data for name in row))
        return Source("rows", names, lambda _: enumerate(map(dict, data), 1))
    rule = "be a path, a pandas or polars frame, a pyarrow table, or a list of dictionaries"
    raise InvalidInput("history", rule, type(data).__name__)


def _file(path: Path) -> Source:
    if not path.is_file():
        raise BadFile(f"there is no file {path}")
    match path.suffix.lower():
        case ".parquet":
            return _parquet(path)
        case ".csv":
            with path.open(newline="", encoding="utf-8-sig") as file:
                header = _first(csv.reader(file), path)
            return Source(path.name, tuple(header), lambda unneeded: _csv(path, header, unneeded))
        case ".jsonl" | ".ndjson":
            return Source(path.name, _json_columns(path), lambda _: _json_lines(path))
        case other:
            raise BadFile(f"{path} must end in .parquet, .csv, .jsonl or .ndjson, not {other!r}")


def _first(lines: Iterator[list[str]], path: Path) -> list[str]:
    try:
        return next(lines, [])
    except (csv.Error, UnicodeDecodeError) as error:
        raise BadFile(f"{path} is not a CSV file: {error}") from error


# -- Parquet and pyarrow --------------------------------------------------------------------------


def _parquet(path: Path) -> Source:
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
                yield from _arrow(file.iter_batches(BATCH, columns=wanted))
            except (pa.ArrowInvalid, OSError) as error:
                raise BadFile(f"{path} is damaged: {error}") from error

    return Source(path.name, names, rows)


def _arrow(batches: Any) -> Rows:
    number = 0
    for batch in batches:
        names = batch.schema.names
        for cells in zip(*(_cells(column) for column in batch.columns), strict=True):
            number += 1
            yield number, dict(zip(names, cells, strict=True))


def _cells(column: Any) -> list[Any]:
    """The cells of a column; lists of numbers as arrays, without a Python object for each."""
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


# -- CSV and JSON lines ---------------------------------------------------------------------------


def _csv(path: Path, header: list[str], unneeded: Unneeded) -> Rows:
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
                yield number, Problem(path.name, number, "the row", "be readable", str(error))
                return
            if len(cells) != len(header):
                rule = f"have {len(header)} cells, one for each column"
                yield number, Problem(path.name, number, "the row", rule, str(len(cells)))
                continue
            row: Row = {}
            broken: Problem | None = None
            for name, text in zip(header, cells, strict=True):
                if name in unneeded:
                    continue
                try:
                    row[name] = _typed(name, text)
                except ValueError:
                    shown = text if len(text) < 40 else f"{text[:40]}..."
                    broken = broken or Problem(
                        path.name, number, name, "be a JSON list", repr(shown)
                    )
            yield number, broken or row


def _typed(name: str, text: str) -> Any:
    """The value that the text of a cell stands for; what it must be is for the rules to say."""
    if text == "":
        return None
    if name in COLUMNS and COLUMNS[name].lists:
        return json.loads(text)
    if name in ("id", "policy_version", "candidate"):
        return text
    if name in ("succeeded", "learned"):
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _json_columns(path: Path) -> tuple[str, ...]:
    """The names in the first batch of lines; an object may leave out what it does not know."""
    names: dict[str, None] = {}
    for number, row in _json_lines(path):
        if isinstance(row, dict):
            names |= dict.fromkeys(row)
        if number >= BATCH:
            break
    return tuple(names)


def _json_lines(path: Path) -> Rows:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                yield number, Problem(path.name, number, "the line", "be JSON", str(error))
                continue
            if isinstance(row, dict):
                yield number, row
            else:
                shown = type(row).__name__
                yield number, Problem(path.name, number, "the line", "be a JSON object", shown)


# -- frames ---------------------------------------------------------------------------------------


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
    """Pandas writes NaN, NaT or NA for what is missing."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if type(value).__name__ in ("NaTType", "NAType") else value
