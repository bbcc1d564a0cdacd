"""Decisions with their outcomes as Parquet: the history format of longrank.logs, and more.

Records and their context are JSON text, as in all Parquet files of that format.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import MissingExtra
from longrank.service.engine.engine import Engine
from longrank.service.store.receipts import doubles
from longrank.service.store.records import DecisionRecord, Entry

FIRST, ROWS = 10, 2000  # rows that are read at first, and at most, at once
BYTES = 16 << 20  # of the decisions that are read at once, about


def parquet(engine: Engine, name: str) -> bytes:
    """All decisions of a model that are in the log, oldest first, one row each."""
    with spooled(engine, name) as file:
        return file.read()


def spooled(engine: Engine, name: str) -> IO[bytes]:
    """Write the same into a temporary file, so that it need not be in memory; return the file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("the export", "service") from error
    request = engine.model(name).spec.request
    records, currency = request.dim is None, request.currency
    numbers, texts, wholes = pa.list_(pa.float64()), pa.list_(pa.string()), pa.list_(pa.int64())
    schema = pa.schema(
        [
            # the columns of longrank.logs
            ("id", pa.string()), ("time", pa.float64()), ("policy_version", pa.int64()),
            ("candidates", pa.string() if records else texts), ("context", pa.string()),
            ("items", pa.list_(numbers)), ("order", wholes),
            ("features", pa.list_(numbers)), ("tried", pa.int64()), ("succeeded", pa.bool_()),
            ("outcome_costs", numbers),
            ("learned", pa.bool_()), ("not_attributable", wholes), ("outcome_seq", pa.int64()),
            ("rewards", numbers), ("losses", numbers), ("costs", numbers),
            ("success_values", numbers), ("budget", pa.int64()),
            ("propensity", pa.float64()), ("prefix_propensities", numbers),
            # what else the service knows
            ("seq", pa.int64()), ("created", pa.float64()), ("expires", pa.float64()),
            ("mode", pa.string()), ("sequence", texts), ("estimates", numbers),
            ("optimistic", numbers), ("values", numbers), ("baseline", texts),
            ("planned_costs", numbers), ("planned_values", numbers),
            ("loss_bound", pa.float64()), ("patience", pa.float64()),
            ("proposal", texts), ("reward", pa.float64()), ("spent", pa.float64()),
            ("estimated", pa.bool_()), ("reason", pa.string()),
            ("outcome_recorded", pa.float64()), ("outcome_at", pa.float64()),
        ],
        {"longrank": "decisions 1", "model": name}
        | ({} if currency is None else {"currency": currency}),
    )  # fmt: skip
    target = tempfile.TemporaryFile(prefix="longrank-export-")  # noqa: SIM115 - its reader closes it
    try:
        with pq.ParquetWriter(target, schema, compression="zstd") as writer:
            for rows in _chunks(engine, name):
                writer.write_table(pa.Table.from_pylist(rows, schema))
        target.seek(0)
    except BaseException:
        target.close()
        raise
    return target


def _chunks(engine: Engine, name: str) -> Iterator[list[dict[str, Any]]]:
    model = engine.model(name)
    after, time, count = 0, 0.0, FIRST
    while pairs := engine.store.oldest(model.number, after, count):
        after = pairs[-1][0].seq
        size = sum(len(entry.body) for entry, _ in pairs) // len(pairs) + 1
        count = min(max(1, BYTES // size), ROWS)
        rows = [_row(entry, settled) for entry, settled in pairs]
        for row in rows:
            # The log is in the order of commits. Threads that read the clock one after the other
            # may commit the other way round, and a clock may be set back; a history's never is.
            time = row["time"] = max(time, row["created"])
        yield rows


def _row(entry: Entry, settled: Entry | None) -> dict[str, Any]:
    record = entry.decision()
    row = _decided(entry, record) | _priced(record)
    return row if settled is None else row | _settled(settled, record)


def _decided(entry: Entry, record: DecisionRecord) -> dict[str, Any]:
    played, named = record.played, record.named
    chances = None if record.propensities is None else doubles(record.propensities)
    return {
        "id": entry.id,
        "seq": entry.seq,
        "created": entry.at,
        "expires": entry.expires,
        "mode": record.mode,
        "policy_version": record.version,
        "sequence": played.ids,
        "order": played.order,
        "estimates": doubles(played.estimates),
        "optimistic": doubles(played.optimistic),
        "values": doubles(played.values),
        "features": _played_features(record),
        "rewards": doubles(record.rewards),
        "losses": doubles(record.losses),
        "budget": len(record.choice.values) - 1,  # it had a value for each length allowed
        "propensity": None if chances is None else chances[-1],
        "prefix_propensities": None if chances is None else chances[:-1],
        "baseline": record.baseline,
        "proposal": record.proposal.ids if record.proposal else None,
        "candidates": record.candidates if named is None else _text(named.candidates),
        "context": None if named is None else _text(named.context),
        "items": _all_features(record),
    }


def _priced(record: DecisionRecord) -> dict[str, Any]:
    """Return the prices: of the tries, and of all candidates, unless these are records."""
    money, prices = record.money, record.prices
    if money is None or prices is None:
        return {"patience": record.patience}
    costs, values = doubles(prices.costs), doubles(prices.values)
    row: dict[str, Any] = {"patience": money.patience}
    row |= {"planned_costs": costs, "planned_values": values}
    row["loss_bound"] = None if math.isnan(prices.loss_bound) else prices.loss_bound
    if money.costs is not None and money.values is not None:
        row |= {"costs": doubles(money.costs), "success_values": doubles(money.values)}
    elif record.named is None:
        order = record.played.order
        row |= {"costs": _spread(costs, order), "success_values": _spread(values, order)}
    return row


def _spread(prices: NDArray[np.float64], order: list[int]) -> NDArray[np.float64]:
    """Return the prices by candidate, with 0 for those that are neither played nor stored."""
    spread = np.zeros(max(order, default=-1) + 1)
    spread[order] = prices
    return spread


def _settled(entry: Entry, record: DecisionRecord) -> dict[str, Any]:
    outcome = entry.outcome()
    failures = range(1, outcome.tried - outcome.succeeded + 1)
    return {
        "tried": outcome.tried,
        "succeeded": outcome.succeeded,
        "outcome_costs": outcome.costs,
        "reward": record.reward(outcome),
        "spent": record.spent(outcome),
        "estimated": record.estimated(outcome),
        "learned": outcome.learn,
        "not_attributable": outcome.not_attributable if outcome.attributable else list(failures),
        "reason": outcome.reason,
        "outcome_seq": entry.seq,
        "outcome_recorded": entry.at,
        "outcome_at": outcome.at,
    }


def _text(packed: bytes | None) -> str | None:
    return None if packed is None else packed.decode()


def _played_features(record: DecisionRecord) -> list[Any] | None:
    if record.named is not None:
        return None
    return list(doubles(record.rows).reshape(len(record.played.ids), record.dim))


def _all_features(record: DecisionRecord) -> list[Any] | None:
    if record.candidates is None or record.features is None:
        return None
    count = len(record.candidates)
    return list(doubles(record.features).reshape(count, -1)) if count else []
