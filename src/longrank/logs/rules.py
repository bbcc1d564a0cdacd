"""The rules that a row must keep as a whole and beside the others, and the decision it then is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from longrank import checks, kernels
from longrank.errors import InvalidInput
from longrank.logs import cells
from longrank.logs.decision import Decision
from longrank.logs.problems import Problem
from longrank.logs.source import Row
from longrank.payoffs import Payoffs

T = TypeVar("T")
Array = NDArray[np.float64]
LARGEST = 3.0 * checks.UNIT  # squared norm of a row: an item's, Polynomial's constant, its products


class Rules:
    """Reads the rows of one log, in order: some rules compare a row with those before it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._seen: set[str | int] = set()
        self._time: tuple[float, str] | None = None
        self._turns: set[int] = set()
        self._has: dict[str, bool] = {}  # columns that every row must have, or none
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
        names = take(cells.candidates, items)
        size = len(items) if items is not None else (len(names) if names is not None else None)
        order = take(cells.order, names, size)
        outcome = take(cells.outcome, None if order is None else len(order))
        learned = take(cells.learned)
        left_out = take(cells.not_attributable, outcome)
        turn = take(self._turn)
        payoffs = take(self._pay)
        budget = take(cells.budget, payoffs)
        if not problems:
            assert order is not None
            take(_fit, order, features, items, payoffs, budget)
            prefix = take(cells.prefix, len(order))
            propensity = take(cells.propensity, prefix)
        if problems:
            return None, problems
        assert id_ is not None
        assert order is not None
        assert outcome is not None
        assert left_out is not None
        return Decision(
            row=number,
            id=id_,
            order=order,
            outcome=outcome,
            items=items,
            features=features,
            time=time,
            payoffs=payoffs,
            budget=payoffs.budget if budget is None and payoffs is not None else budget,
            propensity=propensity,
            prefix=prefix,
            version=row.get("policy_version"),
            learned=bool(learned),
            left_out=left_out,
            turn=turn,
        ), []

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
        found = cells.moment(row)
        self._alike("time", found)
        if found is None:
            return None
        if self._time is not None:
            shown = repr(row["time"])
            if found[1] != self._time[1]:
                raise InvalidInput("time", f"be {self._time[1]}, as before", shown)
            if found[0] < self._time[0]:
                raise InvalidInput("time", "be no earlier than that of the row before", shown)
        self._time = found
        return found[0]

    def _turn(self, row: Row) -> int | None:
        found = cells.whole(row, "outcome_seq")
        self._alike("outcome_seq", found)
        if found is None:
            return None
        if found in self._turns:
            raise InvalidInput("outcome_seq", "be there only once", found)
        self._turns.add(found)
        return found

    def _alike(self, column: str, found: object) -> None:
        if self._has.setdefault(column, found is not None) != (found is not None):
            shown = "nothing" if found is None else "it here, and nothing before"
            raise InvalidInput(column, "be there in every row or in none", shown)

    def _matrix(self, row: Row, column: str, number: int) -> Array | None:
        found = cells.matrix(row, column)
        if found is None:
            return None
        if not len(found):
            return np.empty((0, self._widths.get(column, (0, 0))[0]))
        width, first = self._widths.setdefault(column, (found.shape[1], number))
        if found.shape[1] != width:
            rule = f"have rows of {width} numbers, as in row {first}"
            raise InvalidInput(column, rule, found.shape[1])
        return found

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
    if features is not None and len(features) != len(order):
        raise InvalidInput("features", f"have {len(order)} rows, as many as order", len(features))
    if features is not None:
        worst, square = kernels.worst_row(features)
        if square > LARGEST:
            rule = "have rows of norm at most 1, or the square root of 3 with Polynomial's products"
            raise InvalidInput("features", rule, f"norm {math.sqrt(square):.6g} in row {worst}")
    elif items is not None:  # then they are what is learned
        checks.items(items, None, unit=True)
    else:
        raise InvalidInput("features", "be there where items are not", "nothing")
