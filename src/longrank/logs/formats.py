"""The formats of a log: files, frames and dictionaries, all read as rows of one table."""

import csv
import glob
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from longrank.errors import BadFile, InvalidInput, needs_extra
from longrank.logs.columns import CANDIDATE, COLUMNS, Row
from longrank.logs.footer import text_columns
from longrank.logs.violations import Violation

BATCH = 1024  # rows in memory at once
SUFFIXES = (".parquet", ".csv", ".jsonl", ".ndjson")
_NO_JSON = (ValueError, RecursionError)  # the latter of what is nested too deeply
Rows = Iterator[tuple[int, Row | Violation]]
Names = Mapping[str, str]  # of columns: from their own to that in the format


@dataclass(frozen=True)
class LogTable:
    """A table that can be read repeatedly: its name, its columns, its rows by number.

    ``rows`` reads all of them once: each with its number, or the problem that it has.
    """

    name: str
    columns: tuple[str, ...]
    rows: Callable[[], Rows]


def open_tables(data: Any, named: Names | None = None) -> tuple[str, list[LogTable]]:
    """Open a path, a pandas or polars frame, a pyarrow table, or a list of dictionaries.

    A folder, a pattern such as ``logs/*.parquet``, or a list of paths is a table for each file, in
    the order of their names (a list in its own). Returns what it is called, and the tables.
    ``named`` has the names in the format of columns that are called otherwise.
    """
    named = {} if named is None else named
    alone = isinstance(data, str | os.PathLike)
    if alone or (
        isinstance(data, Sequence) and data and all(isinstance(e, str | os.PathLike) for e in data)
    ):
        paths = _files(Path(data)) if alone else list(map(Path, data))
        names = [path.name for path in paths]
        tables = [
            # where two names are alike, the folders tell them apart
            _file(path, named, path.name if names.count(path.name) == 1 else str(path))
            for path in paths
        ]
        if len(tables) == 1:
            return tables[0].name, tables
        return Path(data).name if alone else f"{len(tables)} files", tables
    table = _open_one(data, named)
    return table.name, [table]


def _files(path: Path) -> list[Path]:
    """Return the files that a path stands for, in the order of their names."""
    if path.is_dir():
        files = [
            each
            for each in path.rglob("*")
            if each.suffix.lower() in SUFFIXES
            and not any(part.startswith((".", "_")) for part in each.relative_to(path).parts)
        ]
        lacking = f"there is no file in {path} that ends in {', '.join(SUFFIXES)}"
    elif not path.exists() and any(letter in str(path) for letter in "*?["):
        files = list(map(Path, glob.glob(str(path), recursive=True)))
        lacking = f"no file is called {path}"
    else:
        return [path]
    if not files:
        raise BadFile(lacking)
    return sorted(files)


def _open_one(data: Any, named: Names) -> LogTable:
    library = type(data).__module__.partition(".")[0]
    if library == "pyarrow" and hasattr(data, "to_batches"):
        names = tuple(named.get(name, name) for name in data.schema.names)
        return LogTable("table", names, lambda: _arrow_rows(names, data.to_batches(BATCH)))
    if library == "polars" and hasattr(data, "iter_slices"):
        names = tuple(named.get(name, name) for name in data.columns)
        return LogTable("frame", names, lambda: _polars(data, names))
    if library == "pandas" and hasattr(data, "iloc"):
        names = tuple(named.get(name, name) for name in map(str, data.columns))
        return LogTable("frame", names, lambda: _pandas(data, names))
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        own = dict.fromkeys(name for row in data for name in row)
        names = tuple(named.get(name, name) for name in own)
        return LogTable("rows", names, lambda: enumerate((_renamed(r, named) for r in data), 1))
    rule = (
        "be a path, a pandas or polars frame, a pyarrow table, a list of dictionaries, or many "
        "files: a folder, a pattern or a list of paths"
    )
    raise InvalidInput("history", rule, type(data).__name__)


