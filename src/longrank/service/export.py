"""Decisions with their outcomes as a file: the history format of longrank.logs, and more.

JSON Lines have records and contexts as objects, Parquet as JSON text, as in all files of that
format.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import msgspec

from longrank.errors import InvalidInput
from longrank.service.engine.engine import Engine
from longrank.service.messages import ExportFormat
from longrank.service.store.records import DecisionRecord, OutcomeRecord, joined

FIRST, ROWS = 10, 2000  # rows that are read at first, and at most, at once
BYTES = 16 << 20  # of the decisions that are read at once, about
Row = dict[str, Any]


def spooled(engine: Engine, name: str, format: ExportFormat = "parquet") -> IO[bytes]:
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
            for part in ("records", "context"):
                if row[part] is not None:
                    row[part] = msgspec.Raw(row[part])
            row["candidates"] = row.pop("records") or row["candidates"]
        target.write(encode(rows))


def _parquet_writer() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        rule = "be jsonl, or Parquet's support be installed: pip install 'longrank[logs]'"
        raise InvalidInput("format", rule, "parquet") from error

    def write(target: IO[bytes], engine: Engine, name: str) -> None:
        request = engine.model(name).spec.request
        numbers, texts = pa.list_(pa.float64()), pa.list_(pa.string())
        columns = {
            pa.string(): "id context mode reason",
            pa.float64(): "time propensity created expires loss_bound patience reward spent "
            "outcome_recorded outcome_at",
            pa.int64(): "policy_version tried outcome_seq budget seq",
            pa.bool_(): "succeeded learned estimated",
            pa.list_(pa.int64()): "order not_attributable",
            numbers: "rewards losses costs success_values outcome_costs prefix_propensities "
            "estimates optimistic values planned_costs planned_values",
            pa.list_(numbers): "items features",
            texts: "sequence baseline proposal",
        }
        fields = [(each, kind) for kind, names in columns.items() for each in names.split()]
        fields.append(("candidates", texts if request.dim else pa.string()))
        about = {"longrank": "decisions 1", "model": name}
        about |= {} if request.currency is None else {"currency": request.currency}
        schema = pa.schema(fields, about)
        with pq.ParquetWriter(target, schema, compression="zstd") as writer:
            for rows in _chunks(engine, name):
                for row in rows:
                    if request.dim is None:
                        row["candidates"] = row["records"]
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
    """Return a decision's row; ``records`` is JSON and goes in place of ``candidates``."""
    played, proposal = record.played, record.proposal
    propensities = record.propensities
    is_array, bound = record.context is None, played.loss_bound
    costs, values = record.costs, record.success_values
    if is_array and costs is None and played.costs is not None:  # 0 for those that are not stored
        costs = _spread(played.costs, played.order)
        values = _spread(played.success_values or [], played.order)
    row = {
        "id": record.id,
        "policy_version": record.learned,
        "candidates": record.candidates if is_array else None,
        "records": record.records,
        "context": record.context,
        "items": record.items and record.items.array(len(record.candidates or [])).tolist(),
        "order": played.order,
        "features": record.rows.array(len(played.ids)).tolist() if is_array else None,
        "rewards": record.rewards,
        "losses": record.losses,
        "costs": costs,
        "success_values": values,
        "budget": len((proposal or played).values) - 1,  # it had a value for each length allowed
        "propensity": propensities and propensities[-1],
        "prefix_propensities": propensities and propensities[:-1],
        "seq": record.seq,
        "created": record.created,
        "expires": record.expires,
        "mode": record.mode,
        "sequence": played.ids,
        "estimates": played.estimates,
        "optimistic": played.optimistic,
        "values": played.values,
        "baseline": record.baseline,
        "planned_costs": played.costs,
        "planned_values": played.success_values,
        "loss_bound": None if played.costs is None or math.isnan(bound) else bound,
        "patience": record.patience,
        "proposal": proposal and proposal.ids,
    }
    return row if record.outcome is None else row | _settled(record.outcome)


def _settled(outcome: OutcomeRecord) -> Row:
    failures = range(1, outcome.tried - outcome.succeeded + 1)
    return {
        "tried": outcome.tried,
        "succeeded": outcome.succeeded,
        "outcome_costs": outcome.costs,
        "reward": outcome.reward,
        "spent": outcome.spent,
        "estimated": outcome.estimated,
        "learned": outcome.learn,
        "not_attributable": outcome.not_attributable if outcome.attributable else list(failures),
        "reason": outcome.reason,
        "outcome_seq": outcome.seq,
        "outcome_recorded": outcome.recorded,
        "outcome_at": outcome.at,
    }


def _spread(prices: list[float], order: list[int]) -> list[float]:
    """Return the prices of the tries by candidate, 0 for the others."""
    spread = [0.0] * (max(order, default=-1) + 1)
    for i, price in zip(order, prices, strict=True):
        spread[i] = price
    return spread
