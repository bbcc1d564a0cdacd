"""Decide: check a request and its candidates, rank them, log the decision and answer."""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from longrank import checks
from longrank.decision import Parts, Prices, Ranking
from longrank.errors import InvalidInput
from longrank.explanation import Reasons
from longrank.payoffs import Payoffs
from longrank.rows import SparseRows
from longrank.schema import ID, MAX_TAGS, Schema, read_prices
from longrank.service import messages
from longrank.service.engine.apply import Recent
from longrank.service.engine.model import Model
from longrank.service.errors import Conflict, Duplicate, Unknown
from longrank.service.messages import (
    MAX_DIMENSIONS,
    MAX_FIELD_NAME,
    MAX_ID,
    Candidate,
    DecisionRequest,
    Packed,
)
from longrank.service.store.records import (
    DECISION,
    DecisionRecord,
    Draft,
    Entry,
    Matrix,
    Plan,
    SparseMatrix,
    copied,
    encode,
)
from longrank.service.validation_errors import explain, in_words

Record = dict[str, Any]
Given = tuple[NDArray[np.float64], NDArray[np.float64]]  # costs and values, of all candidates

MAX_ROWS = 1 << 20  # bytes of a decision about records that are learned from
MAX_TEXT = 4096  # characters of a value
MAX_ATOMS = 1 << 22  # of all candidates of a round, at 16 bytes each
TOGETHER = 2048  # candidates checked before other threads get a turn
FEW = 64  # so many candidates exceed MAX_ATOMS only with long values
_ID = re.compile(messages.ID)
_NO_TRIES = Payoffs([], [0.0])
_json = msgspec.json.Encoder().encode
_NUMBER, _FLOAT = np.dtype([("kind", "u1"), ("number", ">f8")]), 0xCB  # of MessagePack


class Access(NamedTuple):
    """How a verb reaches the log: in its own thread, or while an event loop goes on.

    ``append`` returns when the entry is durable; ``read`` calls a function that reads the store.
    """

    append: Callable[[Draft], Awaitable[Entry]]
    read: Callable[..., Awaitable[Any]]
    recent: Recent
    clock: Callable[[], float]


def decide(
    model: Model, request: DecisionRequest, access: Access
) -> Coroutine[Any, Any, messages.DecisionAnswer]:
    """Rank now; log and answer when awaited. The same request again gets the same answer.

    What waits for the disk holds no part of the request, so that the next request finds its
    memory free and still in the processor's cache.
    """
    spec, now = model.spec.request, access.clock()
    if request.id is not None and not _ID.fullmatch(request.id):
        raise InvalidInput("id", in_words(messages.ID), repr(request.id[:80]))
    offered = (
        read_records(request, model.schema) if spec.dim is None else read_rows(request, spec.dim)
    )
    payoffs, budget = _payoffs(request, spec)
    baseline = None
    if request.baseline is not None:
        baseline = _baseline(request.baseline, offered.ids, budget)
    digest = _digest(request, offered, baseline, spec)
    name = request.id or f"{random.getrandbits(128):032x}"
    if spec.mode == "shadow" and baseline is None:
        # the first request may predate shadow mode
        missing = InvalidInput("baseline", "be given in shadow mode", None)
        return _repeat(model, name, digest, access, missing)
    if offered.prices is not None and spec.dim:  # of records, policies read the prices themselves
        payoffs = payoffs.priced(*offered.prices)
    choice, learned, propensities = model.rank(
        offered.items, payoffs, budget, name, offered.context
    )
    ranking, proposal = choice, None
    if spec.mode == "shadow" and baseline is not None:
        proposal, propensities = _plan(_priced(choice, offered), offered.ids), None
        ranking = model.receipt(offered.items, baseline, payoffs, offered.context)
    parts = _priced(ranking, offered)
    played = _plan(parts, offered.ids)
    rows, sample, sparse = parts.features, parts.sample, None
    if parts.names is not None and parts.names.rows is not None:
        sparse = replace(parts.names.rows, plan=None)  # as it is when it is read from the log
    record = DecisionRecord(
        id=name,
        created=now,
        expires=now + (request.ttl or spec.ttl),
        digest=digest,
        mode=spec.mode,
        learned=learned,
        rewards=payoffs.rewards.tolist(),
        losses=payoffs.losses.tolist(),
        patience=payoffs.patience,
        planned_patience=ranking.patience if payoffs.patience == 1.0 else payoffs.patience,
        context=None if spec.dim else offered.shared,
        baseline=request.baseline,
        played=played,
        proposal=proposal,
        expected=[] if played.costs is None else _expected(played, offered),
        propensities=None if propensities is None else propensities.tolist(),
        rows=Matrix(rows.shape[1], rows.tobytes()),
        sparse=None if sparse is None else _sparse(sparse),
        sample=None if sample is None else Matrix(sample.shape[1], sample.tobytes()),
        **(_stored(offered, arrays=spec.dim is not None) if spec.store_candidates else {}),
    )
    receipt = ranking if spec.dim else record.receipt(sparse)
    known = record, receipt, choice
    draft = Draft(model.number, DECISION, name, now, record.expires, encode(record), known)
    return _log(model, draft, access)


