"""Decisions with their outcomes as a file: the history format of longrank.logs, and more.

JSON Lines have records and contexts as objects, Parquet as JSON text, as in all files of that
format.
"""

import math
import tempfile
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import IO, Any, NamedTuple

import msgspec

from longrank.errors import InvalidInput
from longrank.service.engine.engine import Engine
from longrank.service.messages import ExportFormat
from longrank.service.store.records import DecisionRecord, joined

FIRST, ROWS = 10, 2000  # rows that are read at first, and at most, at once
BYTES = 16 << 20  # of the decisions that are read at once, about
Row = dict[str, Any]


class Column(NamedTuple):
    """A column: its name, the field of the record that it is, and its type.

    ``made`` computes its value where it is not that of the field. ``kind`` and ``lists`` are as in
    :class:`longrank.logs.columns.Column`; a column without a kind has those of the history format.
    """

    name: str
    field: str
    made: Callable[[DecisionRecord], Any] | None = None
    kind: str | None = None
    lists: int = 0


def _candidates(record: DecisionRecord) -> Any:
    return record.candidates if record.context is None else record.records


def _items(record: DecisionRecord) -> Any:
    return record.items and record.items.array(len(record.candidates or [])).tolist()


def _features(record: DecisionRecord) -> Any:
    return record.rows.array(len(record.played.ids)).tolist() if record.context is None else None


def _prices(name: str) -> Callable[[DecisionRecord], Any]:
    """Return a function of a record: the prices by candidate, 0 for those that are not stored."""
    stored, planned = attrgetter(name), attrgetter(f"played.{name}")

    def prices(record: DecisionRecord) -> Any:
        if record.context is not None or record.costs is not None or planned(record) is None:
            return stored(record)
        spread = [0.0] * (max(record.played.order, default=-1) + 1)
        for i, price in zip(record.played.order, planned(record), strict=True):
            spread[i] = price
        return spread

    return prices


def _budget(record: DecisionRecord) -> int:
    return len((record.proposal or record.played).values) - 1  # a value for each length allowed


def _loss_bound(record: DecisionRecord) -> float | None:
    bound = record.played.loss_bound
    return None if record.played.costs is None or math.isnan(bound) else bound


def _not_attributable(record: DecisionRecord) -> list[int]:
    outcome = record.outcome
    assert outcome is not None
    if outcome.attributable:
        return outcome.not_attributable
    return list(range(1, outcome.tried - outcome.succeeded + 1))


COLUMNS = (
    Column("id", "id"),
    Column("time", "created"),
    Column("policy_version", "learned", kind="whole"),
    Column("candidates", "candidates", _candidates),
    Column("context", "context"),
    Column("items", "items", _items),
    Column("order", "played.order"),
    Column("features", "rows", _features),
    Column("rewards", "rewards"),
    Column("losses", "losses"),
    Column("costs", "costs", _prices("costs")),
    Column("success_values", "success_values", _prices("success_values")),
    Column("patience", "patience"),
    Column("budget", "played.values", _budget),
    Column("propensity", "propensities", lambda made: made.propensities and made.propensities[-1]),
    Column(
        "prefix_propensities",
        "propensities",
        lambda made: made.propensities and made.propensities[:-1],
    ),
    Column("seq", "seq", kind="whole"),
    Column("created", "created", kind="number"),
    Column("expires", "expires", kind="number"),
    Column("mode", "mode", kind="text"),
    Column("sequence", "played.ids", kind="text", lists=1),
    Column("estimates", "played.estimates", kind="number", lists=1),
    Column("optimistic", "played.optimistic", kind="number", lists=1),
    Column("values", "played.values", kind="number", lists=1),
    Column("baseline", "baseline", kind="text", lists=1),
    Column("planned_costs", "played.costs", kind="number", lists=1),
    Column("planned_values", "played.success_values", kind="number", lists=1),
    Column("loss_bound", "played.loss_bound", _loss_bound, kind="number"),
    Column("proposal", "proposal", lambda made: made.proposal and made.proposal.ids, "text", 1),
    Column("tried", "outcome.tried"),
    Column("succeeded", "outcome.succeeded"),
    Column("outcome_costs", "outcome.costs"),
    Column("reward", "outcome.reward", kind="number"),
    Column("spent", "outcome.spent", kind="number"),
    Column("estimated", "outcome.estimated", kind="truth"),
    Column("learned", "outcome.learn"),
    Column("not_attributable", "outcome.not_attributable", _not_attributable),
    Column("reason", "outcome.reason", kind="text"),
    Column("outcome_seq", "outcome.seq"),
    Column("outcome_recorded", "outcome.recorded", kind="number"),
    Column("outcome_at", "outcome.at", kind="number"),
)
_DECIDED, _SETTLED = (
    [
        (column.name, column.made or attrgetter(column.field))
        for column in COLUMNS
        if column.field.startswith("outcome.") is settled
    ]
    for settled in (False, True)
)


