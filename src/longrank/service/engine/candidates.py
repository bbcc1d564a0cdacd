"""The candidates of a request, checked: rows of numbers, or records with their context."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from longrank import checks
from longrank.errors import InvalidInput
from longrank.payoffs import Payoffs
from longrank.schema import ID, MAX_TAGS, Schema, read_prices
from longrank.service.messages import (
    MAX_DIMENSIONS,
    MAX_FIELD_NAME,
    MAX_ID,
    MAX_PRICE,
    Candidate,
    DecisionRequest,
    Packed,
)
from longrank.service.validation_errors import explain

MAX_TEXT = 4096  # characters of a value
MAX_ATOMS = 1 << 22  # of all candidates of a round, at 16 bytes each
TOGETHER = 2048  # candidates checked before other threads get a turn
FEW = 64  # so many candidates exceed MAX_ATOMS only with long values
_TYPES = {"float32": "<f4", "float64": "<f8"}
_NO_TRIES = Payoffs([], [0.0])

Record = dict[str, Any]
Prices = tuple[NDArray[np.float64], NDArray[np.float64]]  # costs and values, of all candidates
_json = msgspec.json.Encoder().encode


class Offer(NamedTuple):
    """The candidates of a round: their names, what a policy takes, and their bytes.

    ``items`` is an array or a list of records; ``packed`` are its bytes: those of the array, or of
    the records as JSON. The context, and its bytes in ``shared``, are there for records,
    ``prices`` where candidates have a cost or a value.
    """

    ids: list[str]
    items: Any
    packed: bytes
    context: Record | None = None
    shared: bytes = b""
    prices: Prices | None = None


# prices


def _checked(payoffs: Payoffs, listed: bool = False) -> Prices | None:
    """Return the costs and values of payoffs, unless they are too large; None without any.

    ``listed`` says that they were given in lists, not with the candidates.
    """
    costs, values = payoffs.costs, payoffs.success_values
    if costs is None or values is None:
        return None
    for name, prices in (("cost", costs), ("value", values)):
        if len(prices) and np.abs(prices).max() > MAX_PRICE:
            i = int(np.abs(prices).argmax())
            rule = f"have an absolute value of at most {MAX_PRICE:g}"
            where = f"{name}s[{i}]" if listed else _where(i, name)
            raise InvalidInput(where, rule, float(prices[i]))
    return costs, values


# records


def read_records(request: DecisionRequest, schema: Schema | None) -> Offer:
    """Return the candidates of a model without ``dim``; InvalidInput says what is wrong."""
    if request.candidates is None or request.ids is not None or request.features is not None:
        rule = "be given, as objects or names, without ids and features: the model takes records"
        raise InvalidInput("candidates", rule, "ids and features" if request.ids else None)
    _refuse_lists(request)
    for i, each in enumerate(request.candidates):
        if not isinstance(each, dict | str):
            raise InvalidInput(f"candidate {i}", "be an object or a name", type(each).__name__)
    context = request.context or {}
    records: list[Record] = [
        {ID: each} if isinstance(each, str) else each for each in request.candidates
    ]
    try:
        packed, shared = _packed(records), _json(context)
    except (TypeError, OverflowError, RecursionError):
        _blame(records, context)
        raise
    if len(packed) + len(shared) > MAX_TEXT or len(records) > FEW:  # otherwise nothing is too long
        _check_sizes(records, context, schema)
    ids: list[Any] = [record.get(ID) for record in records]
    if not all(type(name) is str and 0 < len(name) <= MAX_ID for name in ids):
        ids = [_name(i, name) for i, name in enumerate(ids)]
    _check_distinct(ids)
    prices = None
    if b'"cost"' in packed or b'"value"' in packed:  # probably a field's name
        told = () if schema is None else (schema.sides["candidate"].prices,)
        prices = _checked(read_prices(_NO_TRIES, records, *told))
    return Offer(ids, records, packed, context, shared, prices)


def _packed(records: list[Record]) -> bytes:
    """Return records as JSON; of many, other threads get their turn in between."""
    if len(records) <= TOGETHER:
        return _json(records)
    pieces = [_json(records[i : i + TOGETHER]) for i in range(0, len(records), TOGETHER)]
    return b"[" + b",".join(piece[1:-1] for piece in pieces) + b"]"


def _check_distinct(ids: list[str]) -> None:
    """Refuse ids that are equal; of many, other threads get their turn in between."""
    seen: set[str] = set()
    for i in range(0, len(ids), TOGETHER):
        seen.update(ids[i : i + TOGETHER])
    if len(seen) < len(ids):
        ((twice, _),) = Counter(ids).most_common(1)
        raise InvalidInput("candidates", "have ids that differ as text", repr(twice))


def _blame(records: list[Record], context: Record) -> None:
    """Refuse the first value that cannot be stored."""
    for i, record in (*enumerate(records), (None, context)):
        for name, value in record.items():
            try:
                _json(value)
            except (TypeError, OverflowError, RecursionError):
                rule = "be text, a number of at most 64 bits, a boolean, a list of them, or null"
                raise InvalidInput(_where(i, name), rule, type(value).__name__) from None


def _name(i: int, name: Any) -> str:
    """Return the name of a candidate: its id, or its position where it has none."""
    if type(name) is str and 0 < len(name) <= MAX_ID:
        return name
    if name is None:
        return str(i)
    if type(name) is int and abs(name) < 1 << 64:
        return str(name)
    rule = f"be text of 1 to {MAX_ID} characters or a whole number"
    raise InvalidInput(_where(i, ID), rule, f"{name!r:.80}")


def _where(i: int | None, name: str) -> str:
    side = "context" if i is None else f"candidate {i}"
    return f"{side}, field {name[:MAX_FIELD_NAME]!r}"


def _check_sizes(records: list[Record], context: Record, schema: Schema | None) -> None:
    """Refuse what is too long, before a policy makes rows of it and remembers it."""
    everything = (*records, context)
    fields: set[str] = set()
    for i in range(0, len(everything), TOGETHER):
        fields.update(*everything[i : i + TOGETHER])
    for name in fields:
        if len(name) > MAX_FIELD_NAME:
            rule = f"have at most {MAX_FIELD_NAME} characters"
            raise InvalidInput("the name of a field", rule, f"{name[:40]!r}...")
    values = chain.from_iterable(map(dict.values, everything))
    lists: dict[str, int] = {}  # the longest of each field of the candidates
    if any(type(x) is list or (type(x) is str and len(x) > MAX_TEXT) for x in values):
        lists = _check_values(records, context)
    if schema is not None:
        _check_width(len(records), lists, schema)


def _check_values(records: list[Record], context: Record) -> dict[str, int]:
    """Refuse texts and lists that are too long; return the length of the longest by field."""
    lists: dict[str, int] = {}
    for i, record in (*enumerate(records), (None, context)):
        for name, value in record.items():
            if isinstance(value, str) and len(value) > MAX_TEXT:
                raise _too_long(i, name, MAX_TEXT, "characters", value)
            if isinstance(value, list):
                _check_list(i, name, value)
                if i is not None:
                    lists[name] = max(len(value), lists.get(name, 0))
    return lists


def _check_list(i: int | None, name: str, value: list[Any]) -> None:
    if len(value) > MAX_DIMENSIONS:
        raise _too_long(i, name, MAX_DIMENSIONS, "parts", value)
    for each in value:
        if isinstance(each, str) and len(each) > MAX_ID:
            raise _too_long(i, name, MAX_ID, "characters in each part", each)


def _too_long(
    i: int | None, name: str, limit: int, what: str, value: str | list[Any]
) -> InvalidInput:
    return InvalidInput(_where(i, name), f"have at most {limit} {what}", len(value))


def _check_width(count: int, lists: dict[str, int], schema: Schema) -> None:
    """Refuse more candidates than fit into memory with all the fields that are known."""
    side = schema.sides["candidate"]
    width = 1 + sum(slot.width for slot in side.fields() if slot.name not in lists)
    width += sum(1 << (length - 1).bit_length() for length in lists.values() if length)
    width += MAX_TAGS * sum(kind.name == "text" for kind in side.declared.values())
    if width * count > MAX_ATOMS:
        rule = f"have at most {MAX_ATOMS:,} values together, with those of the fields known so far"
        raise InvalidInput("candidates", rule, f"{count} times {width}")


# rows of numbers


class _Vectors(msgspec.Struct):
    candidates: list[Candidate]


def read_rows(request: DecisionRequest, dim: int) -> Offer:
    """Return the candidates of a model with ``dim``; InvalidInput says what is wrong."""
    if request.context is not None:
        rule = f"be left out: the model takes arrays of {dim} numbers"
        raise InvalidInput("context", rule, "a context")
    ids, items, payoffs = _rows(request, dim)
    _check_distinct(ids)
    prices = None
    if payoffs is not None:
        payoffs.check_prices(len(ids))
        prices = _checked(payoffs, request.candidates is None)
    return Offer(ids, items, items.astype("<f8", copy=False).tobytes(), prices=prices)


def _rows(
    request: DecisionRequest, dim: int
) -> tuple[list[str], NDArray[np.floating], Payoffs | None]:
    """Return the ids, the rows, and payoffs with the prices if there are any."""
    if request.candidates is not None:
        if request.ids is not None or request.features is not None:
            raise InvalidInput("candidates", "be given without ids and features", "both")
        _refuse_lists(request)
        vectors = _vectors(request.candidates, dim)
        ids = [candidate.id for candidate in vectors]
        return ids, _items([candidate.features for candidate in vectors], dim), _priced(vectors)
    if request.ids is None or request.features is None:
        raise InvalidInput("candidates", "be given, or ids with features", "neither")
    if isinstance(request.features, Packed):
        items = _unpacked(request.features, len(request.ids))
    else:
        items = _items(request.features, dim)
    if len(items) != len(request.ids):
        raise InvalidInput("features", f"have {len(request.ids)} rows, one per id", len(items))
    if request.costs is None and request.values is None:
        return request.ids, items, None
    return request.ids, items, _NO_TRIES.priced(request.costs, request.values)


def _refuse_lists(request: DecisionRequest) -> None:
    for name in ("costs", "values"):
        if getattr(request, name) is not None:
            rule = f"be given along with ids; candidates have a {name[:-1]} of their own"
            raise InvalidInput(name, rule, "candidates")


def _priced(candidates: list[Candidate]) -> Payoffs | None:
    """Return payoffs with the prices of candidates; where one has some, others have 0."""
    costs, values = ([getattr(each, name) for each in candidates] for name in ("cost", "value"))
    if all(price is None for price in (*costs, *values)):
        return None
    return _NO_TRIES.priced([cost or 0.0 for cost in costs], [value or 0.0 for value in values])


def _vectors(candidates: Sequence[Any], dim: int) -> list[Candidate]:
    try:
        return msgspec.convert({"candidates": candidates}, _Vectors).candidates
    except msgspec.ValidationError as error:
        wrong = explain(error, {"candidates": candidates}, _Vectors)
        rule = wrong.rule
        if rule in ("be given", "be left out"):
            rule += f": candidates of a model of {dim} features have id and features"
        raise InvalidInput(wrong.parameter, rule, wrong.value) from None


def _items(rows: list[list[float]], dim: int) -> NDArray[np.floating]:
    if not rows:
        return np.empty((0, dim))
    if set(map(len, rows)) == {dim}:
        packed = np.empty((len(rows), dim))
        with suppress(struct.error):  # in half the time that NumPy takes for lists
            struct.pack_into(f"{packed.size}d", packed.data, 0, *chain.from_iterable(rows))
            return packed
    items = checks.floats("features", rows, 2)
    if items.shape[1] == 0:
        raise InvalidInput("features", "have at least one column", 0)
    return items


def _unpacked(packed: Packed, count: int) -> NDArray[np.floating]:
    kind = np.dtype(_TYPES[packed.dtype])
    total, rest = divmod(len(packed.data), kind.itemsize)
    if rest or (total % count if count else total) or (count and not total):
        rule = f"hold {count} rows of {packed.dtype}"
        raise InvalidInput("features.data", rule, f"{len(packed.data)} bytes")
    items = np.frombuffer(packed.data, kind).reshape(count, total // count if count else 0)
    return items.astype(kind.newbyteorder("="))