async def _log(model: Model, draft: Draft, access: Access) -> messages.DecisionAnswer:
    record: DecisionRecord = draft.known[0]
    try:
        await access.append(draft)
    except Duplicate:  # unless the model was deleted
        missing = Unknown(f"there is no model {model.name!r}")
        return await _repeat(model, record.id, record.digest, access, missing)
    return answer(record, model.name)


async def _repeat(
    model: Model, name: str, digest: bytes, access: Access, missing: Exception
) -> messages.DecisionAnswer:
    """Answer as before, if there is such a decision."""
    existing, _ = await access.read(access.recent.store.find, model.number, name)
    if existing is None:
        raise missing
    record = existing.decision()
    if record.digest != digest:
        raise Conflict(f"the decision {name!r} was asked for with another content")
    return answer(record, model.name)


def _plan(parts: Parts, ids: list[str]) -> Plan:
    """Return the plan of a receipt, whose candidates have these ids."""
    order, prices, names = parts.order.tolist(), parts.prices, parts.names
    costs = values = reasons = None
    if prices is not None:
        costs, values = prices.costs.tolist(), prices.values.tolist()
    if names is not None:
        reasons = names.reasons.words() if isinstance(names.reasons, Reasons) else names.reasons
    return Plan(
        [ids[i] for i in order],
        order,
        parts.estimates.tolist(),
        parts.probabilities.tolist(),
        parts.values.tolist(),
        costs,
        values,
        0.0 if prices is None else prices.loss_bound,
        reasons if reasons is not None and any(reasons) else None,
    )


def _priced(ranking: Ranking, offered: Offer) -> Parts:
    """Return a receipt with prices, also where the policy does not look at them."""
    parts = ranking.parts()
    if parts.prices is not None or offered.prices is None:
        return parts
    costs, values = offered.prices
    return parts._replace(prices=Prices(costs[parts.order], values[parts.order], math.nan))


def _expected(played: Plan, offered: Offer) -> list[int]:
    """Return the tries whose cost is the policy's expectation, and not that of the request."""
    given = [0.0] * len(played.order)
    if offered.prices is not None:
        given = offered.prices[0][played.order].tolist()
    return [i for i, cost in enumerate(played.costs or ()) if cost != given[i]]


def _sparse(rows: SparseRows) -> SparseMatrix:
    sparse = SparseMatrix.of(rows)
    if sparse.size > MAX_ROWS:
        rule = f"have rows of at most {MAX_ROWS:,} bytes in a sequence"
        raise InvalidInput("candidates", rule, sparse.size)
    return sparse


def _stored(offered: Offer, *, arrays: bool) -> dict[str, Any]:
    """Return what a record has of all candidates, where a model stores them."""
    if not arrays:
        return {"candidates": offered.ids, "records": offered.packed}
    stored = {"candidates": offered.ids, "items": Matrix(offered.items.shape[1], offered.packed)}
    if offered.prices is None:
        return stored
    costs, values = offered.prices
    return stored | {"costs": costs.tolist(), "success_values": values.tolist()}


# the answer: the same record always gives the same one


def answer(record: DecisionRecord, model: str) -> messages.DecisionAnswer:
    """Return the answer to a decision."""
    proposal = record.proposal
    return copied(
        record,
        messages.DecisionAnswer,
        model=model,
        **_shown(record.played),
        version=record.learned,
        proposal=None if proposal is None else messages.Proposal(**_shown(proposal)),
    )


def _shown(plan: Plan) -> dict[str, Any]:
    """Return a plan as fields of an answer, without NaN, which JSON does not have."""
    count, values = len(plan.ids), _numbers(plan.values)
    columns: list[Any] = [plan.ids, range(1, count + 1)]
    columns += [_numbers(plan.estimates), _numbers(plan.optimistic)]
    if plan.reasons is not None or plan.costs is not None:
        reasons = plan.reasons or [[]] * count
        columns.append([[messages.Reason(*each) for each in some] for some in reasons])
    if plan.costs is not None:
        ends = pairwise(plan.values[: count + 1])
        columns += [plan.costs, plan.success_values, _numbers([after - now for now, after in ends])]
    return {
        "sequence": list(map(messages.Choice, *columns)),
        "expected_value": values[count],
        "values": values,
        "loss_bound": _numbers([plan.loss_bound])[0] if plan.loss_bound else messages.OPTIMAL,
    }


