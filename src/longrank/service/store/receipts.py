"""Receipts as the log holds them: sequences, their prices, and the rows to learn from."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from longrank.decision import Prices, Ranking
from longrank.errors import BadFile
from longrank.explanation import Names
from longrank.rows import SparseRows
from longrank.service.errors import StoreDamaged


class Sequence(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A sequence of candidates to try; the arrays are little-endian float64.

    ``reasons`` are there where candidates are records: see :attr:`longrank.Ranking.reasons`.
    """

    ids: list[str]
    order: list[int]
    estimates: bytes
    optimistic: bytes
    values: bytes
    reasons: list[list[tuple[str, float]]] | None = None

    @classmethod
    def of(cls, ranking: Ranking, ids: list[str]) -> Sequence:
        indices, probabilities, estimates, values = ranking.arrays()
        order, reasons = indices.tolist(), ranking.reasons
        return cls(
            [ids[i] for i in order],
            order,
            estimates.tobytes(),
            probabilities.tobytes(),
            values.tobytes(),
            reasons if any(reasons) else None,
        )

    def names(self, rows: SparseRows | None) -> Names:
        """Return what the receipt has in addition where candidates are records."""
        return Names(list(self.ids), rows, self.reasons or [[] for _ in self.ids])

    def ranking(
        self,
        rows: NDArray[np.float64],
        names: Names | None = None,
        prices: PricesRecord | None = None,
    ) -> Ranking:
        """Return the receipt, with these rows to learn from."""
        return Ranking(
            np.array(self.order, np.int64),
            doubles(self.optimistic),
            doubles(self.estimates),
            doubles(self.values),
            rows,
            names,
            None if prices is None else prices.prices(),
        )

    @property
    def value(self) -> float:
        """The expected value of the sequence."""
        return float(doubles(self.values)[len(self.ids)])


class PricesRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What the tries of a sequence cost and their successes are worth: little-endian float64."""

    costs: bytes
    values: bytes
    loss_bound: float

    @classmethod
    def of(cls, ranking: Ranking) -> PricesRecord | None:
        """Return those of a receipt; None where its candidates have no prices."""
        costs, values = ranking.costs, ranking.success_values
        if costs is None or values is None:
            return None
        return cls(costs.tobytes(), values.tobytes(), ranking.loss_bound)

    def prices(self) -> Prices:
        """Return them as a receipt has them."""
        return Prices(doubles(self.costs), doubles(self.values), self.loss_bound)


class RowsRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Sparse rows: see :class:`longrank.rows.SparseRows`. The arrays are little-endian."""

    candidate: list[tuple[str, str, int]]
    context: list[tuple[str, str, int]]
    keys: bytes
    numbers: bytes
    context_keys: bytes
    context_numbers: bytes
    raw: bytes
    context_raw: bytes

    @classmethod
    def of(cls, rows: SparseRows) -> RowsRecord:
        state = rows.state()
        arrays = (state[name].astype(kind, copy=False).tobytes() for name, kind in _KINDS.items())
        return cls(list(rows.layout.candidate), list(rows.layout.context), *arrays)

    @property
    def size(self) -> int:
        """The number of bytes of its arrays."""
        return sum(len(getattr(self, name)) for name in _KINDS)

    def rows(self, count: int) -> SparseRows:
        """Return the rows of so many candidates; StoreDamaged if they do not fit together."""
        try:
            arrays = {
                name: np.frombuffer(getattr(self, name), kind) for name, kind in _KINDS.items()
            }
            for name in ("keys", "numbers", "raw"):
                arrays[name] = arrays[name].reshape(count, len(arrays[name]) // max(count, 1))
            return SparseRows.from_state(
                {"candidate": self.candidate, "context": self.context} | arrays
            )
        except (BadFile, ValueError) as error:
            raise StoreDamaged(f"the rows of a decision do not fit together: {error}") from error


_KINDS = {
    "keys": "<u8",
    "numbers": "<f8",
    "context_keys": "<u8",
    "context_numbers": "<f8",
    "raw": "<f8",
    "context_raw": "<f8",
}


def doubles(data: bytes) -> NDArray[np.float64]:
    """Return little-endian float64 as an array that owns its memory."""
    return np.frombuffer(data, "<f8").astype(np.float64)
