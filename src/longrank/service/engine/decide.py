"""Decide: check a request, rank its candidates, log the decision and answer."""

from __future__ import annotations

import hashlib
import random
import re
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from longrank import checks
from longrank.errors import InvalidInput
from longrank.payoffs import Payoffs
from longrank.service import messages
from longrank.service.engine.model import Model
from longrank.service.errors import Conflict, Duplicate, Unknown
from longrank.service.messages import DecisionRequest, Packed
from longrank.service.store import records
from longrank.service.store.records import DECISION, DecisionRecord, Draft, Entry, Sequence
from longrank.service.store.store import Store

Appending = Callable[[Draft], Awaitable[Entry]]  # to the log; done when the entry is durable

_ID = re.compile(messages.ID)
_TYPES = {"float32": "<f4", "float64": "<f8"}


def decide(
    model: Model, request: DecisionRequest, store: Store, now: float, append: Appending
) -> Coroutine[Any, Any, messages.DecisionAnswer]:
    """Rank now; log and answer when awaited. The same request again gets the same answer.

    What waits for the disk holds no part of the request, so that the next request finds its
    memory free and still in the processor's cache.
    """
    spec = model.spec.request
    if request.id is not None and not _ID.fullmatch(request.id):
        raise InvalidInput("id", f"match {messages.ID}", repr(request.id[:80]))
    checked = check(request, spec.dim, spec.max_budget)
    name = request.id or f"{random.getrandbits(128):032x}"
    if spec.mode == "shadow" and checked.baseline is None:
        # it may have been decided before the model went into shadow mode
        if store.find(model.number, name)[0] is None:
            raise InvalidInput("baseline", "be given in shadow mode", None)
        return _log(model, name, checked.digest, None, store, append)
    draft = _draft(model, name, request, checked, now)
    return _log(model, name, checked.digest, draft, store, append)


async def _log(
    model: Model, name: str, digest: bytes, draft: Draft | None, store: Store, append: Appending
) -> messages.DecisionAnswer:
    if draft is not None:
        try:
            return answer(await append(draft), draft.known[0], model.name)
        except Duplicate:
            pass
    existing, _ = store.find(model.number, name)
    if existing is None:  # the log takes no decision without its model
        raise Unknown(f"there is no model {model.name!r}")
    record = existing.decision()
    if record.digest != digest:
        raise Conflict(f"the decision {name!r} was asked for with another content")
    return answer(existing, record, model.name)


def _draft(
    model: Model, name: str, request: DecisionRequest, checked: CheckedRequest, now: float
) -> Draft:
    spec, ids, items = model.spec.request, checked.ids, checked.items
    choice, version, chance = model.rank(items, checked.payoffs, checked.budget, name)
    ranking, proposal = choice, None
    if spec.mode == "shadow" and checked.baseline is not None:
        proposal, chance = Sequence.of(choice, ids), None
        ranking = model.receipt(items, checked.baseline, checked.payoffs)
    rows = ranking.features
    record = DecisionRecord(
        digest=checked.digest,
        mode=spec.mode,
        version=version,
        played=Sequence.of(ranking, ids),
        dim=rows.shape[1],
        rows=rows.tobytes(),
        rewards=checked.payoffs.rewards.tobytes(),
        losses=checked.payoffs.losses.tobytes(),
        proposal=proposal,
        baseline=request.baseline,
        candidates=ids if spec.store_candidates else None,
        features=items.astype("<f8").tobytes() if spec.store_candidates else None,
        propensities=None if chance is None else chance.tobytes(),
    )
    expires = now + (request.ttl or spec.ttl)
    body = records.encode((records.VERSION, record))
    return Draft(model.number, DECISION, name, now, expires, body, (record, choice))


# the answer: the same entry of the log always gives the same one


def answer(entry: Entry, record: DecisionRecord, model: str) -> messages.DecisionAnswer:
    """Return the answer to a decision."""
    values = _numbers(record.played.values)
    proposal = record.proposal
    return messages.DecisionAnswer(
        id=entry.id,
        model=model,
        mode=record.mode,  # type: ignore[arg-type]
        sequence=_choices(record.played),
        expected_value=values[len(record.played.ids)],
        values=values,
        version=record.version,
        created=entry.at,
        expires=entry.expires,
        proposal=None if proposal is None else _proposal(proposal),
    )


def _proposal(sequence: Sequence) -> messages.Proposal:
    values = _numbers(sequence.values)
    return messages.Proposal(_choices(sequence), values[len(sequence.ids)], values)