def _numbers(numbers: list[Any]) -> list[float | None]:
    total = sum(numbers)  # NaN if one of them is
    return numbers if total == total else [None if each != each else each for each in numbers]


# checking a request


def _digest(
    request: DecisionRequest,
    offered: Offer,
    baseline: list[int] | None,
    spec: messages.ModelRequest,
) -> bytes:
    """Return what identifies the content of a request."""
    prices = None if offered.prices is None else [prices.tobytes() for prices in offered.prices]
    ids, packed, shared = offered.ids, offered.packed, offered.shared
    asked = (
        (ids, request.rewards, request.losses, request.budget, request.ttl, request.patience),
        (baseline, spec.dim, prices, packed, shared),
    )
    return hashlib.sha256(encode(asked)).digest()


def _payoffs(request: DecisionRequest, spec: messages.ModelRequest) -> tuple[Payoffs, int]:
    """Return the payoffs of a round and its budget."""
    budget, max_budget = request.budget, spec.max_budget
    if request.rewards is None and request.losses is None:
        payoffs = Payoffs.vanilla(max_budget if budget is None else budget)
    elif request.rewards is None or request.losses is None:
        both = ("rewards", "losses")
        missing, given = both if request.rewards is None else both[::-1]
        raise InvalidInput(missing, f"be given along with {given}", None)
    else:
        payoffs = _schedule(tuple(request.rewards), tuple(request.losses))
    if (patience := spec.patience if request.patience is None else request.patience) is not None:
        payoffs = payoffs.patient(patience)
    if budget is None:
        budget = len(payoffs.rewards)
    if budget > max_budget:
        raise InvalidInput("budget", f"be at most the model's max_budget {max_budget}", budget)
    return payoffs, budget


@lru_cache(maxsize=256)  # most rounds of a model have the same payoffs, and Payoffs is immutable
def _schedule(rewards: tuple[float, ...], losses: tuple[float, ...]) -> Payoffs:
    return Payoffs(rewards, losses)


def _baseline(names: list[str], ids: list[str], budget: int) -> list[int]:
    index = {name: i for i, name in enumerate(ids)}
    for name in names:
        if name not in index:
            raise InvalidInput("baseline", "name candidates of this round", repr(name))
    if len(set(names)) != len(names):
        raise InvalidInput("baseline", "name each candidate once", names)
    if len(names) > budget:
        raise InvalidInput("baseline", f"have at most {budget} candidates", len(names))
    return [index[name] for name in names]


# the candidates of a request


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
    prices: Given | None = None


# prices


def _prices(payoffs: Payoffs) -> Given | None:
    """Return the costs and values of payoffs, None without any."""
    costs, values = payoffs.costs, payoffs.success_values
    return None if costs is None or values is None else (costs, values)


# records


def read_records(request: DecisionRequest, schema: Schema | None) -> Offer:
    """Return the candidates of a model without ``dim``; InvalidInput says what is wrong."""
    if request.candidates is None or request.ids is not None or request.features is not None:
        sentence = (
            "this model takes records: send `candidates` (objects or names), not `ids` and "
            "`features`"
        )
        raise InvalidInput("candidates", "be given without ids and features", None, sentence)
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
    ids: list[Any] = [record.get(ID) for record in records]
    if not all(type(name) is str and 0 < len(name) <= MAX_ID for name in ids):
        ids = [_name(i, name) for i, name in enumerate(ids)]
    if len(packed) + len(shared) > MAX_TEXT or len(records) > FEW:  # otherwise nothing is too long
        _check_sizes(records, context, schema)
    _check_distinct("candidates", ids)
    prices = None
    if b'"cost"' in packed or b'"value"' in packed:  # probably a field's name
        told = () if schema is None else (schema.sides["candidate"].prices,)
        prices = _prices(read_prices(_NO_TRIES, records, *told))
    return Offer(ids, records, packed, context, shared, prices)


def _packed(records: list[Record]) -> bytes:
    """Return records as JSON; of many, other threads get their turn in between."""
    if len(records) <= TOGETHER:
        return _json(records)
    pieces = [_json(records[i : i + TOGETHER]) for i in range(0, len(records), TOGETHER)]
    return b"[" + b",".join(piece[1:-1] for piece in pieces) + b"]"


