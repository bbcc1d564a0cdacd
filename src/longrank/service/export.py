"""Decisions with their outcomes as Parquet: what longrank.logs reads, and anything else can."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from longrank.errors import MissingExtra
from longrank.service.engine import Engine
from longrank.service.records import DecisionRecord, Entry, doubles
from longrank.service.stats import earned

ROWS = 2000


def parquet(engine: Engine, name: str) -> bytes:
    """All decisions of a model that are in the log, oldest first, one row each."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("the export", "service") from error
    numbers, texts = pa.list_(pa.float64()), pa.list_(pa.string())
    schema = pa.schema(
        [
            ("id", pa.string()), ("seq", pa.int64()), ("created", pa.float64()),
            ("expires", pa.float64()), ("mode", pa.string()), ("version", pa.int64()),
            ("sequence", texts), ("order", pa.list_(pa.int64())), ("estimates", numbers),
            ("optimistic", numbers), ("values", numbers), ("features", pa.list_(numbers)),
            ("rewards", numbers), ("losses", numbers), ("baseline", texts), ("proposal", texts),
            ("candidates", texts), ("candidate_features", pa.list_(numbers)),
            ("tried", pa.int64()), ("succeeded", pa.bool_()), ("reward", pa.float64()),
            ("learned", pa.bool_()), ("attributable", pa.bool_()),
            ("not_attributable", pa.list_(pa.int64())), ("reason", pa.string()),
            ("outcome_seq", pa.int64()), ("outcome_recorded", pa.float64()),
            ("outcome_at", pa.float64()),
        ],
        {"longrank": "decisions 1", "model": name},
    )  # fmt: skip
    target = io.BytesIO()
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for rows in _chunks(engine, name):
            writer.write_table(pa.Table.from_pylist(rows, schema))
    return target.getvalue()


def _chunks(engine: Engine, name: str) -> Iterator[list[dict[str, Any]]]:
    model = engine.model(name)
    after = 0
    while pairs := engine.store.oldest(model.number, after, ROWS):
        after = pairs[-1][0].seq
        yield [_row(entry, settled) for entry, settled in pairs]


def _row(entry: Entry, settled: Entry | None) -> dict[str, Any]:
    record = entry.decision()
    played = record.played
    row: dict[str, Any] = {
        "id": entry.id,
        "seq": entry.seq,
        "created": entry.at,
        "expires": entry.expires,
        "mode": record.mode,
        "version": record.version,
        "sequence": played.ids,
        "order": played.order,
        "estimates": doubles(played.estimates),
        "optimistic": doubles(played.optimistic),
        "values": doubles(played.values),
        "features": list(doubles(record.rows).reshape(len(played.ids), record.dim)),
        "rewards": doubles(record.rewards),
        "losses": doubles(record.losses),
        "baseline": record.baseline,
        "proposal": record.proposal.ids if record.proposal else None,
        "candidates": record.candidates,
        "candidate_features": _all_features(record),
    }
    if settled is not None:
        outcome = settled.outcome()
        row |= {
            "tried": outcome.tried,
            "succeeded": outcome.succeeded,
            "reward": earned(record, outcome),
            "learned": outcome.learn,
            "attributable": outcome.attributable,
            "not_attributable": outcome.not_attributable,
            "reason": outcome.reason,
            "outcome_seq": settled.seq,
            "outcome_recorded": settled.at,
            "outcome_at": outcome.at,
        }
    return row


def _all_features(record: DecisionRecord) -> list[Any] | None:
    if record.candidates is None or record.features is None:
        return None
    count = len(record.candidates)
    return list(doubles(record.features).reshape(count, -1)) if count else []
