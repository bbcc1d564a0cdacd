"""Prices: the cost and value of a candidate, from the fields of its record."""

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from longrank.errors import InvalidInput
from longrank.payoffs import MAX_PRICE, Payoffs
from longrank.schema.values import Record, as_records, is_missing, is_number, shorten

COST, VALUE = "cost", "value"
PRICES = frozenset({COST, VALUE})


def read_prices(
    payoffs: Payoffs, records: Sequence[Record], names: Collection[str] = PRICES
) -> Payoffs:
    """Return payoffs with the costs and values in the fields ``names`` of the records.

    Where one record has the field ``cost`` or ``value``, those that lack it cost nothing, and
    their success is worth nothing beyond the position's reward. None means the same, and so does
    NaN, which marks a missing price in a frame.
    """
    prices = {
        name: [_price(record.get(name), name, i) for i, record in enumerate(records)]
        for name in names
        if any(name in record for record in records)
    }
    if not prices:
        return payoffs
    if payoffs.costs is not None:
        rule = "have no costs and values of their own where candidates have the field cost or value"
        raise InvalidInput("payoffs", rule, "both")
    return payoffs.priced(prices.get(COST), prices.get(VALUE))


def have_prices(records: Sequence[Record]) -> bool:
    """Whether a record has a field cost or value."""
    for record in records:  # noqa: SIM110 any() takes longer, and most rounds have none
        if COST in record or VALUE in record:
            return True
    return False


def priced(payoffs: Payoffs, candidates: Any) -> Payoffs:
    """Return payoffs with the costs and values of candidates, if they are records that have any.

    >>> payoffs = Payoffs.linear(2, attempt_cost=0.0)
    >>> priced(payoffs, [{"id": "adyen", "cost": 0.2}, {"id": "stripe"}]).costs
    array([0.2, 0. ])
    """
    records = None
    if isinstance(candidates, list | tuple):
        records = as_records(candidates)
    elif hasattr(candidates, "columns"):
        names = {str(name) for name in getattr(candidates, "column_names", candidates.columns)}
        records = as_records(candidates) if names & PRICES else None
    return payoffs if records is None else read_prices(payoffs, records)


def _price(value: Any, name: str, i: int) -> float:
    """Read a price, 0 where it is missing."""
    least = 0.0 if name == COST else -MAX_PRICE
    if type(value) is float and least <= value <= MAX_PRICE:
        return value
    if is_missing(value):
        return 0.0
    number = math.nan
    if is_number(value) and not isinstance(value, bool | np.bool_):
        try:
            number = float(value)
        except (OverflowError, ValueError):
            number = math.inf
    where = f"candidate {i}, field {name!r}"
    if MAX_PRICE < abs(number) < math.inf:
        rule = f"have an absolute value of at most {MAX_PRICE:g}"
        raise InvalidInput(where, rule, shorten(value))
    if not least <= number < math.inf:
        rule = "be a finite number" + (" of at least 0" if name == COST else "")
        meaning = "the cost of a try" if name == COST else "what a success is worth"
        raise InvalidInput(where, f"{rule}: {meaning}", shorten(value))
    return number