def _renamed(row: Mapping[str, Any], named: Names) -> Row:
    return {named.get(name, name): value for name, value in row.items()} if named else dict(row)


def _file(path: Path, named: Names, name: str) -> LogTable:
    """Open a file; messages call it by ``name``."""
    if not path.is_file():
        raise BadFile(f"there is no file {path}")
    match path.suffix.lower():
        case ".parquet":
            return _parquet(path, named, name)
        case ".csv":
            return _csv(path, named, name)
        case ".jsonl" | ".ndjson":
            return _json_lines(path, named, name)
        case other:
            raise BadFile(f"{path} must end in .parquet, .csv, .jsonl or .ndjson, not {other!r}")


def _polars(frame: Any, names: tuple[str, ...]) -> Rows:
    parts = frame.iter_slices(BATCH)
    if find_spec("pyarrow") is not None:  # equal records are made once
        return _arrow_rows(names, (b for part in parts for b in part.to_arrow().to_batches()))
    rows = (dict(zip(names, row, strict=True)) for part in parts for row in part.iter_rows())
    return enumerate(rows, 1)


def _pandas(frame: Any, names: tuple[str, ...]) -> Rows:
    number = 0
    for start in range(0, len(frame), BATCH):
        part = frame.iloc[start : start + BATCH]
        cells = [map(_present, part.iloc[:, i].tolist()) for i in range(len(names))]
        for row in zip(*cells, strict=True):
            number += 1
            yield number, dict(zip(names, row, strict=True))


def _present(value: Any) -> Any:
    """Turn the markers of pandas for missing values (NaN, NaT, NA) into None."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if type(value).__name__ in ("NaTType", "NAType") else value


def _parquet(path: Path, named: Names, name: str) -> LogTable:
    """Open a Parquet file, read in batches; columns that are not needed are not read at all."""
    with needs_extra("reading Parquet", "logs"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    unreadable = (pa.ArrowException, LookupError, OSError, RuntimeError, TypeError, ValueError)
    try:
        texts = text_columns(path)
        own = pq.read_schema(path).names
    except unreadable as error:
        if isinstance(error, BadFile):
            raise
        raise BadFile(f"{path} is not a Parquet file: {error!s:.200}") from error

    names = tuple(named.get(each, each) for each in own)

    def rows() -> Rows:
        try:
            # Texts as dictionaries: then equal ones are held once.
            with pq.ParquetFile(path, read_dictionary=texts) as file:
                groups = range(file.num_row_groups)  # dictionaries in lists cannot be joined
                parts = (file.iter_batches(BATCH, row_groups=[g]) for g in groups)
                yield from _arrow_rows(names, chain.from_iterable(parts))
        except unreadable as error:
            raise BadFile(f"{path} is damaged: {error!s:.200}") from error

    return LogTable(name, names, rows)


def _arrow_rows(names: tuple[str, ...], batches: Iterable[Any]) -> Rows:
    number = 0
    for batch in batches:
        for cells in zip(*(_arrow_cells(column) for column in batch.columns), strict=True):
            number += 1
            yield number, dict(zip(names, cells, strict=True))


def _arrow_cells(column: Any) -> Any:
    """Return the cells of a column; lists of numbers as arrays, without an object per number.

    Equal texts, and equal dictionaries in lists, are the same object: then they are made once.
    """
    import pyarrow.types as types

    kind = column.type
    if types.is_dictionary(kind) or types.is_string(kind) or types.is_large_string(kind):
        return _shared(column, [column])
    if not column.null_count and types.is_struct(kind):
        return _shared(column, column.flatten())
    if column.null_count or not (types.is_list(kind) or types.is_large_list(kind)):
        return list(column.to_pylist())
    edges = column.offsets.to_numpy()
    inner, edges = column.values.slice(edges[0], edges[-1] - edges[0]), edges - edges[0]
    if (types.is_floating(inner.type) or types.is_integer(inner.type)) and not inner.null_count:
        cells, width = inner.to_numpy(), edges[1] if len(column) else 0
        if width and (np.diff(edges) == width).all():
            return cells.reshape(-1, width)  # lists of such lists are matrices
    else:
        cells = _arrow_cells(inner)
    return [cells[a:b] for a, b in pairwise(edges.tolist())]


def _shared(column: Any, parts: Sequence[Any]) -> list[Any]:
    """Return the cells of a column, equal ones as one object; ``parts`` tell which are equal."""
    import pyarrow as pa

    codes = np.zeros(len(column), np.int64)
    for part in parts:
        try:
            if isinstance(part, pa.DictionaryArray):
                encoded, missing = part, len(part.dictionary)
            else:
                encoded, missing = part.dictionary_encode(null_encoding="encode"), 0
        except (AttributeError, pa.ArrowNotImplementedError):  # lists or structs in structs
            return list(column.to_pylist())
        indices = encoded.indices.fill_null(missing).to_numpy()
        codes = codes * (len(encoded.dictionary) + 1) + indices
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    _, first = np.unique(codes, return_index=True)
    distinct = column.take(pa.array(first)).to_pylist()
    return [distinct[code] for code in codes.tolist()]


def _csv(path: Path, named: Names, name: str) -> LogTable:
    """Open a CSV file, read line by line."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            header = next(csv.reader(file), [])
        except (csv.Error, UnicodeDecodeError) as error:
            raise BadFile(f"{path} is not a CSV file: {error}") from error
    header = [named.get(each, each) for each in header]
    return LogTable(name, tuple(header), lambda: _csv_rows(path, name, header))


