"""What holds a log, opened: a file by its ending, a frame or a table by its kind."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longrank.errors import BadFile, InvalidInput
from longrank.logs import arrow, source, text
from longrank.logs.source import Rows, Source


def open_source(data: Any) -> Source:
    """A path, a pandas or polars frame, a pyarrow table, or a list of dictionaries."""
    if isinstance(data, str | os.PathLike):
        return _file(Path(data))
    kind = type(data).__module__.partition(".")[0]
    if kind == "pyarrow" and hasattr(data, "to_batches"):
        return arrow.table(data)
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
            return arrow.parquet(path)
        case ".csv":
            return text.csv_file(path)
        case ".jsonl" | ".ndjson":
            return text.json_lines(path)
        case other:
            raise BadFile(f"{path} must end in .parquet, .csv, .jsonl or .ndjson, not {other!r}")


def _polars(frame: Any) -> Rows:
    number = 0
    for part in frame.iter_slices(source.BATCH):
        for row in part.to_dicts():
            number += 1
            yield number, row


def _pandas(frame: Any) -> Rows:
    number = 0
    for start in range(0, len(frame), source.BATCH):
        for row in frame.iloc[start : start + source.BATCH].to_dict("records"):
            number += 1
            yield number, {str(name): _present(value) for name, value in row.items()}


def _present(value: Any) -> Any:
    """Pandas writes NaN, NaT or NA for what is missing."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if type(value).__name__ in ("NaTType", "NAType") else value
