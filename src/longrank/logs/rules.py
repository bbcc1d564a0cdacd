"""The rules of a log: what each cell must hold, and how rows must agree with each other."""

import datetime
import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from longrank import checks, kernels
from longrank.arrays import Array, Indices
from longrank.decision import Outcome
from longrank.errors import InvalidInput
from longrank.logs.batch import fingerprint
from longrank.logs.candidates import (
    CandidateReader,
    Offered,
    attempted,
    listed,
    played,
    two_readings,
)
from longrank.logs.columns import PAID, PRICES, Row
from longrank.logs.decision import Decision
from longrank.logs.violations import Violation
from longrank.payoffs import Payoffs
from longrank.schema import Record, Schema, read_prices

T = TypeVar("T")
Prices = tuple[Array | None, Array | None]
MAX_MADE_SQUARE = 10_000.0  # of rows that a feature map made of the items in the log
_MAX_PAYOFFS = 10_000  # distinct payoffs in memory
ROUNDING = 1e-9  # propensities are products of rounded numbers


class Rules:
    """Checks the rows of one log in order: some rules compare a row with earlier ones.

    ``payoffs`` are those of rows without; with ``kinds`` the kinds of fields are compared, too,
    with those that ``schema`` declares.
    """

    def __init__(
        self,
        name: str,
        payoffs: Payoffs | None = None,
        schema: Schema | None = None,
        *,
        kinds: bool = True,
    ) -> None:
        self.name, self._kinds = name, kinds
        self._reader = CandidateReader(schema)
        self._arrays = False  # whether a row had items or features
        self._warned = False
        self._default = payoffs
        self._ids: set[int] = set()
        self._latest: tuple[float, str] | None = None  # time, and how it was written
        self._turns: set[int] = set()
        self._has: dict[str, bool] = {}  # columns that every row must have, or none
        self._widths: dict[str, tuple[int, int]] = {}  # column: dimension, and the row that set it
        self._payoffs: dict[tuple[bytes, bytes], Payoffs] = {}

    def read(self, number: int, row: Row) -> tuple[Decision | None, list[Violation]]:
        """Return the decision of a row, or what is wrong with it.

        A row with neither ``tried`` nor ``succeeded`` is a decision without an outcome. Other rows
        are not compared with it: the same decision may come again with its outcome.
        """
        missing = row.get("tried") is None and row.get("succeeded") is None
        problems: list[Violation] = []

        def take(rule: Callable[..., T], *arguments: Any) -> T | None:
            try:
                return rule(*arguments)
            except InvalidInput as error:
                broken = error.parameter, error.rule, str(error.value)[:80] or "nothing"
            except RecursionError:  # of a message that shows it, say
                broken = "the row", "be nested less deeply", "lists in lists"
            problems.append(Violation(self.name, number, *broken))
            return None

        def cell(column: str, rule: Callable[..., T], *arguments: Any) -> T | None:
            value = row.get(column)
            return None if value is None else take(rule, column, value, *arguments)

        id_ = row.get("id") if missing else take(self._id, row)
        time = None if missing else take(self._moment, row)
        items = cell("items", self._matrix, number)
        features = cell("features", self._matrix, number)
        self._arrays = self._arrays or items is not None or features is not None
        offered = take(self._reader.candidates, row, items, not self._arrays)
        context = take(self._reader.context, row)
        size = len(items) if items is not None else offered and offered.size
        order = take(played, row, offered, size)
        outcome = None if missing else take(_outcome, row, order, offered)
        learned = cell("learned", _truth)
        not_attributable = take(_not_attributable, row, outcome)
        outcome_seq = None if missing else take(self._outcome_seq, row)
        payoffs = take(self._pay, row)
        prices = take(_prices, row, size, order)
        budget = take(_budget, row, payoffs)
        patience = cell("patience", _patience)
        prefix = propensity = None
        priced: tuple[Payoffs | None, frozenset[str]] = None, frozenset()
        records = None if offered is None else offered.records
        if not problems:
            assert order is not None
            take(self._agree, order, features, items, records, budget)
            if records is not None and self._kinds:
                take(self._reader.check, records, context)
            priced = take(self._priced, payoffs, prices, records, size) or priced
            if self._kinds and not self._warned:
                self._warn(number, two_readings(row, order, offered))
            prefix = cell("prefix_propensities", _prefix, len(order))
            propensity = cell("propensity", _propensity, prefix)
        if problems:
            return None, problems
        return Decision(
            number,
            number if id_ is None else id_,
            order,  # type: ignore[arg-type]  # None has a problem
            outcome,
            items,
            features,
            records,
            context,
            time,
            *priced,
            patience=patience or 1.0,
            budget=budget,
            propensity=propensity,
            prefix_propensities=prefix,
            policy_version=row.get("policy_version"),
            learned=learned is not False,
            not_attributable=not_attributable or (),
            outcome_seq=outcome_seq,
        ), []

    def _warn(self, number: int, column: str) -> None:
        """Warn once that whole numbers that may be ids are read as positions."""
        if column:
            self._warned = True
            warnings.warn(
                f"{self.name}, row {number}: the whole numbers in {column!r} are read as positions "
                "from 0, but are ids of candidates as well. If they are ids, call the column 'ids' "
                "(--columns or History(columns=...)); if not, add a column 'ids', or use text ids",
                stacklevel=2,
            )

    def _id(self, row: Row) -> str | int:
        value = row.get("id")
        if isinstance(value, np.integer):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise InvalidInput("id", "be text or a whole number", repr(value))
        own = fingerprint(value)
        if own in self._ids:
            raise InvalidInput("id", "be unique", repr(value))
        self._ids.add(own)
        return value

    def _moment(self, row: Row) -> float | None:
        value = row.get("time")
        moment = None if value is None else _moment(value)
        self._consistent("time", moment)
        if moment is None:
            return None
        seconds, written = moment
        latest, before = self._latest or (seconds, written)
        if written != before:
            raise InvalidInput("time", f"be {before}, as in earlier rows", repr(value))
        if seconds < latest:
            raise InvalidInput("time", "be no earlier than in the row before", repr(value))
        self._latest = moment
        return seconds

    def _outcome_seq(self, row: Row) -> int | None:
        turn = whole(row, "outcome_seq")
        self._consistent("outcome_seq", turn)
        if turn is None:
            return None
        if turn in self._turns:
            raise InvalidInput("outcome_seq", "be unique", turn)
        self._turns.add(turn)
        return turn

    def _consistent(self, column: str, value: object) -> None:
        if self._has.setdefault(column, value is not None) != (value is not None):
            shown = "nothing" if value is None else "a value here and nothing in earlier rows"
            raise InvalidInput(column, "be present in every row or in none", shown)

    def _matrix(self, column: str, value: Any, number: int) -> Array:
        matrix = _matrix(column, value)
        if not len(matrix):
            return np.empty((0, self._widths.get(column, (0, 0))[0]))
        width, first = self._widths.setdefault(column, (matrix.shape[1], number))
        made = column == "features" and "items" in self._widths  # maybe by a map whose rows grow
        grown = made and matrix.shape[1] > max(width, self._widths["items"][0])
        if matrix.shape[1] != width and not grown:
            rule = f"have rows of {width} numbers, as in row {first}"
            raise InvalidInput(column, rule, matrix.shape[1])
        return matrix

    def _agree(
        self,
        order: Indices,
        features: Array | None,
        items: Array | None,
        records: list[Record] | None,
        budget: int | None,
    ) -> None:
        """Check the columns of a row against each other."""
        if budget is not None and len(order) > budget:
            raise InvalidInput("order", f"be no longer than the budget, {budget}", len(order))
        if features is None:
            if items is None and records is None:
                column = "features" if self._arrays else "candidates"
                raise InvalidInput(column, "be present where items are missing", "nothing")
            return
        if len(features) != len(order):
            rule = f"have {len(order)} rows, as many as order"
            raise InvalidInput("features", rule, len(features))
        worst, square = kernels.worst_row(features)
        limit, rule = checks.UNIT, "1"
        if items is not None and features.shape[1] > items.shape[1]:  # made by a feature map
            limit, rule = MAX_MADE_SQUARE, f"{math.sqrt(MAX_MADE_SQUARE):g}"
        if square > limit:
            shown = f"norm {math.sqrt(square):.6g} in row {worst}"
            raise InvalidInput("features", f"have rows of norm at most {rule}", shown)

    def _pay(self, row: Row) -> Payoffs | None:
        rewards, losses = row.get("rewards"), row.get("losses")
        if rewards is None and losses is None:
            return self._default
        for column, other in (("rewards", "losses"), ("losses", "rewards")):
            if row.get(column) is None:
                raise InvalidInput(column, f"be present where {other} are", "nothing")
        numbers: Any = rewards, losses
        if not all(isinstance(each, np.ndarray) and each.dtype == np.float64 for each in numbers):
            numbers = checks.vector("rewards", numbers[0]), checks.vector("losses", numbers[1])
        key = numbers[0].tobytes(), numbers[1].tobytes()
        if key not in self._payoffs:
            if len(self._payoffs) > _MAX_PAYOFFS:
                self._payoffs.clear()  # every row has payoffs of its own
            self._payoffs[key] = Payoffs(*numbers)
        return self._payoffs[key]

    def _priced(
        self,
        payoffs: Payoffs | None,
        prices: Prices,
        records: list[Record] | None,
        size: int | None,
    ) -> tuple[Payoffs | None, frozenset[str]]:
        """Return the payoffs with prices, and the fields of the records that hold them."""
        if payoffs is None:
            return None, frozenset()
        if any(column is not None for column in prices):
            payoffs = payoffs.priced(*prices)
        if size is not None:
            payoffs.check_prices(size)
        if records is None:
            return payoffs, frozenset()
        read = read_prices(payoffs, records, self._reader.prices)
        return read, frozenset() if read is payoffs else self._reader.prices


