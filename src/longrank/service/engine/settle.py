"""Settle: check what became of a decision, log it once and answer."""

import asyncio
import logging
import math
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from longrank.decision import Ranking
from longrank.errors import InvalidInput, plural
from longrank.payoffs import MAX_PRICE
from longrank.service import messages
from longrank.service.engine.decide import Access
from longrank.service.engine.model import Model
from longrank.service.errors import Conflict, Duplicate, ServiceError, Unknown
from longrank.service.messages import OutcomeRequest
from longrank.service.store.records import (
    OUTCOME,
    DecisionRecord,
    Draft,
    Entry,
    OutcomeRecord,
    copied,
    encode,
)
from longrank.service.store.store import Store

log = logging.getLogger("longrank.service")
MAX_TOGETHER = 256  # outcomes of a batch that share a commit


async def settle(
    model: Model, decision: str, request: OutcomeRequest, access: Access
) -> messages.OutcomeAnswer:
    """Log what became of a decision. The same report again gets the same answer."""
    recent, now = access.recent, access.clock()
    known = recent.known(model.number, decision)
    if known is None:
        known = await access.read(recent.find, model.number, decision)
    if known is None:
        raise Unknown(f"there is no decision {decision!r}")
    record, receipt = known
    outcome = check(request, record, now, model.spec.request.mode)
    with suppress(Duplicate):
        await access.append(_draft(model, record, outcome, receipt))
        return answer(outcome)
    _, existing = await access.read(recent.store.find, model.number, decision)
    if existing is None:
        raise Unknown(f"there is no decision {decision!r}")
    before = existing.outcome()
    if before.content != outcome.content:
        different, expired = "has a different outcome", "expired and was recorded as failed"
        raise Conflict(f"the decision {decision!r} {expired if before.automatic else different}")
    return answer(before, repeated=True)


async def settle_many(
    model: Model, items: Sequence[messages.BatchItem], access: Access
) -> list[messages.OutcomeAnswer | Exception]:
    """Log many outcomes, some of which share a commit; an error in place of one refused.

    They are logged in the order of their decisions: a file of a whole day that is sorted by result
    would otherwise look like an outage and its end.
    """

    async def one(item: messages.BatchItem) -> messages.OutcomeAnswer | Exception:
        try:
            return await settle(model, item.id, item, access)
        except (InvalidInput, ServiceError) as error:
            return error

    ids = [item.id for item in items]
    numbers = await access.read(access.recent.store.numbers, model.number, ids)
    order = sorted(range(len(items)), key=lambda i: numbers.get(items[i].id, 0))
    answers: dict[int, messages.OutcomeAnswer | Exception] = {}
    for first in range(0, len(items), MAX_TOGETHER):
        chunk = order[first : first + MAX_TOGETHER]
        answers |= zip(chunk, await asyncio.gather(*(one(items[i]) for i in chunk)), strict=True)
    return [answers[i] for i in range(len(items))]


def expire(model: Model, decided: Entry, store: Store, now: float, timeout: float) -> None:
    """Log a missing outcome as a failure, for a model that is set so.

    TimeoutError if the model has not learned it after ``timeout`` seconds; it will all the same.
    """
    record = decided.decision()
    tried = len(record.played.ids)
    request = OutcomeRequest(tried=tried, succeeded=False, reason="no outcome")
    outcome = check(request, record, now, model.spec.request.mode, automatic=True)
    try:
        store.writer.append(_draft(model, record, outcome)).result(timeout)
    except Duplicate:
        log.debug("model %s: the outcome of %s arrived as it expired", model.name, decided.id)


def _draft(
    model: Model, record: DecisionRecord, outcome: OutcomeRecord, receipt: Ranking | None = None
) -> Draft:
    known = msgspec.structs.replace(record, outcome=outcome), receipt
    return Draft(model.number, OUTCOME, record.id, outcome.recorded, 0.0, encode(outcome), known)


def answer(outcome: OutcomeRecord, *, repeated: bool = False) -> messages.OutcomeAnswer:
    """Return the answer to an outcome."""
    shown = observed(outcome)
    return copied(
        outcome, messages.OutcomeAnswer, outcome=shown, learned=outcome.learn, repeated=repeated
    )


