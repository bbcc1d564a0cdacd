"""Explanation: the names of candidates that are records, and what spoke for and against each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.rows import Plan, SparseRows

MAX_REASONS = 6  # kept of a candidate

Reason = tuple[str, float]


class Reasons:
    """What spoke for and against candidates, in log-odds; put into words when asked for.

    Parameters
    ----------
    contributions
        What each label adds to the score of each candidate, shape (s, labels).
    plan
        The fields of each label: of the candidate, of the context.
    records, context
        The candidates in order, and what they share.
    """

    __slots__ = ("_contributions", "_plan", "_sources")

    def __init__(
        self,
        contributions: NDArray[np.float64],
        plan: Plan,
        records: Sequence[Mapping[str, Any]],
        context: Mapping[str, Any],
    ) -> None:
        self._contributions, self._plan = contributions, plan
        self._sources = records, context

    def words(self) -> list[list[Reason]]:
        """Return the strongest reasons of every candidate, the strongest first."""
        records, context = self._sources
        words: list[list[Reason]] = []
        for record, row in zip(records, self._contributions, strict=True):
            order = np.argsort(-np.abs(row[1:]), kind="stable")[:MAX_REASONS] + 1
            words.append(
                [
                    (self._label(int(i), record, context), round(float(row[i]), 4))
                    for i in order
                    if abs(row[i]) >= 0.005
                ]
            )
        return words

    def take(self, positions: Sequence[int]) -> Reasons:
        """Return those of some candidates."""
        records, context = self._sources
        chosen = [records[i] for i in positions]
        return Reasons(self._contributions[list(positions)], self._plan, chosen, context)

    def _label(self, i: int, record: Mapping[str, Any], context: Mapping[str, Any]) -> str:
        own, other = self._plan.names[i]
        shared = self._plan.shared[i]
        parts = []
        if own is not None and (own != "id" or other is None):
            parts.append((own, record.get(own)))
        if other is not None:
            parts.append((shared or other, (record if shared is None else context).get(other)))
        return " x ".join(f"{name}={shorten(value)}" for name, value in parts)


def shorten(value: Any) -> str:
    """Return a value as a table shows it."""
    if value is None or (isinstance(value, Real) and value != value):  # NaN, as pandas has it
        return "missing"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 30 else f"{text[:27]}..."


class Names(NamedTuple):
    """What a receipt has in addition where candidates are records.

    ``rows`` is None where nothing is learned from it; ``reasons`` are in words if it was read.
    """

    ids: list[str | int | float | bool]
    rows: SparseRows | None
    reasons: Reasons | list[list[Reason]]

    def take(self, positions: Sequence[int]) -> Names:
        """Return those of some tries."""
        reasons = self.reasons
        return Names(
            [self.ids[i] for i in positions],
            None if self.rows is None else self.rows.take(list(positions)),
            reasons.take(positions)
            if isinstance(reasons, Reasons)
            else [reasons[i] for i in positions],
        )


def read_names(tree: Mapping[str, Any], count: int) -> Names | None:
    """Return what the state of a receipt has in addition; None where candidates are arrays."""
    if "ids" not in tree:
        return None
    rows = None if tree["rows"] is None else SparseRows.from_state(tree["rows"])
    reasons = [[_read_reason(*each) for each in some] for some in tree["reasons"]]
    ids = list(tree["ids"])
    if not all(isinstance(each, str | int | float) for each in ids):
        raise ValueError("ids must be text or numbers")
    if not len(ids) == len(reasons) == count or (rows is not None and len(rows) != count):
        raise ValueError("its parts have lengths that do not fit together")
    return Names(ids, rows, reasons)


def _read_reason(label: Any, size: Any) -> Reason:
    if not isinstance(label, str) or not -math.inf < float(size) < math.inf:
        raise ValueError("reasons must be a text and a finite number each")
    return label, float(size)
