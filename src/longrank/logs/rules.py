"""The rules that every row of a history must keep, and the decision that it then is."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from longrank import checks, kernels
from longrank.cascade import Outcome
from longrank.errors import InvalidInput
from longrank.logs.decision import Decision
from longrank.logs.problems import Problem
from longrank.logs.sources import Row
from longrank.payoffs import Payoffs

T = TypeVar("T")
Array = NDArray[np.float64]
_ROUNDING = 1e-9  # propensities are products of rounded numbers


class Rules:
    """Reads the rows of one log, in order: some rules compare a row with those before it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._seen: set[str | int] = set()
        self._time: tuple[float, str] | None = None
        self._widths: dict[str, tuple[int, int]] = {}  # column: dimension, and the row that set it
        self._payoffs: dict[tuple[bytes, bytes], Payoffs] = {}

    def read(self, number: int, row: Row) -> tuple[Decision | None, list[Problem]]:
        """The decision of a row, or what is wrong with it."""
        problems: list[Problem] = []

        def take(rule: Callable[..., T], *more: Any) -> T | None:
            try:
                return rule(row, *more)
            except InvalidInput as error:
                shown = str(error.value)
                problems.append(
                    Problem(self.name, number, error.parameter, error.rule, shown[:80] or "nothing")
                )
                return None

        id_ = take(self._id)
        time = take(self._moment)
        items = take(self._matrix, "items", number)
        features = take(self._matrix, "features", number)
        names = take(_candidates, items)
        size = len(items) if items is not None else (len(names) if names is not None else None)
        order = take(_order, names, size)
        outcome = take(_outcome, None if order is None else len(order))
        payoffs = take(self._pay)
        budget = take(_budget, payoffs)
        if not problems:
            assert order is not None
            take(_fit, order, features, items, payoffs, budget)
            prefix = take(_prefix, len(order))
            propensity = take(_propensity, prefix)
        if problems:
            return None, problems
        assert id_ is not None
        assert order is not None
        assert outcome is not None
        if budget is None and payoffs is not None:
            budget = payoffs.budget
        version = row.get("policy_version")
        decision = Decision(
            number,
            id_,
            order,
            outcome,
            items,
            features,
            time,
            payoffs,
            budget,
            propensity,
            prefix,
            version,
            row.get("learned") is not False,
        )
        return decision, []

    def _id(self, row: Row) -> str | int:
        value = row.get("id")
        if isinstance(value, np.integer):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise InvalidInput("id", "be text or a whole number", repr(value))
        if value in self._seen:
            raise InvalidInput("id", "be there only once", repr(value))
        self._seen.add(value)
        return value

    def _moment(self, row: Row) -> float | None:
        value = row.get("time")
        if value is None:
            if self._time is not None:
                raise InvalidInput("time", "be there in every row or in none", "nothing")
            return None
        seconds, kind = _seconds(value)
        if self._time is not None:
            if kind != self._time[1]:
                raise InvalidInput("time", f"be {self._time[1]}, as before", repr(value))
            if seconds < self._time[0]:
                raise InvalidInput("time", "be no earlier than that of the row before", repr(value))
        self._time = seconds, kind
        return seconds

    def _matrix(self, row: Row, column: str, number: int) -> Array | None:
        value = row.get(column)
        if value is None:
            return None
        if isinstance(value, np.ndarray) and value.dtype == object:
            value = value.tolist()
        if isinstance(value, list):
            value = [list(part) if isinstance(part, np.ndarray) else part for part in value]
            if not value:
                return np.empty((0, self._widths.get(column, (0, 0))[0]))
        matrix = checks.floats(column, value, 2).astype(np.float64, copy=False)
        if matrix.shape[1] == 0:
            raise InvalidInput(column, "have rows of at least one number", "rows of none")
        if not np.isfinite(matrix).all():
            i, j = np.argwhere(~np.isfinite(matrix))[0]
            raise InvalidInput(column, "be finite", f"{matrix[i, j]} in row {i}, column {j}")
        width, first = self._widths.setdefault(column, (matrix.shape[1], number))
        if matrix.shape[1] != width:
            rule = f"have rows of {width} numbers, as in row {first}"
            raise InvalidInput(column, rule, matrix.shape[1])
        return matrix

    def _pay(self, row: Row) -> Payoffs | None:
        rewards, losses = row.get("rewards"), row.get("losses")
        if rewards is None and losses is None:
            return None
        if rewards is None:
            raise InvalidInput("rewards", "be there where losses are", "nothing")
        if losses is None:
            raise InvalidInput("losses", "be there where rewards are", "nothing")
        r, loss = checks.vector("rewards", rewards), checks.vector("losses", losses)
        key = r.tobytes(), loss.tobytes()
        if key not in self._payoffs:
            if len(self._payoffs) > 10_000:
                self._payoffs.clear()  # payoffs of their own in every row
            self._payoffs[key] = Payoffs(r, loss)
        return self._payoffs[key]