def whole(row: Row, column: str) -> int | None:
    """Return a whole number, or None if the cell is empty."""
    value = row.get(column)
    return None if value is None else _whole(column, value)


def _whole(column: str, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # frames turn a column with gaps into floats
    return checks.whole(column, value)


def _moment(value: Any) -> tuple[float, str]:
    """Return the time in seconds, and how it was written."""
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


def _matrix(column: str, value: Any) -> Array:
    """Return finite rows of equal length; a matrix without rows has no columns either."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.tolist()
    if isinstance(value, list):
        if not value:
            return np.empty((0, 0))
        if isinstance(value[0], np.ndarray):
            value = [list(part) for part in value]
    matrix = checks.items(value, None, unit=False, parameter=column)
    if matrix.shape[1] == 0:
        raise InvalidInput(column, "have rows of at least one number", "empty rows")
    return matrix.astype(np.float64, copy=False)


def _outcome(row: Row, order: Indices | None, offered: Offered | None) -> Outcome:
    value = row.get("tried")
    if value is None:
        raise InvalidInput("tried", "be a whole number", "nothing")
    if isinstance(value, list | tuple | np.ndarray):
        tried = attempted(row, order, offered)
    else:
        tried = _whole("tried", value)
    if order is not None and tried > len(order):
        raise InvalidInput("tried", f"be at most {len(order)}, the length of order", tried)
    ended = Outcome(tried, _truth("succeeded", row.get("succeeded")))
    if row.get(PAID) is None:
        return ended
    try:
        return Outcome(tried, ended.succeeded, tuple(listed(row, PAID)))
    except InvalidInput as error:
        raise InvalidInput(PAID, error.rule, error.value) from None


def _prices(row: Row, size: int | None, order: Indices | None) -> Prices:
    """Return costs and values of the candidates, each of which may be missing."""
    both: list[Array | None] = [None, None]
    for i, column in enumerate(PRICES):
        if row.get(column) is None:
            continue
        prices = checks.vector(column, listed(row, column))
        if size is not None and len(prices) != size:
            raise InvalidInput(column, f"be {size}, as many as candidates", len(prices))
        if order is not None and len(order) and len(prices) <= order.max():
            rule = f"be above {order.max()}, the largest index in order"
            raise InvalidInput(column, rule, len(prices))
        if column == "costs" and (prices < 0.0).any():
            raise InvalidInput(column, "be at least 0", float(prices.min()))
        both[i] = prices
    return both[0], both[1]


def _not_attributable(row: Row, ended: Outcome | None) -> tuple[int, ...]:
    if row.get("not_attributable") is None or ended is None:
        return ()
    positions = tuple(
        checks.whole("not_attributable", entry, minimum=1)
        for entry in listed(row, "not_attributable")
    )
    failures = ended.tried - ended.succeeded
    if positions and max(positions) > failures:
        rule = f"be positions of the {failures} failures"
        raise InvalidInput("not_attributable", rule, max(positions))
    return positions


def _patience(column: str, value: Any) -> float:
    return checks.real(column, value, above=0.0, maximum=1.0)


def _budget(row: Row, payoffs: Payoffs | None) -> int | None:
    """Return the maximum number of attempts, if the row or its payoffs say it."""
    value = whole(row, "budget")
    if payoffs is None:
        return value
    return payoffs.budget if value is None else payoffs.tries(value)


def _prefix(column: str, value: Any, length: int) -> Array:
    known = checks.vector(column, value)
    if len(known) != length:
        raise InvalidInput(column, f"be {length}, as many as order", len(known))
    chances = known.tolist()
    if chances and not (min(chances) > 0.0 and max(chances) <= 1.0 + ROUNDING):
        raise InvalidInput(column, "be above 0 and at most 1", chances)
    if any(later - earlier > ROUNDING for earlier, later in pairwise(chances)):
        raise InvalidInput(column, "never increase", chances)
    return known


def _propensity(column: str, value: Any, before: Array | None) -> float:
    """Return the probability of the sequence and its length, given that of its prefixes."""
    known = checks.real(column, value, above=0.0, maximum=1.0 + ROUNDING)
    if before is not None and len(before) and known > before[-1] * (1.0 + ROUNDING):
        rule = f"be at most {before[-1]:.6g}, the probability of its items"
        raise InvalidInput(column, rule, known)
    return known


def _truth(column: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(column, "be true or false", repr(value))
    return bool(value)