def spooled(engine: Engine, name: str, format: ExportFormat) -> IO[bytes]:
    """Write all decisions of a model that are in the log into a temporary file, oldest first.

    A decision is a row; return the file. InvalidInput for Parquet where pyarrow is not installed.
    """
    write = _write_lines if format == "jsonl" else _parquet_writer()
    target = tempfile.TemporaryFile(prefix="longrank-export-")  # noqa: SIM115 - its reader closes it
    try:
        write(target, engine, name)
        target.seek(0)
    except BaseException:
        target.close()
        raise
    return target


def _write_lines(target: IO[bytes], engine: Engine, name: str) -> None:
    encode = msgspec.json.Encoder().encode_lines
    for rows in _chunks(engine, name):
        for row in rows:
            for column in ("candidates", "context"):
                if isinstance(row[column], bytes):
                    row[column] = msgspec.Raw(row[column])
        target.write(encode(rows))


def _parquet_writer() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        sentence = (
            "this service cannot export Parquet; use ?format=jsonl, or install the extra `logs` "
            "where it runs"
        )
        raise InvalidInput("format", "be jsonl", "parquet", sentence) from error
    from longrank.logs import columns as history  # it takes a fifth of a second

    types = {"text": pa.string(), "record": pa.string(), "truth": pa.bool_()}
    types |= {"index": pa.int64(), "whole": pa.int64()}
    types |= {"number": pa.float64(), "time": pa.float64()}

    def field(column: Column, records: bool) -> Any:
        typed: Any = history.COLUMNS[column.name] if column.kind is None else column
        is_text = typed.kind == "record" and records
        kind = types[typed.kind]
        for _ in range(0 if is_text else typed.lists):
            kind = pa.list_(kind)
        return pa.field(column.name, kind)

    def write(target: IO[bytes], engine: Engine, name: str) -> None:
        request = engine.model(name).spec.request
        about = {"longrank": "decisions 1", "model": name}
        about |= {} if request.currency is None else {"currency": request.currency}
        schema = pa.schema([field(column, request.dim is None) for column in COLUMNS], about)
        with pq.ParquetWriter(target, schema, compression="zstd") as writer:
            for rows in _chunks(engine, name):
                writer.write_table(pa.Table.from_pylist(rows, schema))

    return write


def _chunks(engine: Engine, name: str) -> Iterator[list[Row]]:
    model = engine.model(name)
    after, time, count = 0, 0.0, FIRST
    while pairs := engine.store.oldest(model.number, after, count):
        after = pairs[-1][0].seq
        size = sum(len(entry.body) for entry, _ in pairs) // len(pairs) + 1
        count = min(max(1, BYTES // size), ROWS)
        rows = [_row(joined(*pair)) for pair in pairs]
        for row in rows:
            # The log is in the order of commits. Threads that read the clock one after the other
            # may commit the other way round, and a clock may be set back; a history's never is.
            time = row["time"] = max(time, row["created"])
        yield rows


def _row(record: DecisionRecord) -> Row:
    """Return the row of a decision; without an outcome it has no columns of one."""
    columns = _DECIDED if record.outcome is None else _DECIDED + _SETTLED
    return {name: value(record) for name, value in columns}