def _seconds(value: Any) -> tuple[float, str]:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput("time", "be ISO 8601 or a number", repr(value)) from None
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return value.replace(tzinfo=datetime.UTC).timestamp(), "without a time zone"
        return value.timestamp(), "with a time zone"
    return checks.real("time", value), "a number"


def _candidates(row: Row, items: Array | None) -> list[Any] | None:
    value = row.get("candidates")
    if value is None:
        return None
    if not isinstance(value, list | tuple | np.ndarray):
        raise InvalidInput("candidates", "be a list", repr(value))
    names = value.tolist() if isinstance(value, np.ndarray) else list(value)
    if any(isinstance(name, bool) or not isinstance(name, str | int) for name in names):
        raise InvalidInput("candidates", "be texts or whole numbers", repr(names))
    if len(set(names)) != len(names):
        raise InvalidInput("candidates", "be there only once each", repr(names))
    if items is not None and len(items) != len(names):
        raise InvalidInput("candidates", f"be {len(items)}, as many as items", len(names))
    return names


def _order(row: Row, names: list[Any] | None, size: int | None) -> NDArray[np.int64]:
    value = row.get("order")
    if not isinstance(value, list | tuple | np.ndarray):
        raise InvalidInput("order", "be a list", repr(value))
    found = value.tolist() if isinstance(value, np.ndarray) else list(value)
    if any(isinstance(entry, str) for entry in found):
        if names is None:
            raise InvalidInput("order", "hold indices where there are no candidates", repr(found))
        where = {name: i for i, name in enumerate(names)}
        for entry in found:
            if entry not in where:
                raise InvalidInput("order", "hold ids of the candidates", repr(entry))
        found = [where[entry] for entry in found]
    for entry in found:
        index = checks.whole("order", entry)
        if size is not None and index >= size:
            raise InvalidInput("order", f"hold indices below {size}, the candidates", index)
    if len(set(found)) != len(found):
        raise InvalidInput("order", "hold no candidate twice", repr(found))
    return np.array(found, np.int64)


def _outcome(row: Row, length: int | None) -> Outcome:
    tried = checks.whole("tried", row.get("tried"))
    succeeded = row.get("succeeded")
    if not isinstance(succeeded, bool | np.bool_):
        raise InvalidInput("succeeded", "be true or false", repr(succeeded))
    if length is not None and tried > length:
        raise InvalidInput("tried", f"be at most {length}, the length of order", tried)
    return Outcome(tried, bool(succeeded))


def _budget(row: Row, payoffs: Payoffs | None) -> int | None:
    value = row.get("budget")
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # frames turn a column with gaps into floats
    budget = checks.whole("budget", value)
    return budget if payoffs is None else payoffs.tries(budget)


def _fit(
    row: Row,  # noqa: ARG001
    order: NDArray[np.int64],
    features: Array | None,
    items: Array | None,
    payoffs: Payoffs | None,
    budget: int | None,
) -> None:
    """What the columns must be to each other."""
    most = payoffs.budget if budget is None and payoffs is not None else budget
    if most is not None and len(order) > most:
        raise InvalidInput("order", f"be at most as long as the budget, {most}", len(order))
    if features is None and items is None:
        raise InvalidInput("features", "be there where items are not", "nothing")
    if features is not None and len(features) != len(order):
        raise InvalidInput("features", f"have {len(order)} rows, as many as order", len(features))
    learned = ("items", items) if features is None else ("features", features)
    if learned[1] is not None and learned[1].size:
        worst, square = kernels.worst_row(np.ascontiguousarray(learned[1]))
        if square > (1.0 + checks.SLACK) ** 2:
            shown = f"norm {math.sqrt(square):.6g} in row {worst}"
            raise InvalidInput(learned[0], "have rows of norm at most 1", shown)


def _prefix(row: Row, length: int) -> Array | None:
    value = row.get("prefix_propensities")
    if value is None:
        return None
    prefix = checks.vector("prefix_propensities", value)
    if len(prefix) != length:
        raise InvalidInput("prefix_propensities", f"be {length}, as many as order", len(prefix))
    if length and not (prefix.min() > 0.0 and prefix.max() <= 1.0 + _ROUNDING):
        raise InvalidInput("prefix_propensities", "be above 0 and at most 1", prefix.tolist())
    if (np.diff(prefix) > _ROUNDING).any():
        raise InvalidInput("prefix_propensities", "never rise", prefix.tolist())
    return prefix


def _propensity(row: Row, prefix: Array | None) -> float | None:
    value = row.get("propensity")
    if value is None:
        return None
    propensity = checks.real("propensity", value, above=0.0, most=1.0 + _ROUNDING)
    if prefix is not None and len(prefix) and propensity > prefix[-1] * (1.0 + _ROUNDING):
        rule = f"be at most {prefix[-1]:.6g}, the probability of its items"
        raise InvalidInput("propensity", rule, propensity)
    return propensity
