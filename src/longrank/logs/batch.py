"""A batch: checked decisions as columns, which take little memory and travel between processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.decision import Outcome
from longrank.logs.decision import Decision
from longrank.payoffs import Payoffs

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

SIZE = 1024  # decisions of a batch
UNKNOWN = -1
#: Fields of a decision that are kept as they are, where some decision has them.
_PLAIN = (
    "time", "version", "learned", "left_out", "turn", "candidates", "context", "price_fields",
    "patience",
)  # fmt: skip
_DEFAULTS = {each.name: each.default for each in fields(Decision) if each.name in _PLAIN}


@dataclass
class Lists:
    """Lists of different lengths in one array: number i from ``firsts[i]`` to ``firsts[i + 1]``.

    ``known[i]`` is whether there is a list.
    """

    firsts: Indices
    values: NDArray[Any]
    known: Flags

    @classmethod
    def of(cls, lists: Sequence[NDArray[Any] | None]) -> Lists | None:
        """Join lists; None if there are none."""
        there = [each for each in lists if each is not None]
        if not there:
            return None
        width = max(each.shape[1:] for each in there)
        filled = [each if len(each) else np.empty((0, *width), each.dtype) for each in there]
        sizes = [0 if each is None else len(each) for each in lists]
        known = np.array([each is not None for each in lists])
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
    ``more`` are the columns that few logs have.
    """

    rows: Indices
    ids: list[str | int]
    order: Lists
    tried: NDArray[np.int32]
    succeeded: Flags
    budget: NDArray[np.int32]
    propensity: Array
    pay: NDArray[np.int32]
    payoffs: list[Payoffs]
    items: Lists | None = None
    features: Lists | None = None
    prefix: Lists | None = None
    costs: Lists | None = None  # reported with outcomes
    more: dict[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, decisions: Sequence[Decision]) -> Batch:
        """Turn decisions into columns."""
        outcomes = [each.outcome for each in decisions]
        known: dict[int, int] = {}
        payoffs: list[Payoffs] = []
        pay = np.full(len(decisions), UNKNOWN, np.int32)
        for i, each in enumerate(decisions):
            if each.payoffs is not None:
                pay[i] = known.setdefault(id(each.payoffs), len(known))
                if len(known) > len(payoffs):
                    payoffs.append(each.payoffs)
        order = Lists.of([each.order for each in decisions])
        assert order is not None
        more: dict[str, list[Any]] = {}
        for name in _PLAIN:
            column, usual = [getattr(each, name) for each in decisions], _DEFAULTS[name]
            if any(value != usual for value in column):
                more[name] = column
        features = [each.features for each in decisions]
        if len({each.shape[1] for each in features if each is not None and len(each)}) > 1:
            more["features"], features = features, []  # a feature map whose rows grow
        bills = [
            None if outcome is None or outcome.costs is None else np.array(outcome.costs)
            for outcome in outcomes
        ]
        tried = [UNKNOWN if outcome is None else outcome.tried for outcome in outcomes]
        budget = [UNKNOWN if each.budget is None else each.budget for each in decisions]
        chances = [np.nan if each.propensity is None else each.propensity for each in decisions]
        return cls(
            rows=np.array([each.row for each in decisions], np.int64),
            ids=[each.id for each in decisions],
            order=order,
            tried=np.array(tried, np.int32),
            succeeded=np.array([o is not None and o.succeeded for o in outcomes], np.bool_),
            budget=np.array(budget, np.int32),
            propensity=np.array(chances, np.float64),
            pay=pay,
            payoffs=payoffs,
            items=Lists.of([each.items for each in decisions]),
            features=Lists.of(features),
            prefix=Lists.of([each.prefix for each in decisions]),
            costs=Lists.of(bills),
            more=more,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Decision:
        outcome, order = None, self.order[i]
        if self.tried[i] >= 0:
            bill = None if self.costs is None else self.costs[i]
            paid = None if bill is None else tuple(bill.tolist())
            outcome = Outcome(int(self.tried[i]), bool(self.succeeded[i]), paid)
        plain: dict[str, Any] = {name: column[i] for name, column in self.more.items()}
        if self.features is not None:
            plain["features"] = self.features[i]
        budget, propensity, pay = self.budget[i], float(self.propensity[i]), self.pay[i]
        assert order is not None
        return Decision(
            row=int(self.rows[i]),
            id=self.ids[i],
            order=order,
            outcome=outcome,
            items=None if self.items is None else self.items[i],
            payoffs=self.payoffs[pay] if pay >= 0 else None,
            budget=None if budget == UNKNOWN else int(budget),
            propensity=None if propensity != propensity else propensity,
            prefix=None if self.prefix is None else self.prefix[i],
            **plain,
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
        return np.diff(self.order.firsts)

    @property
    def sizes(self) -> Indices:
        """The number of candidates of each decision; 0 if they are not known."""
        offered = self.more.get("candidates", [None] * len(self))
        sizes = np.array([len(each or ()) for each in offered], np.int64)
        if self.items is None:
            return sizes
        return np.where(self.items.known, np.diff(self.items.firsts), sizes)

    def has(self, name: str) -> Flags:
        """Tell which decisions have a list, or one of the columns that few logs have."""
        lists = getattr(self, name, None)
        if lists is not None:
            return np.asarray(lists.known)
        return np.array([each is not None for each in self.more.get(name, [None] * len(self))])

    def take(self, first: int, last: int) -> Batch:
        """Return the decisions from ``first`` up to, but not including, ``last``."""
        if first == 0 and last == len(self):
            return self
        cut: dict[str, Any] = {}
        for each in fields(self):
            column = getattr(self, each.name)
            if isinstance(column, Lists):
                cut[each.name] = column.take(first, last)
            elif each.name not in ("payoffs", "more") and column is not None:
                cut[each.name] = column[first:last]
        more = {name: column[first:last] for name, column in self.more.items()}
        return replace(self, **cut, more=more)
