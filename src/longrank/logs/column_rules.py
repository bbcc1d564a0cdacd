"""The rules of a log for whole columns of numbers: what most logs of arrays are, read fast.

Whatever is not plainly right is left to :class:`longrank.logs.rules.Rules`, row by row, which says
what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InvalidInput
from longrank.logs.batch import UNKNOWN, Batch, Lists
from longrank.logs.columns import COLUMNS, IDS
from longrank.logs.rules import MAX_MADE_SQUARE, MAX_SQUARE, ROUNDING, Rules
from longrank.payoffs import Payoffs

Array = NDArray[np.float64]
_READ = frozenset(
    (
        "id", "time", "policy_version", "items", "order", "features", "tried", "succeeded",
        "learned", "rewards", "losses", "patience", "budget", "propensity", "prefix_propensities",
    )
)  # fmt: skip
_MAX_ID = 2**62


class _Unclear(Exception):
    """A column is not plainly right."""


def read_columns(
    rules: Rules, numbers: NDArray[np.int64], given: Mapping[str, Any]
) -> Batch | None:
    """Return the decisions of an Arrow batch; None if they must be read row by row.

    ``given`` are its columns by name, ``numbers`` those of its rows. The rules know afterwards what
    later rows are compared with.
    """
    columns = {name: one for name, one in given.items() if one.null_count < len(one)}
    if not {"id", "order", "tried", "succeeded"} <= columns.keys() or not len(numbers):
        return None
    if not {"items", "features"} & columns.keys():
        return None
    if any((name in COLUMNS or name == IDS) and name not in _READ for name in columns):
        return None
    try:
        return _Reader(rules, numbers, columns).read()
    except (_Unclear, InvalidInput):
        return None


class _Reader:
    def __init__(
        self, rules: Rules, numbers: NDArray[np.int64], columns: Mapping[str, Any]
    ) -> None:
        self.rules, self.numbers, self.columns = rules, numbers, columns

    def read(self) -> Batch:
        count, rules = len(self.numbers), self.rules
        observed = self._observed()
        items, order = self._matrix("items"), self._list("order", "iu")
        assert order is not None
        self._check_order(items, order)
        features = self._features(order, items)
        tried = self._tried(observed, order)
        succeeded = self._cells("succeeded", "b", np.bool_, False)
        self._need(not (succeeded & (tried < 1)).any())
        pay, payoffs = self._payoffs(count)
        lengths, budget = np.diff(order.firsts), self._budget(pay, payoffs)
        limits = np.array([one.budget for one in payoffs] or [0])
        self._need(((budget <= limits[pay]) | (pay < 0)).all())
        self._need(((lengths <= budget) | (budget < 0)).all())
        prefix = self._prefix(order)
        propensity = self._propensity(order, prefix)
        more = self._more()
        times = self._times(observed)
        ids = self._ids()
        # all is right: from here on the rules know
        fresh = ids[observed] if isinstance(ids, np.ndarray) else _some(ids, observed)
        self._need(rules.add_ids(fresh))
        if observed.any():
            rules.add_columns(
                times=None if times is None else (float(times[0][observed][-1]), times[1]),
                widths={
                    name: lists.values.shape[1]
                    for name, lists in (("items", items), ("features", features))
                    if lists is not None
                },
                row=int(self.numbers[0]),
            )
        if times is not None:
            more["time"] = [
                t if o else None for t, o in zip(times[0].tolist(), observed, strict=True)
            ]
        return Batch(
            rows=self.numbers,
            ids=ids,
            order=order,
            tried=tried.astype(np.int32),
            succeeded=succeeded,
            budget=budget.astype(np.int32),
            propensity=propensity,
            pay=pay,
            payoffs=payoffs,
            items=items,
            features=features,
            prefix=prefix,
            more=more,
        )

    def _need(self, right: object) -> None:
        if not right:
            raise _Unclear

    def _observed(self) -> NDArray[np.bool_]:
        """Tell which decisions have an outcome; a half of one is unclear."""
        tried, succeeded = (self.columns[name] for name in ("tried", "succeeded"))
        if not (tried.null_count or succeeded.null_count):
            return np.ones(len(self.numbers), np.bool_)
        there = [one.is_valid().to_numpy(zero_copy_only=False) for one in (tried, succeeded)]
        self._need((there[0] == there[1]).all())
        return np.asarray(there[0])

    def _cells(self, name: str, kinds: str, dtype: Any, otherwise: Any) -> NDArray[Any]:
        """Return numbers, with ``otherwise`` where there are none."""
        column = self.columns.get(name)
        if column is None:
            return np.full(len(self.numbers), otherwise, dtype)
        if column.null_count:
            column = column.fill_null(otherwise)
        found = column.to_numpy(zero_copy_only=False)
        self._need(found.dtype.kind in kinds)
        return np.asarray(found).astype(dtype)

    def _list(self, name: str, kinds: str) -> Lists | None:
        """Return lists of numbers."""
        column = self.columns.get(name)
        if column is None:
            return None
        self._need(hasattr(column, "offsets") and not column.null_count)
        inner = column.values
        self._need(not hasattr(inner, "offsets") and not inner.null_count)
        firsts = column.offsets.to_numpy().astype(np.int64)
        values = inner.to_numpy(zero_copy_only=False)[firsts[0] : firsts[-1]]
        self._need(values.dtype.kind in kinds)
        wanted = np.int64 if kinds == "iu" else np.float64
        return Lists(firsts - firsts[0], np.array(values, wanted))

    def _matrix(self, name: str) -> Lists | None:
        """Return lists of rows, which all have the same number of numbers."""
        column = self.columns.get(name)
        if column is None:
            return None
        self._need(hasattr(column, "offsets") and not column.null_count)
        rows = column.values
        self._need(hasattr(rows, "offsets") and not rows.null_count)
        inner, edges = rows.values, rows.offsets.to_numpy()
        self._need(not hasattr(inner, "offsets") and not inner.null_count)
        firsts = column.offsets.to_numpy().astype(np.int64)
        edges = edges[firsts[0] : firsts[-1] + 1]
        widths = np.diff(edges)
        self._need(len(widths) and widths[0] > 0 and (widths == widths[0]).all())
        values = inner.to_numpy(zero_copy_only=False)[edges[0] : edges[-1]]
        self._need(values.dtype.kind in "fiu")
        found = np.array(values, np.float64).reshape(len(widths), widths[0])
        self._need(np.isfinite(found).all())
        known = self.rules.width(name)
        self._need(known is None or known == widths[0])
        return Lists(firsts - firsts[0], found)

    def _check_order(self, items: Lists | None, order: Lists) -> None:
        lengths, played = np.diff(order.firsts), order.values
        owner = np.repeat(np.arange(len(lengths)), lengths)
        self._need((played >= 0).all() and (played < _MAX_ID >> 31).all())
        if items is not None:
            sizes = np.diff(items.firsts)
            self._need((sizes > 0).all() and (played < sizes[owner]).all())
        step = int(played.max(initial=0)) + 1
        self._need(len(np.unique(owner * step + played)) == len(played))

    def _features(self, order: Lists, items: Lists | None) -> Lists | None:
        features = self._matrix("features")
        if features is not None:
            self._need(np.array_equal(features.firsts, order.firsts))
            made = items is not None and features.values.shape[1] > items.values.shape[1]
            square = float(np.einsum("ij,ij->i", features.values, features.values).max())
            self._need(square <= (MAX_MADE_SQUARE if made else MAX_SQUARE))
        return features

    def _tried(self, observed: NDArray[np.bool_], order: Lists) -> NDArray[np.int64]:
        tried = self._cells("tried", "iu", np.int64, UNKNOWN)
        self._need(((tried >= 0) == observed).all())
        self._need((tried <= np.diff(order.firsts)).all())
        return tried

    def _payoffs(self, count: int) -> tuple[NDArray[np.int32], list[Payoffs]]:
        rewards, losses = self._list("rewards", "fiu"), self._list("losses", "fiu")
        self._need((rewards is None) == (losses is None))
        if rewards is None or losses is None:
            default = self.rules.default
            code = UNKNOWN if default is None else 0
            return np.full(count, code, np.int32), [] if default is None else [default]
        widths = np.diff(rewards.firsts), np.diff(losses.firsts)
        self._need((widths[0] == widths[0][0]).all() and (widths[1] == widths[0][0] + 1).all())
        table = np.column_stack(
            [rewards.values.reshape(count, -1), losses.values.reshape(count, -1)]
        )
        if (table == table[0]).all():
            firsts, pay = np.zeros(1, np.int64), np.zeros(count, np.int64)
        else:
            _, firsts, pay = np.unique(table, axis=0, return_index=True, return_inverse=True)
        b = int(widths[0][0])
        found = [self.rules.payoffs_of(table[i, :b], table[i, b:]) for i in firsts.tolist()]
        return pay.reshape(-1).astype(np.int32), found

    def _budget(self, pay: NDArray[np.int32], payoffs: list[Payoffs]) -> NDArray[np.int64]:
        budget = self._cells("budget", "iu", np.int64, UNKNOWN)
        column = self.columns.get("budget")
        if column is not None:
            given = column.is_valid().to_numpy(zero_copy_only=False)
            self._need((budget[given] >= 0).all())
        if payoffs:
            limits = np.array([one.budget for one in payoffs])
            budget = np.where(budget == UNKNOWN, limits[pay], budget)
        return budget

    def _prefix(self, order: Lists) -> Lists | None:
        prefix = self._list("prefix_propensities", "fiu")
        if prefix is None:
            return None
        self._need(np.array_equal(prefix.firsts, order.firsts))
        found = prefix.values
        self._need(((found > 0.0) & (found <= 1.0 + ROUNDING)).all())
        inside = np.ones(max(len(found) - 1, 0), np.bool_)
        ends = prefix.firsts[1:-1]
        inside[ends[(ends > 0) & (ends < len(found))] - 1] = False
        self._need((np.diff(found)[inside] <= ROUNDING).all())
        return prefix

    def _propensity(self, order: Lists, prefix: Lists | None) -> Array:
        column = self.columns.get("propensity")
        if column is None:
            return np.full(len(self.numbers), np.nan)
        self._need(not column.null_count)
        found: Array = self._cells("propensity", "fiu", np.float64, np.nan)
        self._need(((found > 0.0) & (found <= 1.0 + ROUNDING)).all())
        if prefix is not None:
            some = np.diff(order.firsts) > 0
            last = prefix.values[order.firsts[1:][some] - 1]
            self._need((found[some] <= last * (1.0 + ROUNDING)).all())
        return found

    def _times(self, observed: NDArray[np.bool_]) -> tuple[Array, str] | None:
        """Return the times in seconds, and how they were written."""
        column, before = self.columns.get("time"), self.rules.latest
        self._need(self.rules.agrees("time", column is not None) or not observed.any())
        self._need(self.rules.agrees("outcome_seq", False) or not observed.any())
        if column is None:
            return None
        self._need(not column.null_count)
        unit, zone = getattr(column.type, "unit", None), getattr(column.type, "tz", None)
        written = "a number"
        if unit is not None:
            self._need(unit in ("s", "ms", "us") and str(column.type).startswith("timestamp"))
            ticks = column.view("int64").to_numpy()
            found = ticks / {"s": 1, "ms": 1_000, "us": 1_000_000}[unit]
            written = "without a time zone" if zone is None else "with a time zone"
        else:
            found = self._cells("time", "fiu", np.float64, np.nan)
        self._need(np.isfinite(found).all())
        own = found[observed]
        self._need((np.diff(own) >= 0.0).all())
        if before is not None and len(own):
            self._need(before[1] == written and own[0] >= before[0])
        return found, written

    def _more(self) -> dict[str, list[Any]]:
        more: dict[str, list[Any]] = {}
        if "policy_version" in self.columns:
            more["version"] = self.columns["policy_version"].to_pylist()
        learned = self._cells("learned", "b", np.bool_, True)
        if not learned.all():
            more["learned"] = learned.tolist()
        patience = self._cells("patience", "f", np.float64, 1.0)
        self._need(((patience > 0.0) & (patience <= 1.0)).all())
        if (patience < 1.0).any():
            more["patience"] = patience.tolist()
        return more

    def _ids(self) -> NDArray[np.int64] | list[Any]:
        column = self.columns["id"]
        self._need(not column.null_count)
        if str(column.type).startswith(("int", "uint")):
            found = column.to_numpy(zero_copy_only=False)
            self._need((np.abs(found.astype(np.float64)) < _MAX_ID).all())
            return np.asarray(found, np.int64)
        kind = getattr(column.type, "value_type", column.type)
        self._need(str(kind) in ("string", "large_string"))
        texts: list[Any] = column.to_pylist()
        self._need(all(texts))
        return texts


def _some(ids: list[Any], chosen: NDArray[np.bool_]) -> list[Any]:
    return [each for each, wanted in zip(ids, chosen, strict=True) if wanted]