def _check_distinct(parameter: str, ids: list[str]) -> None:
    """Refuse ids that are equal; of many, other threads get their turn in between."""
    seen: set[str] = set()
    for i in range(0, len(ids), TOGETHER):
        seen.update(ids[i : i + TOGETHER])
    if len(seen) < len(ids):
        ((twice, _),) = Counter(ids).most_common(1)
        rule = "be unique" if parameter == "ids" else "have unique ids"
        raise InvalidInput(parameter, rule, f"{twice!r} twice")


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
            if isinstance(value, str):
                _check_length(i, name, value, MAX_TEXT, "characters")
            elif isinstance(value, list):
                _check_length(i, name, value, MAX_DIMENSIONS, "parts")
                for part in value:
                    if isinstance(part, str):
                        _check_length(i, name, part, MAX_ID, "characters in each part")
                if i is not None:
                    lists[name] = max(len(value), lists.get(name, 0))
    return lists


def _check_length(i: int | None, name: str, value: str | list[Any], limit: int, what: str) -> None:
    if len(value) > limit:
        raise InvalidInput(_where(i, name), f"have at most {limit} {what}", len(value))


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
    costs: list[float] | None
    values: list[float] | None
    if request.candidates is not None:
        if request.ids is not None or request.features is not None:
            raise InvalidInput("candidates", "be given without ids and features", "both")
        _refuse_lists(request)
        vectors = _vectors(request.candidates, dim)
        ids, items = [each.id for each in vectors], _items([each.features for each in vectors], dim)
        costs, values = (_column(vectors, name) for name in ("cost", "value"))
    elif request.ids is None or request.features is None:
        raise InvalidInput("candidates", "be given, or ids with features", "neither")
    else:
        ids, costs, values = request.ids, request.costs, request.values
        if isinstance(request.features, Packed):
            items = _unpacked(request.features, len(ids))
        else:
            items = _items(request.features, dim)
        if len(items) != len(ids):
            raise InvalidInput("features", f"have {len(ids)} rows, one per id", len(items))
    _check_distinct("ids" if request.candidates is None else "candidates", ids)
    prices = None
    if costs is not None or values is not None:
        payoffs = _NO_TRIES.priced(costs, values)
        payoffs.check_prices(len(ids))
        prices = _prices(payoffs)
    return Offer(ids, items, items.astype("<f8", copy=False).tobytes(), prices=prices)


def _refuse_lists(request: DecisionRequest) -> None:
    for name in ("costs", "values"):
        if getattr(request, name) is not None:
            rule = f"be given along with ids; candidates have a {name[:-1]} of their own"
            raise InvalidInput(name, rule, "candidates")


def _column(candidates: list[Candidate], name: str) -> list[float] | None:
    """Return a price of all candidates, 0 where one has none; None if none has any."""
    prices = [getattr(candidate, name) for candidate in candidates]
    return None if all(price is None for price in prices) else [price or 0.0 for price in prices]


def _vectors(candidates: Sequence[Any], dim: int) -> list[Candidate]:
    try:
        return msgspec.convert({"candidates": candidates}, _Vectors).candidates
    except msgspec.ValidationError as error:
        wrong = explain(error, {"candidates": candidates}, _Vectors)
        rule = wrong.rule
        if rule in ("be given", "be a field of this request"):
            rule += f": candidates of a model of {dim} features have id and features"
        raise InvalidInput(wrong.parameter, rule, wrong.value) from None


def _items(rows: list[list[float]], dim: int) -> NDArray[np.floating]:
    if not rows:
        return np.empty((0, dim))
    if set(map(len, rows)) == {dim}:
        with suppress(TypeError, ValueError, OverflowError):  # not all are floats
            # in a third of the time that NumPy takes: each row is a head and 9 bytes a number
            packed, width = encode(rows), 9 * dim + (1 if dim < 16 else 3)
            first = len(packed) - (len(rows) - 1) * width - 9 * dim
            numbers = np.ndarray((len(rows), dim), _NUMBER, packed, first, (width, 9))
            if (numbers["kind"] == _FLOAT).all():
                return numbers["number"].astype(np.float64)
    items = checks.floats("features", rows, 2)
    if items.shape[1] == 0:
        raise InvalidInput("features", "have at least one column", 0)
    return items


def _unpacked(packed: Packed, count: int) -> NDArray[np.floating]:
    kind = np.dtype(packed.dtype).newbyteorder("<")
    total, rest = divmod(len(packed.data), kind.itemsize)
    if rest or (total % count if count else total) or (count and not total):
        rule = f"hold {count} rows of {packed.dtype}"
        raise InvalidInput("features.data", rule, f"{len(packed.data)} bytes")
    items = np.frombuffer(packed.data, kind).reshape(count, total // count if count else 0)
    return items.astype(kind.newbyteorder("="))
