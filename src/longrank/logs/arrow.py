"""Parquet files and pyarrow tables as rows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from longrank.errors import BadFile, MissingExtra
from longrank.logs import source
from longrank.logs.source import Rows, Source, Unneeded


def parquet(path: Path) -> Source:
    """A Parquet file, read in batches; columns that nobody needs are not read at all."""
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
                yield from _rows(file.iter_batches(source.BATCH, columns=wanted))
            except (pa.ArrowInvalid, OSError) as error:
                raise BadFile(f"{path} is damaged: {error}") from error

    return Source(path.name, names, rows)


def table(data: Any) -> Source:
    """A pyarrow table."""
    names = tuple(data.schema.names)
    return Source("table", names, lambda _: _rows(data.to_batches(source.BATCH)))


def _rows(batches: Any) -> Rows:
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
