"""Settle: check what became of a decision, log it once and answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from longrank.errors import InvalidInput
from longrank.service import messages
from longrank.service.engine.apply import Recent
from longrank.service.engine.decide import Appending, Reading
from longrank.service.engine.model import Model
from longrank.service.errors import Conflict, Duplicate, ServiceError, Unknown
from longrank.service.messages import OutcomeRequest
from longrank.service.store import records
from longrank.service.store.records import OUTCOME, DecisionRecord, Draft, Entry, OutcomeRecord
from longrank.service.store.store import Store

log = logging.getLogger("longrank.service")
MAX_TOGETHER = 256  # outcomes of a batch that share a commit


async def settle(
    model: Model,
    decision: str,
    request: OutcomeRequest,
    recent: Recent,
    clock: Callable[[], float],
    append: Appending,
    read: Reading,
) -> messages.OutcomeAnswer:
    """Log what became of a decision. The same report again gets the same answer.

    ``read`` calls a function that reads the store; an event loop goes on meanwhile.
    """
    found = recent.known(model.number, decision)
    if found is None:
        found = await read(recent.find, model.number, decision)
    if found is None:
        raise Unknown(f"there is no decision {decision!r}")
    decided, record = found
    now = clock()
    frozen = model.spec.request.mode == "frozen"
    outcome = check(request, record.played.ids, frozen=frozen, expired=now >= decided.expires)
    try:
        return answer(await append(_draft(model, decision, outcome, record, now)), outcome, record)
    except Duplicate:
        _, existing = await read(recent.store.find, model.number, decision)
    if existing is None:
        raise Unknown(f"there is no decision {decision!r}")
    before = existing.outcome()
    if before.content != outcome.content:
        how = (
            "expired and was recorded as failed" if before.automatic else "has a different outcome"
        )
        raise Conflict(f"the decision {decision!r} {how}")
    return answer(existing, before, record, repeated=True)


async def settle_many(
    model: Model,
    items: Sequence[messages.BatchItem],
    recent: Recent,
    clock: Callable[[], float],
    append: Appending,
    read: Reading,
) -> list[messages.OutcomeAnswer | Exception]:
    """Log many outcomes, some of which share a commit; an error in place of one refused.

    They are logged in the order of their decisions: a file of a whole day that is sorted by result
    would otherwise look like an outage and its end.
    """

    async def one(item: messages.BatchItem) -> messages.OutcomeAnswer | Exception:
        try:
            return await settle(model, item.id, item, recent, clock, append, read)
        except (InvalidInput, ServiceError) as error:
            return error

    numbers = await read(recent.store.numbers, model.number, [item.id for item in items])
    order = sorted(range(len(items)), key=lambda i: numbers.get(items[i].id, 0))
    results: dict[int, messages.OutcomeAnswer | Exception] = {}
    for first in range(0, len(items), MAX_TOGETHER):
        chunk = order[first : first + MAX_TOGETHER]
        found = await asyncio.gather(*(one(items[i]) for i in chunk))
        results.update(zip(chunk, found, strict=True))
    return [results[i] for i in range(len(items))]


def expire(
    model: Model, decided: Entry, store: Store, now: float, timeout: float | None = None
) -> None:
    """Log a missing outcome as a failure, for a model that is set so.

    TimeoutError if the model has not learned it after ``timeout`` seconds; it will all the same.
    """
    record = decided.decision()
    frozen = model.spec.request.mode == "frozen"
    outcome = _missing(record.played.ids, frozen=frozen)
    try:
        store.append(_draft(model, decided.id, outcome, record, now)).result(timeout)
    except Duplicate:
        log.debug("model %s: the outcome of %s arrived as it expired", model.name, decided.id)


def _draft(
    model: Model, decision: str, outcome: OutcomeRecord, record: DecisionRecord, now: float
) -> Draft:
    body = records.pack_outcome(outcome)
    return Draft(model.number, OUTCOME, decision, now, 0.0, body, (outcome, record))


def answer(
    entry: Entry, record: OutcomeRecord, decided: DecisionRecord, repeated: bool = False
) -> messages.OutcomeAnswer:
    """Return the answer to an outcome."""
    return messages.OutcomeAnswer(
        id=entry.id,
        outcome=observed(record),
        reward=decided.reward(record),
        recorded=entry.at,
        learned=record.learn,
        why=record.why,
        attributable=record.attributable,
        not_attributable=record.not_attributable,
        reason=record.reason,
        at=record.at,
        repeated=repeated,
        spent=decided.spent(record),
        estimated=decided.estimated(record),
    )


def observed(record: OutcomeRecord) -> messages.Observed:
    """Return what was reported of the tries."""
    costs = None if record.costs is None else list(record.costs)
    return messages.Observed(record.tried, record.succeeded, costs)


# checking a request


def check(request: OutcomeRequest, ids: list[str], *, frozen: bool, expired: bool) -> OutcomeRecord:
    """Check a report about a sequence; InvalidInput says what is wrong with it."""
    tried, succeeded = _observed(request, ids)
    left_out = []
    for given in request.not_attributable:
        position = ids.index(given) + 1 if given in ids else given
        if isinstance(position, str) or position > tried - succeeded:
            raise InvalidInput("not_attributable", "name failures of this outcome", f"{given!r}")
        left_out.append(position)
    why = _why_not(request, left_out, tried, succeeded, frozen, expired)
    return OutcomeRecord(
        tried=tried,
        succeeded=succeeded,
        learn=why is None,
        why=why,
        attributable=request.attributable,
        not_attributable=left_out,
        reason=request.reason,
        at=request.at,
        costs=_costs(request.costs, tried),
    )


def _costs(given: list[float] | None, tried: int) -> tuple[float, ...] | None:
    """Return what each try really cost, None if that is not known."""
    if given is None:
        return None
    if len(given) != tried:
        raise InvalidInput("costs", f"have {tried} numbers, one for each try", len(given))
    for i, cost in enumerate(given):
        if not 0.0 <= cost <= messages.MAX_PRICE:
            rule = f"be at least 0 and at most {messages.MAX_PRICE:g}"
            raise InvalidInput(f"costs[{i}]", rule, cost)
    return tuple(map(float, given))


def _missing(ids: list[str], *, frozen: bool) -> OutcomeRecord:
    """Return the outcome in which all attempts failed."""
    why = "frozen" if frozen else None if ids else "nothing was tried"
    return OutcomeRecord(
        len(ids), False, learn=why is None, why=why, reason="no outcome", automatic=True
    )


def _observed(request: OutcomeRequest, ids: list[str]) -> tuple[int, bool]:
    """Return how many were tried and whether the last one succeeded, from either form."""
    tried, succeeded = _count(request.tried, ids), request.succeeded
    if request.succeeded_id is not None:
        if request.succeeded_id not in ids:
            rule = "be the id of a candidate of the sequence"
            raise InvalidInput("succeeded_id", rule, repr(request.succeeded_id))
        position = ids.index(request.succeeded_id) + 1
        if tried not in (None, position) or succeeded is False:
            raise InvalidInput("succeeded_id", "agree with tried and succeeded", position)
        return position, True
    if tried is None or succeeded is None:
        raise InvalidInput("tried, succeeded", "both be given, or succeeded_id", "neither")
    if tried > len(ids):
        raise InvalidInput("tried", f"be at most {len(ids)}, the sequence's length", tried)
    if succeeded and tried == 0:
        raise InvalidInput("tried", "be at least 1 where something succeeded", 0)
    return tried, succeeded


def _count(tried: int | list[str] | None, ids: list[str]) -> int | None:
    """Return how many were tried, where they may have been named."""
    if not isinstance(tried, list):
        return tried
    if tried != ids[: len(tried)]:
        rule = f"name the first candidates of the sequence in order ({', '.join(ids)})"
        raise InvalidInput("tried", rule, ", ".join(tried))
    return len(tried)


def _why_not(
    request: OutcomeRequest,
    not_attributable: list[int],
    tried: int,
    succeeded: bool,
    frozen: bool,
    expired: bool,
) -> str | None:
    """Say why an outcome is not learned from; None if it is."""
    if frozen:
        return "frozen"
    if expired:
        return "expired"
    if tried == 0:
        return "nothing was tried"
    failures = tried - succeeded
    left_out = len(set(not_attributable)) if request.attributable else failures
    if not succeeded and left_out == failures:
        return "not attributable"
    return None