def _csv_rows(path: Path, file_name: str, header: list[str]) -> Rows:
    csv.field_size_limit(2**31 - 1)  # many candidates make a long cell
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file)
        next(lines, None)
        number = 0
        try:
            for number, cells in enumerate(lines, 1):
                if len(cells) == len(header):
                    yield number, _csv_row(file_name, number, header, cells)
                    continue
                rule = f"have {len(header)} cells, one for each column"
                yield number, Violation(file_name, number, "the row", rule, str(len(cells)))
        except (csv.Error, UnicodeDecodeError) as error:
            number += 1
            yield number, Violation(file_name, number, "the row", "be readable", str(error))


def _csv_row(file_name: str, number: int, header: list[str], cells: list[str]) -> Row | Violation:
    row: Row = {}
    for name, cell in zip(header, cells, strict=True):
        try:
            row[name] = _csv_value(name, cell)
        except _NO_JSON:
            shown = repr(cell if len(cell) < 40 else f"{cell[:40]}...")
            return Violation(file_name, number, name, "be a JSON list", shown)
    return row


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
    for kind in (int, float, *((json.loads,) if cell[0] in "[{" else ())):
        with suppress(*_NO_JSON):
            return kind(cell)
    return cell


def _json_lines(path: Path, named: Names, name: str) -> LogTable:
    """Open a file of JSON objects, one per line; an object may leave out what it does not know.

    Its columns are the names in the first batch of lines.
    """
    names: dict[str, None] = {}
    for number, row in _json_rows(path, name, {}):
        if isinstance(row, dict):
            names |= dict.fromkeys(row)
        if number >= BATCH:
            break
    columns = tuple(named.get(each, each) for each in names)
    return LogTable(name, columns, lambda: _json_rows(path, name, named))


def _json_rows(path: Path, file_name: str, named: Names) -> Rows:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except _NO_JSON as error:
                text = line.decode("utf-8", "replace").strip()
                shown = repr(text if len(text) < 40 else f"{text[:40]}...")
                if isinstance(error, json.JSONDecodeError):
                    shown += f" ({error.msg[:1].lower()}{error.msg[1:]} at column {error.colno})"
                yield number, Violation(file_name, number, "the line", "be JSON", shown)
                continue
            if isinstance(row, dict):
                yield number, _renamed(row, named)
            else:
                shown = type(row).__name__
                yield number, Violation(file_name, number, "the line", "be a JSON object", shown)
