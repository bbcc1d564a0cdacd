"""What a store holds: decisions with their outcomes, the log's entries, and snapshots.

:class:`DecisionRecord` is the one record of a decision. It is built when the decision is made, is
what the log keeps and a replay reads, and answers of the API and rows of an export are made of its
fields. A new field is one line here (with a default, at the end) and one where it is filled in.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from longrank.decision import Prices, Ranking
from longrank.errors import BadFile
from longrank.explanation import Names
from longrank.rows import SparseRows
from longrank.service.errors import OtherVersion, StoreDamaged

T = TypeVar("T", bound="Versioned")
Message = TypeVar("Message", bound=msgspec.Struct)
VERSION = 1  # of the layout of decisions, outcomes and snapshots
DECISION, OUTCOME = 0, 1  # kinds of entries
_HEAD = struct.Struct("<qqqdd")
encode = msgspec.msgpack.Encoder().encode


def copied(source: Any, kind: type[Message], **more: Any) -> Message:
    """Return a message of the fields that a record has by the same names, and of more."""
    same = {name: getattr(source, name) for name in kind.__struct_fields__ if name not in more}
    return kind(**same, **more)


class Versioned(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record that begins with the version of its layout."""

    version: int


class Matrix(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Rows of numbers: how many columns, and little-endian float64."""

    columns: int
    numbers: bytes

    def array(self, count: int = -1) -> NDArray[np.float64]:
        """Return them as an array, which must not be written to; so many rows."""
        numbers = np.frombuffer(self.numbers, "<f8").astype(np.float64, copy=False)
        return numbers.reshape(count, self.columns)


class SparseMatrix(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Sparse rows: see :class:`longrank.rows.SparseRows`. The arrays are little-endian."""

    candidate: list[tuple[str, str, int]]
    context: list[tuple[str, str, int]]
    dense: list[tuple[str, str, int]]
    keys: bytes
    numbers: bytes
    context_keys: bytes
    context_numbers: bytes
    raw: bytes
    context_raw: bytes

    @classmethod
    def of(cls, rows: SparseRows) -> SparseMatrix:
        arrays = (getattr(rows, name).astype(_KINDS[name], copy=False) for name in _KINDS)
        layout = rows.layout
        return cls(*map(list, layout), *(each.tobytes() for each in arrays))  # type: ignore[arg-type]

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
            fields = {"candidate": self.candidate, "context": self.context, "dense": self.dense}
            return SparseRows.from_state(fields | arrays)
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


class Plan(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A sequence to try, with a number for each try; NaN where a policy has no belief.

    ``values`` are the expected values of the lengths 0, 1, ..., up to the budget. ``costs``,
    ``success_values`` and ``loss_bound`` are there where candidates have prices, ``reasons`` where
    they are records: see :class:`longrank.Ranking`.
    """

    ids: list[str]
    order: list[int]
    estimates: list[float]
    optimistic: list[float]
    values: list[float]
    costs: list[float] | None = None
    success_values: list[float] | None = None
    loss_bound: float = 0.0
    reasons: list[list[tuple[str, float]]] | None = None

    @property
    def value(self) -> float:
        """The expected value of the sequence."""
        return self.values[len(self.ids)]

    def ranking(self, rows: NDArray[np.float64], names: Names | None = None) -> Ranking:
        """Return the receipt, with these rows to learn from."""
        prices = None
        if self.costs is not None:
            prices = Prices(np.array(self.costs), np.array(self.success_values), self.loss_bound)
        return Ranking(
            np.array(self.order, np.int64),
            self.optimistic,  # type: ignore[arg-type]  # it copies what it is given
            self.estimates,  # type: ignore[arg-type]
            self.values,  # type: ignore[arg-type]
            rows,
            names,
            prices,
        )


class OutcomeRecord(Versioned, frozen=True, array_like=True, gc=False, kw_only=True):
    """What became of a decision, and what it earned, as it was counted when it was recorded.

    ``recorded`` is when it arrived, ``at`` when the caller says that it happened; ``automatic``
    says that none arrived in time. ``learn`` says whether the model learns from it, ``why`` why it
    does not. ``paid`` is what each try cost: really where that was ``reported``, else as planned;
    empty without prices. ``reward`` is net of ``spent``, which counts costs that nobody told but
    the policy expected where it is ``estimated``. ``gave_up`` says that all that was to be tried
    failed, and the sequence left tries unused; a failure after all tries of the budget, or one
    that ended the cascade, is declined. ``seq`` is its number in the log.
    """

    version: int = VERSION
    id: str
    recorded: float
    tried: int
    succeeded: bool
    learn: bool
    reward: float
    spent: float
    paid: list[float]
    reported: bool = False
    estimated: bool = False
    gave_up: bool = False
    why: str | None = None
    attributable: bool = True
    not_attributable: list[int] = []
    reason: str | None = None
    at: float | None = None
    automatic: bool = False
    seq: int = 0

    @property
    def costs(self) -> list[float] | None:
        """What each try really cost; None if that was not reported."""
        return self.paid if self.reported else None

    @property
    def content(self) -> tuple[Any, ...]:
        """What two reports of the same outcome must agree on."""
        told = self.tried, self.succeeded, self.attributable, self.reason, self.at, self.costs
        return *told, sorted(set(self.not_attributable))


class DecisionRecord(Versioned, frozen=True, array_like=True, gc=False, kw_only=True):
    """A decision: what was offered, what was chosen and why, and what became of it.

    ``digest`` identifies the content of the request, ``learned`` is the number of outcomes that the
    model had learned from, ``seq`` the decision's number in the log.

    The round: ``rewards``, ``losses`` and ``patience`` are those of the payoffs,
    ``planned_patience`` the one that the policy planned with. All ``candidates`` (their ids) are
    there where the model stores them; then so are their ``items``, ``costs`` and
    ``success_values`` where they are arrays, or their ``records`` as JSON. ``context`` is JSON, and
    None where candidates are arrays. ``baseline`` is the caller's own sequence.

    The choice: ``played`` and, in shadow mode, the model's own ``proposal``. ``expected`` are the
    tries whose cost was not given, but is what the policy expected, counted from 0.
    ``propensities`` are there where a randomised policy's own choice was played: the probability of
    each prefix of the sequence, and last that of the whole sequence. ``rows`` or ``sparse`` are
    learned from; ``sample`` are some of the candidates, where the receipt carries them.

    ``outcome`` has an entry of its own in the log: see :func:`joined`.
    """

    version: int = VERSION
    id: str
    created: float
    expires: float
    digest: bytes
    mode: str
    learned: int
    rewards: list[float]
    losses: list[float]
    patience: float = 1.0
    planned_patience: float = 1.0
    candidates: list[str] | None = None
    items: Matrix | None = None
    costs: list[float] | None = None
    success_values: list[float] | None = None
    records: bytes | None = None
    context: bytes | None = None
    baseline: list[str] | None = None
    played: Plan
    proposal: Plan | None = None
    expected: list[int] = []
    propensities: list[float] | None = None
    rows: Matrix
    sparse: SparseMatrix | None = None
    sample: Matrix | None = None
    outcome: OutcomeRecord | None = None
    seq: int = 0

    @property
    def ranking(self) -> Ranking:
        """The receipt that a policy learns from."""
        return self.receipt()

    def receipt(self, rows: SparseRows | None = None) -> Ranking:
        """Return the receipt that a policy learns from; ``rows`` are its own, if at hand."""
        played, names = self.played, None
        count = len(played.ids)
        if self.context is not None:
            if rows is None and self.sparse is not None:
                rows = self.sparse.rows(count)
            names = Names(list(played.ids), rows, played.reasons or [[] for _ in played.ids])
        ranking = played.ranking(self.rows.array(count), names)
        return ranking if self.sample is None else ranking.carry(self.sample.array())

    @property
    def choice(self) -> Ranking:
        """The model's own choice, which in shadow mode is not what was played."""
        if self.proposal is None:
            return self.ranking
        return self.proposal.ranking(np.empty((len(self.proposal.ids), self.rows.columns)))


# entries of the log


class Draft(NamedTuple):
    """An entry to append; ``known`` is what the engine need not read from the body again.

    Of a decision it is the record, the receipt of what is played and that of the model's own
    choice; of an outcome the decision with it, and the receipt.
    """

    model: int
    kind: int
    id: str
    at: float
    expires: float
    body: bytes
    known: Any = None


class Entry(NamedTuple):
    """An entry of the log."""

    seq: int
    model: int
    kind: int
    id: str
    at: float
    expires: float
    body: bytes

    def checksum(self) -> bytes:
        """Return the checksum over all fields."""
        head = _HEAD.pack(self.seq, self.model, self.kind, self.at, self.expires)
        return hashlib.sha256(b"".join((head, self.id.encode(), self.body))).digest()[:8]

    def decision(self) -> DecisionRecord:
        """Read the decision in the body."""
        return self._read(_decision)

    def outcome(self) -> OutcomeRecord:
        """Read the outcome in the body."""
        return self._read(_outcome)

    def _read(self, decoder: msgspec.msgpack.Decoder[T]) -> T:
        record = read_version(self.body, decoder, f"log entry {self.seq} ({self.id!r})")
        msgspec.structs.force_setattr(record, "seq", self.seq)
        return record


def joined(decided: Entry, settled: Entry | None) -> DecisionRecord:
    """Return a decision with its outcome, if it has one, from their entries."""
    record = decided.decision()
    return record if settled is None else msgspec.structs.replace(record, outcome=settled.outcome())


def checked(row: tuple[Any, ...]) -> Entry:
    """Return the entry in a row of the log; StoreDamaged if its checksum does not match."""
    seq, model, kind, name, at, expires, body, total = row
    try:
        entry = Entry(seq, model, kind, name, at, expires, bytes(body))
        if entry.checksum() == bytes(total):
            return entry
    except (TypeError, struct.error, AttributeError, UnicodeError):
        pass  # a column of another type than was written
    raise StoreDamaged(
        f"log entry {seq!r} is damaged: its checksum does not match its content; "
        "restore the store from a backup"
    )


def blob(value: Any) -> bytes:
    """Return the bytes in a column; StoreDamaged if it holds anything else."""
    if isinstance(value, bytes | memoryview):
        return bytes(value)
    raise StoreDamaged("a column of the store holds no bytes; restore the store from a backup")


# snapshots


class Snapshot(Versioned, frozen=True, array_like=True):
    """A model after entry ``seq`` of the log: its policy's bytes and its statistics, packed."""

    seq: int
    state_hash: str
    policy: bytes
    stats: msgspec.Raw

    @classmethod
    def of(cls, seq: int, policy: bytes, stats: msgspec.Struct) -> Snapshot:
        return cls(VERSION, seq, state_hash(policy), policy, msgspec.Raw(encode(stats)))

    def packed(self) -> tuple[bytes, bytes]:
        """Return its bytes and their SHA-256."""
        body = encode(self)
        return body, hashlib.sha256(body).digest()


def state_hash(policy: bytes) -> str:
    """Return the SHA-256 of a policy's bytes, in hex."""
    return hashlib.sha256(policy).hexdigest()


def read_snapshot(seq: int, body: bytes, total: bytes) -> Snapshot | StoreDamaged:
    """Unpack a snapshot; return an error that says what is wrong with a damaged one.

    One of a newer version is not damaged, and is refused.
    """
    if hashlib.sha256(body).digest() != total:
        return StoreDamaged(f"snapshot {seq} is damaged: its checksum does not match its content")
    snapshot = read_version(body, _snapshot, f"snapshot {seq}")
    if snapshot.seq != seq or state_hash(snapshot.policy) != snapshot.state_hash:
        return StoreDamaged(f"snapshot {seq} does not fit together")
    return snapshot


def read_version(body: bytes, decoder: msgspec.msgpack.Decoder[T], what: str) -> T:
    """Decode a record; OtherVersion if this longrank cannot: a checksum says it is not damaged."""
    try:
        written = _version.decode(body).version
        if 1 <= written <= VERSION:
            return decoder.decode(body)
        detail = (
            f"has version {written}; this longrank reads versions up to {VERSION}: upgrade longrank"
        )
    except msgspec.DecodeError as error:
        detail = f"was written by another version of longrank: {error}"
    raise OtherVersion(f"{what} {detail}")


_version = msgspec.msgpack.Decoder(Versioned)
_decision = msgspec.msgpack.Decoder(DecisionRecord)
_outcome = msgspec.msgpack.Decoder(OutcomeRecord)
_snapshot = msgspec.msgpack.Decoder(Snapshot)