def _choices(sequence: Sequence) -> list[messages.Choice]:
    estimates, optimistic = _numbers(sequence.estimates), _numbers(sequence.optimistic)
    return [
        messages.Choice(name, i + 1, estimates[i], optimistic[i])
        for i, name in enumerate(sequence.ids)
    ]


def _numbers(data: bytes) -> list[float | None]:
    """Return numbers for JSON: None in place of NaN."""
    return [None if x != x else x for x in struct.unpack(f"<{len(data) // 8}d", data)]


# checking a request


class CheckedRequest(NamedTuple):
    """The round that a request asks for, checked, and the digest that identifies it."""

    ids: list[str]
    items: NDArray[np.floating]
    payoffs: Payoffs
    budget: int
    baseline: list[int] | None
    digest: bytes


def check(request: DecisionRequest, dim: int, max_budget: int) -> CheckedRequest:
    """Check a request; InvalidInput says what is wrong with it."""
    ids, items = _candidates(request, dim)
    if len(set(ids)) != len(ids):
        ((twice, _),) = Counter(ids).most_common(1)
        raise InvalidInput("candidates", "have different ids", repr(twice))
    payoffs = _payoffs(request, max_budget)
    budget = payoffs.budget if request.budget is None else request.budget
    if budget > max_budget:
        raise InvalidInput("budget", f"be at most the model's max_budget {max_budget}", budget)
    baseline = None if request.baseline is None else _baseline(request.baseline, ids, budget)
    asked = (ids, request.rewards, request.losses, request.budget, request.ttl, baseline, dim)
    content = msgspec.msgpack.encode(asked) + items.astype("<f8", copy=False).tobytes()
    digest = hashlib.sha256(content).digest()
    return CheckedRequest(ids, items, payoffs, budget, baseline, digest)


def _candidates(request: DecisionRequest, dim: int) -> tuple[list[str], NDArray[np.floating]]:
    if request.candidates is not None:
        if request.ids is not None or request.features is not None:
            raise InvalidInput("candidates", "be given without ids and features", "both")
        ids = [candidate.id for candidate in request.candidates]
        return ids, _items([candidate.features for candidate in request.candidates], dim)
    if request.ids is None or request.features is None:
        raise InvalidInput("candidates", "be given, or ids with features", "neither")
    if isinstance(request.features, Packed):
        items = _unpacked(request.features, len(request.ids))
    else:
        items = _items(request.features, dim)
    if len(items) != len(request.ids):
        raise InvalidInput("features", f"have {len(request.ids)} rows, one per id", len(items))
    return request.ids, items


def _items(rows: list[list[float]], dim: int) -> NDArray[np.floating]:
    if not rows:
        return np.empty((0, dim))
    quick = matrix(rows)
    items = checks.floats("features", rows, 2) if quick is None else quick
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


def _payoffs(request: DecisionRequest, max_budget: int) -> Payoffs:
    if request.rewards is None and request.losses is None:
        return Payoffs.vanilla(max_budget if request.budget is None else request.budget)
    if request.rewards is None or request.losses is None:
        missing = "rewards" if request.rewards is None else "losses"
        raise InvalidInput(missing, "be given if the other is", None)
    return _schedule(tuple(request.rewards), tuple(request.losses))


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


# rows of numbers as an array, by way of MessagePack

_DOUBLE = b"\xcb"  # the byte before the eight bytes of a float
_encode = msgspec.msgpack.Encoder().encode


def matrix(rows: list[list[float]]) -> NDArray[np.float64] | None:
    """Return the rows as an array, None unless all are floats in rows of one length.

    NumPy looks at each object of a list by itself. In MessagePack, rows of floats have one size
    and lie at equal distances, so that an array can be laid over them: in a third of the time.
    """
    try:
        data, row = _encode(rows), _row(len(rows[0]))
    except (TypeError, ValueError, OverflowError):
        return None  # not even numbers
    start = _mark(len(rows))
    if len(data) != start + len(rows) * row.itemsize:
        return None
    found = np.frombuffer(data, row, offset=start)
    cells = found["cells"]
    if found["mark"].tobytes() != data[start : start + _mark(len(rows[0]))] * len(rows):
        return None
    if cells["mark"].tobytes() != _DOUBLE * cells.size:
        return None
    return cells["number"].astype(np.float64)


@lru_cache(maxsize=64)
def _row(columns: int) -> np.dtype[np.void]:
    cell = np.dtype([("mark", "u1"), ("number", ">f8")])
    return np.dtype([("mark", "u1", _mark(columns)), ("cells", cell, columns)])


def _mark(length: int) -> int:
    """Return the number of bytes before the elements of an array of this length."""
    return 1 if length < 16 else 3 if length < 1 << 16 else 5
