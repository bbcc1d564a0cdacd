"""Writing a log: the row of a decision, and files of rows."""

import csv
import datetime
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from longrank.decision import Outcome, Ranking
from longrank.errors import InvalidInput, needs_extra
from longrank.logs.columns import COLUMNS, IDS, Row
from longrank.payoffs import Payoffs
from longrank.rows import SparseRows
from longrank.schema import ID, as_records

BATCH = 10_000  # rows in memory at once
RECORDS = tuple(name for name, column in COLUMNS.items() if column.kind == "record")


def record(
    id: str | int,
    ranking: Ranking,
    outcome: Outcome,
    payoffs: Payoffs,
    *,
    budget: int | None = None,
    items: ArrayLike | None = None,
    propensities: ArrayLike | None = None,
    time: float | str | datetime.datetime | None = None,
    candidates: Any = None,
    context: Mapping[str, Any] | None = None,
    policy_version: str | int | None = None,
) -> Row:
    """Make the row of a decision, for a list of rows or :func:`write`.

    For records, ``candidates`` and ``context`` are what ``policy.rank`` was given. For arrays,
    ``items`` are all candidates of the round, and ``candidates`` their ids, if any; without items
    such a log allows a warm start but no evaluation. ``propensities`` is what
    ``policy.propensities(...)`` returned for ``ranking.order`` before the policy learned anything
    else. Prices are those of ``payoffs``, or the fields ``cost`` and ``value`` of the candidates;
    actual costs reported by the outcome are written as well.
    """
    features = ranking.features
    named = isinstance(features, SparseRows) or (ranking.dim == 0 and items is None)
    if named and candidates is None and items is None:
        raise InvalidInput("candidates", "be given where they are records", None)
    row: Row = {
        "id": id,
        "time": time,
        "policy_version": policy_version,
        "candidates": None if candidates is None else _copied(candidates),
        "context": None if context is None else dict(context),
        "items": _listed(items),
        "order": ranking.order.tolist(),
        "features": None if named else features.tolist(),
        "tried": outcome.tried,
        "succeeded": outcome.succeeded,
        "outcome_costs": None if outcome.costs is None else list(outcome.costs),
        "rewards": payoffs.rewards.tolist(),
        "losses": payoffs.losses.tolist(),
        "costs": _listed(payoffs.costs),
        "success_values": _listed(payoffs.success_values),
        "patience": None if payoffs.patience == 1.0 else payoffs.patience,
        "budget": payoffs.budget if budget is None else budget,
    }
    if propensities is not None:
        known = np.asarray(propensities, np.float64)
        if known.shape != (len(ranking) + 1,):
            rule = f"have {len(ranking) + 1} numbers, the last one for the whole sequence"
            raise InvalidInput("propensities", rule, known.shape)
        row |= {"propensity": float(known[-1]), "prefix_propensities": known[:-1].tolist()}
    chosen = [row["candidates"][i] for i in row["order"]] if named and row["candidates"] else []
    if {type(each.get(ID)) for each in chosen if isinstance(each, dict)} == {int}:
        row[IDS] = ranking.ids  # then the whole numbers of the order are no ids
    return {name: value for name, value in row.items() if value is not None}


def _listed(numbers: ArrayLike | None) -> Any:
    return None if numbers is None else np.asarray(numbers, np.float64).tolist()


def _copied(candidates: Any) -> list[Any]:
    """Return ids as they are, and copies of records."""
    if isinstance(candidates, list | tuple) and _names(list(candidates)):
        return list(candidates)
    records = as_records(candidates)
    if records is None:
        raise InvalidInput("candidates", "be records or ids", type(candidates).__name__)
    return [dict(each) for each in records]


def write(path: str | os.PathLike[str], rows: Iterable[Row]) -> int:
    """Write rows to a .parquet, .csv or .jsonl file, in batches; return how many.

    Parquet and CSV have the columns of the first batch of 10,000 rows, and records as JSON text,
    which preserves them exactly.
    """
    target = Path(path)
    match target.suffix.lower():
        case ".parquet":
            return _parquet(target, rows)
        case ".csv":
            return _csv(target, rows)
        case ".jsonl" | ".ndjson":
            count = 0
            with target.open("w", encoding="utf-8") as file:
                for row in rows:
                    file.write(_json(row) + "\n")
                    count += 1
            return count
        case other:
            raise InvalidInput("path", "end in .parquet, .csv or .jsonl", repr(other))


def _batches(rows: Iterable[Row]) -> Iterator[tuple[list[str], list[Row]]]:
    """Return the columns of the first batch with each batch."""
    rest, names = iter(rows), None
    while batch := list(islice(rest, BATCH)):
        columns = list(dict.fromkeys(name for row in batch for name in row))
        names = columns if names is None else names
        if new := set(columns) - set(names):
            rule = f"have only columns of the first {BATCH} rows"
            raise InvalidInput("rows", rule, ", ".join(sorted(new)))
        yield names, batch


def _csv(target: Path, rows: Iterable[Row]) -> int:
    count = 0
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for names, batch in _batches(rows):
            if count == 0:
                writer.writerow(names)
            writer.writerows([_text(row.get(name)) for name in names] for row in batch)
            count += len(batch)
    return count


def _text(value: Any) -> str:
    if value is None:
        return ""
    return _json(value) if isinstance(value, list | dict | bool) else str(value)


def _json(value: Any) -> str:
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    """Return what JSON has for a value that it does not know."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    return float(value) if isinstance(value, Decimal) else str(value)


def _parquet(target: Path, rows: Iterable[Row]) -> int:
    with needs_extra("writing Parquet", "logs"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    count, writer = 0, None
    try:
        for names, batch in _batches(rows):
            if writer is None:
                schema = pa.schema([(name, _kind(pa, name, batch)) for name in names])
                writer = pq.ParquetWriter(target, schema, compression="zstd")
            records = [each for each in RECORDS if writer.schema.get_field_index(each) >= 0]
            texts = [each for each in records if writer.schema.field(each).type == pa.string()]
            if texts:
                batch = [row | {each: _record(row.get(each)) for each in texts} for row in batch]
            writer.write_table(pa.Table.from_pylist(batch, schema=writer.schema))
            count += len(batch)
        if writer is None:
            pq.write_table(pa.table({}), target)
    finally:
        if writer is not None:
            writer.close()
    return count


def _record(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else _json(value)


def _names(cell: Any) -> bool:
    """Tell whether a cell holds no records: nothing, or a list of ids."""
    plain = isinstance(cell, list) and not any(isinstance(each, Mapping) for each in cell)
    return cell is None or plain


def _kind(pa: Any, name: str, batch: list[Row]) -> Any:
    """Return the Arrow type of a column; texts, times and foreign columns as the rows have them."""
    column, cells = COLUMNS.get(name), [row.get(name) for row in batch]
    if name in RECORDS and not all(_names(cell) for cell in cells):
        return pa.string()
    listed = name == "tried" and any(isinstance(cell, list) for cell in cells)
    if column is None or column.kind in ("text", "time", "record") or listed:
        return pa.array(cells).type
    kinds = {"truth": pa.bool_(), "whole": pa.int64(), "number": pa.float64(), "index": pa.int64()}
    kind = kinds[column.kind]
    if column.kind == "index" and any(isinstance(entry, str) for r in batch for entry in r[name]):
        kind = pa.string()
    for _ in range(column.lists):
        kind = pa.list_(kind)
    return kind
