"""What the log holds: decisions and outcomes, as entries with a checksum."""

from __future__ import annotations

import hashlib
import struct
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from longrank.cascade import Outcome, Ranking
from longrank.payoffs import Payoffs
from longrank.service.errors import StoreDamaged

DECISION, OUTCOME = 0, 1
FORMAT = 1
_HEAD = struct.Struct("<qqqdd")


class Sequence(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A sequence along which candidates are tried; the arrays are little-endian float64."""

    ids: list[str]
    order: list[int]
    estimates: bytes
    optimistic: bytes
    values: bytes

    @classmethod
    def of(cls, ranking: Ranking, ids: list[str]) -> Sequence:
        order = ranking.order.tolist()
        return cls(
            [ids[i] for i in order],
            order,
            ranking.estimates.tobytes(),
            ranking.probabilities.tobytes(),
            ranking.values.tobytes(),
        )

    def ranking(self, rows: NDArray[np.float64]) -> Ranking:
        """The receipt, with these rows to learn from."""
        return Ranking(
            np.array(self.order, np.int64),
            doubles(self.optimistic),
            doubles(self.estimates),
            doubles(self.values),
            rows,
        )

    @property
    def value(self) -> float:
        """The expected value of the sequence as it stands."""
        return float(doubles(self.values)[len(self.ids)])


class DecisionRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A decision as it is logged: all that answering again, learning and explaining need.

    ``propensities`` are known where the policy drew by chance and its own choice was played: the
    probability of each prefix of the sequence, and at last that of all of it with its length.
    """

    digest: bytes
    mode: str
    version: int
    played: Sequence
    dim: int
    rows: bytes
    rewards: bytes
    losses: bytes
    proposal: Sequence | None = None
    baseline: list[str] | None = None
    candidates: list[str] | None = None
    features: bytes | None = None
    propensities: bytes | None = None

    @property
    def ranking(self) -> Ranking:
        """The receipt that a policy learns from."""
        return self.played.ranking(doubles(self.rows).reshape(len(self.played.ids), self.dim))

    @property
    def choice(self) -> Ranking:
        """What the model itself chose, which in shadow mode is not what was played."""
        if self.proposal is None:
            return self.ranking
        return self.proposal.ranking(np.empty((len(self.proposal.ids), self.dim)))

    @property
    def payoffs(self) -> Payoffs:
        """What success and giving up were worth."""
        return Payoffs(doubles(self.rewards), doubles(self.losses))


class OutcomeRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An outcome as it is logged; ``learn`` was decided when it came in, so replay is exact."""

    tried: int
    succeeded: bool
    learn: bool
    why: str | None = None
    attributable: bool = True
    not_attributable: list[int] = []
    reason: str | None = None
    at: float | None = None
    automatic: bool = False

    @property
    def content(self) -> tuple[Any, ...]:
        """What two reports of the same outcome have in common."""
        positions = tuple(sorted(set(self.not_attributable)))
        return self.tried, self.succeeded, self.attributable, positions, self.reason, self.at

    def observed(self, ranking: Ranking) -> tuple[Ranking, Outcome]:
        """The receipt and the outcome without the failures that are not attributable."""
        outcome = Outcome(self.tried, self.succeeded)
        if self.attributable and not self.not_attributable:
            return ranking, outcome
        last = self.tried if self.succeeded else 0
        left_out = (
            set(self.not_attributable) if self.attributable else set(range(1, self.tried + 1))
        )
        kept = [i for i in range(self.tried) if i + 1 == last or i + 1 not in left_out]
        some = Ranking(
            ranking.order[kept],
            ranking.probabilities[kept],
            ranking.estimates[kept],
            ranking.values,
            ranking.features[kept],
        )
        return some, Outcome(len(kept), self.succeeded)


class Draft(NamedTuple):
    """An entry that is to be appended; ``known`` is what the engine knows of it already.

    Of a decision its record and the model's own choice, of an outcome both records.
    """

    model: int
    kind: int
    id: str
    at: float
    expires: float
    body: bytes
    known: Any = None


class Entry(NamedTuple):
    """A line of the log."""

    seq: int
    model: int
    kind: int
    id: str
    at: float
    expires: float
    body: bytes

    def sum(self) -> bytes:
        """The checksum over all of it."""
        head = _HEAD.pack(self.seq, self.model, self.kind, self.at, self.expires)
        return hashlib.sha256(b"".join((head, self.id.encode(), self.body))).digest()[:8]

    def decision(self) -> DecisionRecord:
        return _read_decision.decode(self.body)

    def outcome(self) -> OutcomeRecord:
        return _read_outcome.decode(self.body)


def checked(row: tuple[Any, ...]) -> Entry:
    """The entry that stands in a row of the log, or :class:`StoreDamaged`."""
    seq, model, kind, name, at, expires, body, total = row
    try:
        entry = Entry(seq, model, kind, name, at, expires, bytes(body))
        if entry.sum() == bytes(total):
            return entry
    except (TypeError, struct.error, AttributeError, UnicodeError):
        pass  # a column of another type than was written
    raise StoreDamaged(
        f"log entry {seq!r} is damaged: its checksum does not match its content; "
        "restore the store from a backup"
    )


def blob(value: Any) -> bytes:
    """Bytes from a column, or :class:`StoreDamaged` where it holds something else."""
    if isinstance(value, bytes | memoryview):
        return bytes(value)
    raise StoreDamaged("a column of the store holds no bytes; restore the store from a backup")


def doubles(data: bytes) -> NDArray[np.float64]:
    """Little-endian float64 as an array of its own."""
    return np.frombuffer(data, "<f8").astype(np.float64)


encode = msgspec.msgpack.Encoder().encode
_read_decision = msgspec.msgpack.Decoder(DecisionRecord)
_read_outcome = msgspec.msgpack.Decoder(OutcomeRecord)
