"""Records of the log: decisions and outcomes, in entries with a checksum."""

from __future__ import annotations

import hashlib
import math
import struct
from collections import abc
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from longrank.decision import Outcome, Ranking
from longrank.payoffs import Payoffs
from longrank.service.errors import OtherVersion, StoreDamaged
from longrank.service.store.receipts import PricesRecord, RowsRecord, Sequence, doubles

T = TypeVar("T")
DECISION, OUTCOME = 0, 1
VERSION = 4  # of the records' layout
_PRICES = 3  # that of decisions without a sample and of outcomes, which has not changed
_RECORDS = 2  # that of decisions about records without prices, which has not changed
_ARRAYS = 1  # that of decisions about arrays and of outcomes, without prices, which has not changed
_PAIR = b"\x92"  # MessagePack's mark of an array of two: a version and a record
_HEAD = struct.Struct("<qqqdd")


class MoneyRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a decision has in addition where candidates have prices, or cascades a patience.

    ``costs`` and ``values`` are those of all candidates, where these are stored and are arrays:
    records have them as fields. ``expected`` are the tries whose cost was not given, but is what
    the policy expected, counted from 0. ``patience`` is that of the payoffs, ``learned`` the one
    that it was planned with where the policy has learned another.
    """

    played: PricesRecord | None = None
    proposal: PricesRecord | None = None
    costs: bytes | None = None
    values: bytes | None = None
    patience: float = 1.0
    expected: list[int] = []
    learned: float | None = None


class NamedRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a decision about records has in addition.

    ``rows`` are those of the sequence, None where the policy does not learn from them. ``context``
    and ``candidates`` are JSON as they were given; of the candidates all are stored, or none.
    """

    rows: RowsRecord | None
    context: bytes
    candidates: bytes | None


class DecisionRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A decision in the log: all that repeating the answer, learning and explaining need.

    ``propensities`` are there where the policy is randomised and its own choice was played: the
    probability of each prefix of the sequence, and last that of the whole sequence. ``named`` is
    there where candidates are records, ``money`` where the round has more than rewards and losses.
    ``sample`` are some of the candidates, where the receipt carries them.
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
    named: NamedRecord | None = None
    money: MoneyRecord | None = None
    sample: tuple[int, bytes] | None = None

    @property
    def ranking(self) -> Ranking:
        """The receipt that a policy learns from."""
        count, named, names = len(self.played.ids), self.named, None
        if named is not None:
            names = self.played.names(None if named.rows is None else named.rows.rows(count))
        rows = doubles(self.rows).reshape(count, self.dim)
        ranking = self.played.ranking(rows, names, self.prices)
        if self.sample is None:
            return ranking
        columns, numbers = self.sample
        return ranking.carry(doubles(numbers).reshape(-1, columns))

    @property
    def prices(self) -> PricesRecord | None:
        """What the tries of the sequence cost; None where candidates have no prices."""
        return None if self.money is None else self.money.played

    @property
    def context(self) -> dict[str, Any] | None:
        """What all candidates of the round shared; None where they were arrays."""
        if self.named is None:
            return None
        found: dict[str, Any] = msgspec.json.decode(self.named.context)
        return found

    @property
    def choice(self) -> Ranking:
        """The model's own choice, which in shadow mode is not what was played."""
        if self.proposal is None:
            return self.ranking
        return self.proposal.ranking(np.empty((len(self.proposal.ids), self.dim)))

    @property
    def payoffs(self) -> Payoffs:
        """The payoffs of the round."""
        return Payoffs(doubles(self.rewards), doubles(self.losses), patience=self.patience)

    @property
    def patience(self) -> float:
        """That of the payoffs, as they were given."""
        return 1.0 if self.money is None else self.money.patience

    @property
    def planned_patience(self) -> float:
        """That of the plan: given, or learned by the policy."""
        learned = None if self.money is None else self.money.learned
        return self.patience if learned is None else learned

    def observed(self, outcome: OutcomeRecord) -> tuple[Ranking, Outcome]:
        """Return what to learn from: without the failures that are not attributable."""
        ranking, tried, costs = self.ranking, outcome.tried, outcome.costs
        if outcome.attributable and not outcome.not_attributable:
            return ranking, Outcome(tried, outcome.succeeded, costs)
        last = tried if outcome.succeeded else 0
        left_out = set(outcome.not_attributable if outcome.attributable else range(1, tried + 1))
        kept = [i for i in range(tried) if i + 1 == last or i + 1 not in left_out]
        if costs is not None:
            costs = tuple(costs[i] for i in kept)
        return ranking.subset(kept), Outcome(len(kept), outcome.succeeded, costs)

    @property
    def is_short(self) -> bool:
        """Whether the sequence leaves tries of the budget unused."""
        return len(self.played.ids) < len(self.played.values) // 8 - 1

    def gave_up(self, outcome: OutcomeRecord) -> bool:
        """Return whether all that was to be tried failed, and the sequence left tries unused.

        A failure after all tries of the budget, or one that ended the cascade, is declined.
        """
        return not outcome.succeeded and outcome.tried == len(self.played.ids) and self.is_short

    def reward(self, outcome: OutcomeRecord) -> float:
        """Return what an outcome earned, net of what its tries cost; rounded once."""
        tried, prices, parts = outcome.tried, self.prices, []
        if not outcome.succeeded:
            parts.append(_number(self.losses, tried))
        else:
            parts.append(_number(self.rewards, tried - 1))
            if prices is not None:
                parts.append(_number(prices.values, tried - 1))
        return math.fsum([*parts, *(-cost for cost in self.paid(outcome))])

    def spent(self, outcome: OutcomeRecord) -> float:
        """Return what the tries of an outcome cost; rounded once."""
        return math.fsum(self.paid(outcome))

    def estimated(self, outcome: OutcomeRecord) -> bool:
        """Return whether that counts a cost which nobody told, but the policy expected."""
        if outcome.costs is not None or self.money is None:
            return False
        return any(position < outcome.tried for position in self.money.expected)

    def paid(self, outcome: OutcomeRecord) -> abc.Sequence[float]:
        """Return what each try cost: really, if that was reported, or as planned."""
        if outcome.costs is not None:
            return outcome.costs
        return () if self.prices is None else doubles(self.prices.costs)[: outcome.tried].tolist()


class OutcomeRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An outcome in the log; ``learn`` was decided when it arrived, so that replay is exact."""

    tried: int
    succeeded: bool
    learn: bool
    why: str | None = None
    attributable: bool = True
    not_attributable: list[int] = []
    reason: str | None = None
    at: float | None = None
    automatic: bool = False
    costs: tuple[float, ...] | None = None

    @property
    def content(self) -> tuple[Any, ...]:
        """What two reports of the same outcome must agree on."""
        told = self.tried, self.succeeded, self.attributable, self.reason, self.at, self.costs
        return *told, tuple(sorted(set(self.not_attributable)))


class Draft(NamedTuple):
    """An entry to append; ``known`` is what the engine need not read from the body again.

    Of a decision it is the record and the model's own choice, of an outcome both records.
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
        return self._read(_read_decision)

    def outcome(self) -> OutcomeRecord:
        """Read the outcome in the body."""
        return self._read(_read_outcome)

    def _read(self, decoder: msgspec.msgpack.Decoder[T]) -> T:
        """Read the record in the body, after its version."""
        body: bytes | memoryview = self.body
        if (
            self.body[:1] == _PAIR
        ):  # else from before records had a version: the layout is that of 1
            if self.body[1] > VERSION:
                raise OtherVersion(
                    f"log entry {self.seq} ({self.id!r}) has version {self.body[1]}; this longrank "
                    f"reads versions up to {VERSION}: upgrade longrank"
                )
            body = memoryview(self.body)[2:]
        try:
            return decoder.decode(body)
        except msgspec.DecodeError as error:  # its checksum says that it is as it was written
            raise OtherVersion(
                f"log entry {self.seq} ({self.id!r}) was written by another version of longrank: "
                f"{error}"
            ) from error


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


def _number(data: bytes, index: int) -> float:
    number: float
    (number,) = struct.unpack_from("<d", data, 8 * index)
    return number


def pack_decision(record: DecisionRecord) -> bytes:
    """Return the body of a decision's entry; without prices it is as it was before there were."""
    if record.sample is not None:
        return encode((VERSION, record))
    fields = msgspec.structs.astuple(record)
    if record.money is not None:
        return encode((_PRICES, fields[:-1]))
    return encode((_ARRAYS if record.named is None else _RECORDS, fields[:-2]))


def pack_outcome(record: OutcomeRecord) -> bytes:
    """Return the body of an outcome's entry; without costs it is as it was before there were."""
    if record.costs is not None:
        return encode((_PRICES, record))
    return encode((_ARRAYS, msgspec.structs.astuple(record)[:-1]))


encode = msgspec.msgpack.Encoder().encode
_read_decision = msgspec.msgpack.Decoder(DecisionRecord)
_read_outcome = msgspec.msgpack.Decoder(OutcomeRecord)
