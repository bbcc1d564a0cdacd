"""What the cells of one row must hold, column by column. Each takes the row and reads its own."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank import checks
from longrank.cascade import Outcome
from longrank.errors import InvalidInput
from longrank.logs.source import Row
from longrank.payoffs import Payoffs

Array = NDArray[np.float64]
_ROUNDING = 1e-9  # propensities are products of rounded numbers


def moment(row: Row) -> tuple[float, str] | None:
    """The time in seconds, and how it was written."""
    value = row.get("time")
    if value is None:
        return None
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


def matrix(row: Row, column: str) -> Array | None:
    """Rows of one length, finite; a matrix without rows has no columns either."""
    value = row.get(column)
    if value is None:
        return None
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.tolist()
    if isinstance(value, list):
        if not value:
            return np.empty((0, 0))
        if isinstance(value[0], np.ndarray):
            value = [list(part) for part in value]
    found = checks.items(value, None, unit=False, parameter=column)
    if found.shape[1] == 0:
        raise InvalidInput(column, "have rows of at least one number", "rows of none")
    return found.astype(np.float64, copy=False)


def candidates(row: Row, items: Array | None) -> list[Any] | None:
    """The ids of the candidates."""
    if row.get("candidates") is None:
        return None
    names = _listed(row, "candidates")
    if any(isinstance(name, bool) or not isinstance(name, str | int) for name in names):
        raise InvalidInput("candidates", "be texts or whole numbers", repr(names))
    if len(set(names)) != len(names):
        raise InvalidInput("candidates", "be there only once each", repr(names))
    if items is not None and len(items) != len(names):
        raise InvalidInput("candidates", f"be {len(items)}, as many as items", len(names))
    return names


def order(row: Row, names: list[Any] | None, size: int | None) -> NDArray[np.int64]:
    """What was played, as indices."""
    found = _listed(row, "order")
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


def outcome(row: Row, length: int | None) -> Outcome:
    """How many were tried, and whether the last one succeeded."""
    tried = whole(row, "tried")
    if tried is None:
        raise InvalidInput("tried", "be a whole number", "nothing")
    if length is not None and tried > length:
        raise InvalidInput("tried", f"be at most {length}, the length of order", tried)
    return Outcome(tried, _truth("succeeded", row.get("succeeded")))


def learned(row: Row) -> bool:
    """Whether the outcome is to be learned from: so it is where nothing is said."""
    value = row.get("learned")
    return True if value is None else _truth("learned", value)


def not_attributable(row: Row, ended: Outcome | None) -> tuple[int, ...]:
    """Positions of failures that say nothing about the candidates."""
    if row.get("not_attributable") is None or ended is None:
        return ()
    found = tuple(
        checks.whole("not_attributable", entry, least=1)
        for entry in _listed(row, "not_attributable")
    )
    failures = ended.tried - ended.succeeded
    if found and max(found) > failures:
        rule = f"be positions of the {failures} failures"
        raise InvalidInput("not_attributable", rule, max(found))
    return found


def budget(row: Row, payoffs: Payoffs | None) -> int | None:
    """The most tries that were allowed."""
    value = whole(row, "budget")
    return value if value is None or payoffs is None else payoffs.tries(value)


def prefix(row: Row, length: int) -> Array | None:
    """The probabilities of the first 1, 2, ... items."""
    value = row.get("prefix_propensities")
    if value is None:
        return None
    found = checks.vector("prefix_propensities", value)
    if len(found) != length:
        raise InvalidInput("prefix_propensities", f"be {length}, as many as order", len(found))
    if length and not (found.min() > 0.0 and found.max() <= 1.0 + _ROUNDING):
        raise InvalidInput("prefix_propensities", "be above 0 and at most 1", found.tolist())
    if (np.diff(found) > _ROUNDING).any():
        raise InvalidInput("prefix_propensities", "never rise", found.tolist())
    return found


def propensity(row: Row, before: Array | None) -> float | None:
    """The probability of the sequence and its length, given those of its prefixes."""
    value = row.get("propensity")
    if value is None:
        return None
    found = checks.real("propensity", value, above=0.0, most=1.0 + _ROUNDING)
    if before is not None and len(before) and found > before[-1] * (1.0 + _ROUNDING):
        rule = f"be at most {before[-1]:.6g}, the probability of its items"
        raise InvalidInput("propensity", rule, found)
    return found


def whole(row: Row, column: str) -> int | None:
    """A whole number, where there is one."""
    value = row.get(column)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # frames turn a column with gaps into floats
    return checks.whole(column, value)


def _listed(row: Row, column: str) -> list[Any]:
    value = row.get(column)
    if not isinstance(value, list | tuple | np.ndarray):
        raise InvalidInput(column, "be a list", repr(value))
    return value.tolist() if isinstance(value, np.ndarray) else list(value)


def _truth(column: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(column, "be true or false", repr(value))
    return bool(value)
