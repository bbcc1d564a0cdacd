"""A batch: checked decisions as columns, compact in memory and cheap to send to other processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.arrays import Array, Flags, Indices
from longrank.decision import Outcome
from longrank.logs.columns import PAID
from longrank.logs.decision import Decision
from longrank.payoffs import Payoffs

Prints = NDArray[np.uint64]

SIZE = 1024  # decisions of a batch
UNKNOWN = -1
_WHOLE = 2**62
_ARRAYS = ("row", "id", "outcome", "payoffs", "budget", "propensity")  # in arrays of their own
_COLUMNS = ("rows", "ids", "tried", "succeeded", "budget", "propensity", "pay")  # of a batch
#: The other fields of a decision, and what most decisions have.
_OTHERS = {each.name: each.default for each in fields(Decision) if each.name not in _ARRAYS}


def fingerprint(id: str | int) -> int:
    """Return the same 64 bits for the same id, in any process; for small whole numbers their own.

    >>> fingerprint(7), fingerprint("7") > 2**63
    (7, True)
    """
    if isinstance(id, int) and 0 <= id < _WHOLE:
        return id
    digest = blake2b(repr(id).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") | 1 << 63


def fingerprints(ids: Sequence[str | int]) -> Prints:
    """Return those of many ids."""
    return np.array([fingerprint(each) for each in ids], np.uint64)


def grown(counts: NDArray[Any], width: int) -> NDArray[Any]:
    """Return numbers by position with zeros for further positions, at least ``width`` in all."""
    return np.pad(counts, (0, max(width - len(counts), 0)))


@dataclass
class Lists:
    """Lists of different lengths in one array: number i from ``firsts[i]`` to ``firsts[i + 1]``.

    ``known[i]`` is whether there is a list.
    """

    firsts: Indices
    values: NDArray[Any]
    known: Flags

    @classmethod
    def of(cls, lists: Sequence[NDArray[Any] | None]) -> Lists:
        """Join lists, of which at least one is there."""
        known = np.array([each is not None for each in lists])
        there = [each for each in lists if each is not None]
        width = max(each.shape[1:] for each in there)
        filled = [each if len(each) else np.empty((0, *width), each.dtype) for each in there]
        sizes = [0 if each is None else len(each) for each in lists]
        return cls(np.append(0, np.cumsum(sizes)), np.concatenate(filled), known)

    def __getitem__(self, i: int) -> NDArray[Any] | None:
        return self.values[self.firsts[i] : self.firsts[i + 1]] if self.known[i] else None

    def take(self, first: int, last: int) -> Lists:
        """Return those from ``first`` up to, but not including, ``last``."""
        firsts = self.firsts[first : last + 1]
        values = self.values[firsts[0] : firsts[-1]]
        return Lists(firsts - firsts[0], values, self.known[first:last])


@dataclass
class Batch:
    """Decisions of a log, one after another: see :class:`Decision`.

    ``tried`` is -1 where the outcome is not known, ``budget`` where there is none, and
    ``propensity`` is NaN. Decision i has the payoffs ``payoffs[pay[i]]``; None if ``pay[i]`` is -1.
    All other fields of decisions are in ``lists``, if they are arrays, or in ``more``, unless they
    have the same default value everywhere; so are ``outcome_costs``.
    """

    rows: Indices
    ids: list[str | int]
    tried: NDArray[np.int32]
    succeeded: Flags
    budget: NDArray[np.int32]
    propensity: Array
    pay: NDArray[np.int32]
    payoffs: list[Payoffs]
    lists: dict[str, Lists] = field(default_factory=dict)
    more: dict[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, decisions: Sequence[Decision]) -> Batch:
        """Turn decisions into columns."""
        outcomes = [each.outcome for each in decisions]
        payoffs = {id(each.payoffs): each.payoffs for each in decisions if each.payoffs is not None}
        numbers = {None: UNKNOWN} | {own: i for i, own in enumerate(payoffs)}
        pay = [numbers[None if each.payoffs is None else id(each.payoffs)] for each in decisions]
        budget = [UNKNOWN if each.budget is None else each.budget for each in decisions]
        chances = [np.nan if each.propensity is None else each.propensity for each in decisions]
        batch = cls(
            np.array([each.row for each in decisions], np.int64),
            [each.id for each in decisions],
            np.array([UNKNOWN if o is None else o.tried for o in outcomes], np.int32),
            np.array([o is not None and o.succeeded for o in outcomes], np.bool_),
            np.array(budget, np.int32),
            np.array(chances, np.float64),
            np.array(pay, np.int32),
            list(payoffs.values()),
        )
        bills = [None if o is None or o.costs is None else np.array(o.costs) for o in outcomes]
        columns = {name: [getattr(each, name) for each in decisions] for name in _OTHERS}
        for name, column in (columns | {PAID: bills}).items():
            arrays = [each for each in column if isinstance(each, np.ndarray)]
            if arrays and len({each.shape[1:] for each in arrays if len(each)}) <= 1:
                batch.lists[name] = Lists.of(column)
            elif arrays or any(each != _OTHERS.get(name) for each in column):
                batch.more[name] = column  # arrays of a feature map whose rows grow
        return batch

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Decision:
        known: dict[str, Any] = {name: each[i] for name, each in self.lists.items()}
        known |= {name: column[i] for name, column in self.more.items()}
        bill, outcome, propensity = known.pop(PAID, None), None, float(self.propensity[i])
        if self.tried[i] >= 0:
            paid = None if bill is None else tuple(bill.tolist())
            outcome = Outcome(int(self.tried[i]), bool(self.succeeded[i]), paid)
        return Decision(
            row=int(self.rows[i]),
            id=self.ids[i],
            outcome=outcome,
            payoffs=self.payoffs[self.pay[i]] if self.pay[i] >= 0 else None,
            budget=None if self.budget[i] == UNKNOWN else int(self.budget[i]),
            propensity=None if propensity != propensity else propensity,
            **known,
        )

    def __iter__(self) -> Iterator[Decision]:
        return map(self.__getitem__, range(len(self)))

    @property
    def observed(self) -> Flags:
        """Whether the outcome of each decision is known."""
        return self.tried >= 0

    @property
    def lengths(self) -> Indices:
        """The length of each sequence."""
        return np.diff(self.lists["order"].firsts)

    @property
    def sizes(self) -> Indices:
        """The number of candidates of each decision; 0 if they are not known."""
        offered = self.more.get("candidates", [None] * len(self))
        sizes = np.array([len(each or ()) for each in offered], np.int64)
        if (items := self.lists.get("items")) is None:
            return sizes
        return np.where(items.known, np.diff(items.firsts), sizes)

    def has(self, name: str) -> Flags:
        """Tell in which decisions a field has a value."""
        if name in self.lists:
            return self.lists[name].known
        return np.array([each is not None for each in self.more.get(name, [None] * len(self))])

    def take(self, first: int, last: int) -> Batch:
        """Return the decisions from ``first`` up to, but not including, ``last``."""
        if first == 0 and last == len(self):
            return self
        columns = {name: getattr(self, name)[first:last] for name in _COLUMNS}
        lists = {name: each.take(first, last) for name, each in self.lists.items()}
        more = {name: column[first:last] for name, column in self.more.items()}
        return replace(self, **columns, lists=lists, more=more)
