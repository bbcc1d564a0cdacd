"""A batch: checked decisions as columns, which take little memory and travel between processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.decision import Outcome
from longrank.logs.decision import Decision
from longrank.payoffs import Payoffs

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SIZE = 1024  # decisions of a batch
UNKNOWN = -1
#: Fields of a decision that are kept as they are, where some decision has them.
_PLAIN = (
    "time",
    "version",
    "learned",
    "left_out",
    "turn",
    "candidates",
    "context",
    "price_fields",
    "patience",
)
_DEFAULTS = {one.name: one.default for one in fields(Decision) if one.name in _PLAIN}


@dataclass
class Lists:
    """Lists of different lengths in one array: number i from ``firsts[i]`` to ``firsts[i + 1]``.

    ``known[i]`` is whether there is a list; None if there are all.
    """

    firsts: Indices
    values: NDArray[Any]
    known: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, lists: Sequence[NDArray[Any] | None]) -> Lists | None:
        """Join lists; None if there are none."""
        there = [one for one in lists if one is not None]
        if not there:
            return None
        known = None
        if len(there) < len(lists):
            known = np.array([one is not None for one in lists])
        sizes = [0 if one is None else len(one) for one in lists]
        return cls(np.append(0, np.cumsum(sizes)), np.concatenate(there), known)

    def __getitem__(self, i: int) -> NDArray[Any] | None:
        if self.known is not None and not self.known[i]:
            return None
        return self.values[self.firsts[i] : self.firsts[i + 1]]

    def __iter__(self) -> Iterator[NDArray[Any] | None]:
        edges = self.firsts.tolist()
        for i, (first, last) in enumerate(pairwise(edges)):
            there = self.known is None or self.known[i]
            yield self.values[first:last] if there else None

    def take(self, first: int, last: int) -> Lists:
        """Return those from ``first`` up to, but not including, ``last``."""
        firsts = self.firsts[first : last + 1]
        known = None if self.known is None else self.known[first:last]
        return Lists(firsts - firsts[0], self.values[firsts[0] : firsts[-1]], known)


@dataclass
class Batch:
    """Decisions of a log, one after another: see :class:`Decision`.

    ``tried`` is -1 where the outcome is not known, ``budget`` where there is none, and
    ``propensity`` is NaN. Decision i has the payoffs ``payoffs[pay[i]]``; None if ``pay[i]`` is -1.
    ``more`` are the columns that few logs have.
    """

    rows: Indices
    ids: Indices | list[Any]
    order: Lists
    tried: NDArray[np.int32]
    succeeded: NDArray[np.bool_]
    budget: NDArray[np.int32]
    propensity: Array
    pay: NDArray[np.int32]
    payoffs: list[Payoffs]
    items: Lists | None = None
    features: Lists | None = None
    prefix: Lists | None = None
    costs: Lists | None = None  # that outcomes tell
    more: dict[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, decisions: Sequence[Decision]) -> Batch:
        """Turn decisions into columns."""
        ended = [one.outcome for one in decisions]
        known: dict[int, int] = {}
        payoffs: list[Payoffs] = []
        pay = np.full(len(decisions), UNKNOWN, np.int32)
        for i, one in enumerate(decisions):
            if one.payoffs is not None:
                pay[i] = known.setdefault(id(one.payoffs), len(known))
                if len(known) > len(payoffs):
                    payoffs.append(one.payoffs)
        ids: Any = [one.id for one in decisions]
        if all(type(each) is int and abs(each) < 2**62 for each in ids):
            ids = np.array(ids, np.int64)
        order = Lists.of([one.order for one in decisions])
        assert order is not None
        more = {}
        for name in _PLAIN:
            column, usual = [getattr(one, name) for one in decisions], _DEFAULTS[name]
            if any(value != usual for value in column):
                more[name] = column
        features = [one.features for one in decisions]
        if len({one.shape[1] for one in features if one is not None and len(one)}) > 1:
            more["features"] = features  # of a feature map whose rows grow
            features = []
        bills = [None if one is None or one.costs is None else np.array(one.costs) for one in ended]
        return cls(
            rows=np.array([one.row for one in decisions], np.int64),
            ids=ids,
            order=order,
            tried=np.array([UNKNOWN if one is None else one.tried for one in ended], np.int32),
            succeeded=np.array([one is not None and one.succeeded for one in ended]),
            budget=np.array(
                [UNKNOWN if one.budget is None else one.budget for one in decisions], np.int32
            ),
            propensity=np.array(
                [np.nan if one.propensity is None else one.propensity for one in decisions]
            ),
            pay=pay,
            payoffs=payoffs,
            items=Lists.of(_of_one_width([one.items for one in decisions])),
            features=Lists.of(_of_one_width(features)),
            prefix=Lists.of([one.prefix for one in decisions]),
            costs=Lists.of(bills),
            more=more,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Decision]:
        count, nothing = len(self), [None] * len(self)
        ids = self.ids if isinstance(self.ids, list) else self.ids.tolist()
        paid = nothing if self.costs is None else [self.costs[i] for i in range(count)]
        more = {name: column for name, column in self.more.items() if name != "features"}
        features: Any = self.more.get("features", nothing)
        if self.features is not None:
            features = list(self.features)
        columns = zip(
            self.rows.tolist(),
            ids,
            self.order,
            self.tried.tolist(),
            self.succeeded.tolist(),
            paid,
            nothing if self.items is None else self.items,
            features,
            self.pay.tolist(),
            self.budget.tolist(),
            self.propensity.tolist(),
            nothing if self.prefix is None else self.prefix,
            strict=True,
        )
        for i, (
            row,
            id_,
            order,
            tried,
            won,
            bill,
            items,
            made,
            pay,
            budget,
            chance,
            prefix,
        ) in enumerate(columns):
            outcome = None
            if tried >= 0:
                outcome = Outcome(tried, won, None if bill is None else tuple(bill.tolist()))
            yield Decision(
                row=row,
                id=id_,
                order=order,
                outcome=outcome,
                items=items,
                features=made,
                payoffs=self.payoffs[pay] if pay >= 0 else None,
                budget=None if budget == UNKNOWN else budget,
                propensity=None if chance != chance else chance,
                prefix=prefix,
                **({name: column[i] for name, column in more.items()} if more else {}),
            )

    def take(self, first: int, last: int) -> Batch:
        """Return the decisions from ``first`` up to, but not including, ``last``."""
        if first == 0 and last == len(self):
            return self
        cut: dict[str, Any] = {}
        for one in fields(self):
            column = getattr(self, one.name)
            if isinstance(column, Lists):
                cut[one.name] = column.take(first, last)
            elif one.name not in ("payoffs", "more") and column is not None:
                cut[one.name] = column[first:last]
        more = {name: column[first:last] for name, column in self.more.items()}
        return replace(self, **cut, more=more)


def _of_one_width(matrices: list[Array | None]) -> list[Array | None]:
    """Widen matrices without rows, which may have no columns, to those of the others."""
    width = max((one.shape[1] for one in matrices if one is not None), default=0)
    return [np.empty((0, width)) if one is not None and not len(one) else one for one in matrices]