def observed(outcome: OutcomeRecord) -> messages.Observed:
    """Return what was reported of the tries."""
    return messages.Observed(outcome.tried, outcome.succeeded, outcome.costs)


# checking a request


def check(
    request: OutcomeRequest,
    record: DecisionRecord,
    now: float,
    mode: str,
    *,
    automatic: bool = False,
) -> OutcomeRecord:
    """Check a report about a decision; InvalidInput says what is wrong with it.

    An ``automatic`` one replaces a report that never came, and cannot be late.
    """
    played = record.played
    tried, succeeded = _observed(request, played.ids)
    failures = tried - succeeded
    left_out = _left_out(request, played.ids, failures)
    why = None  # why it is not learned from
    if mode == "frozen":
        why = "frozen"
    elif now >= record.expires and not automatic:
        why = "expired"
    elif not tried:
        why = "nothing was tried"
    elif not succeeded and not (request.attributable and failures > len(set(left_out))):
        why = "not attributable"
    if request.costs is not None:
        paid = _costs(request.costs, tried)
    else:
        paid = [] if played.costs is None else played.costs[:tried]
    earned = [record.rewards[tried - 1] if succeeded else record.losses[tried]]
    if succeeded and played.success_values is not None:
        earned.append(played.success_values[tried - 1])
    return OutcomeRecord(
        id=record.id,
        recorded=now,
        tried=tried,
        succeeded=succeeded,
        learn=why is None,
        reward=math.fsum([*earned, *(-cost for cost in paid)]),
        spent=math.fsum(paid),
        paid=paid,
        reported=request.costs is not None,
        estimated=request.costs is None and any(position < tried for position in record.expected),
        gave_up=not succeeded and tried == len(played.ids) < len(played.values) - 1,
        why=why,
        attributable=request.attributable,
        not_attributable=left_out,
        reason=request.reason,
        at=request.at,
        automatic=automatic,
    )


def _left_out(request: OutcomeRequest, ids: list[str], failures: int) -> list[int]:
    """Return the positions of failures that are not attributable."""
    positions = []
    for given in request.not_attributable:
        position = ids.index(given) + 1 if given in ids else given
        if isinstance(position, str) or position > failures:
            raise InvalidInput("not_attributable", "name failures of this outcome", f"{given!r}")
        positions.append(position)
    return positions


def _costs(given: list[float], tried: int) -> list[float]:
    """Return what each try really cost."""
    if len(given) != tried:
        raise InvalidInput("costs", f"have {plural(tried, 'number')}, one for each try", len(given))
    for i, cost in enumerate(given):
        if not 0.0 <= cost <= MAX_PRICE:
            rule = f"be at least 0 and at most {MAX_PRICE:g}"
            raise InvalidInput(f"costs[{i}]", rule, cost)
    return [float(cost) for cost in given]


def _observed(request: OutcomeRequest, ids: list[str]) -> tuple[int, bool]:
    """Return how many were tried and whether the last one succeeded, from either form."""
    tried, succeeded = request.tried, request.succeeded
    if isinstance(tried, list):
        if tried != ids[: len(tried)]:
            rule = f"name the first candidates of the sequence in order ({', '.join(ids)})"
            raise InvalidInput("tried", rule, ", ".join(tried))
        tried = len(tried)
    if request.succeeded_id is not None:
        if request.succeeded_id not in ids:
            rule = "be the id of a candidate of the sequence"
            raise InvalidInput("succeeded_id", rule, repr(request.succeeded_id))
        position = ids.index(request.succeeded_id) + 1
        if tried not in (None, position) or succeeded is False:
            raise InvalidInput("succeeded_id", "agree with tried and succeeded", position)
        return position, True
    if tried is None or succeeded is None:
        only = "tried" if tried is not None else "succeeded" if succeeded is not None else ""
        got = f"only {only}" if only else "neither"
        rule = "give tried and succeeded, or succeeded_id"
        raise InvalidInput("tried, succeeded", rule, got, f"{rule}; got {got}")
    if tried > len(ids):
        raise InvalidInput("tried", f"be at most {len(ids)}, the sequence's length", tried)
    if succeeded and tried == 0:
        raise InvalidInput("tried", "be at least 1 if the last attempt succeeded", 0)
    return tried, succeeded
