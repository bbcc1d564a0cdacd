"""Decide: check a request, rank its candidates, log the decision and answer."""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from longrank.decision import Parts, Prices, Ranking
from longrank.errors import InvalidInput
from longrank.payoffs import Payoffs
from longrank.rows import SparseRows
from longrank.service import messages
from longrank.service.engine.candidates import Offer, read_records, read_rows
from longrank.service.engine.model import Model
from longrank.service.errors import Conflict, Duplicate, Unknown
from longrank.service.messages import MAX_PRICE, DecisionRequest
from longrank.service.store.records import (
    DECISION,
    DecisionRecord,
    Draft,
    Entry,
    Matrix,
    Plan,
    SparseMatrix,
    encode,
)
from longrank.service.store.store import Store

Appending = Callable[[Draft], Awaitable[Entry]]  # to the log; done when the entry is durable
Reading = Callable[..., Awaitable[Any]]  # of the store: a function and its arguments

_ID = re.compile(messages.ID)
MAX_ROWS = 1 << 20  # bytes of a decision about records that are learned from


def decide(
    model: Model,
    request: DecisionRequest,
    store: Store,
    now: float,
    append: Appending,
    read: Reading,
) -> Coroutine[Any, Any, messages.DecisionAnswer]:
    """Rank now; log and answer when awaited. The same request again gets the same answer.

    What waits for the disk holds no part of the request, so that the next request finds its
    memory free and still in the processor's cache.
    """
    spec = model.spec.request
    if request.id is not None and not _ID.fullmatch(request.id):
        raise InvalidInput("id", f"match {messages.ID}", repr(request.id[:80]))
    if spec.dim is None:
        offered = read_records(request, model.schema)
    else:
        offered = read_rows(request, spec.dim)
    checked = check(request, offered, spec)
    name = request.id or f"{random.getrandbits(128):032x}"
    if spec.mode == "shadow" and checked.baseline is None:
        # the first request may predate shadow mode
        missing = InvalidInput("baseline", "be given in shadow mode", None)
        return _repeat(model, name, checked.digest, store, read, missing)
    known = _rank(model, name, request, checked, now)
    body, expires = encode(known[0]), known[0].expires
    draft = Draft(model.number, DECISION, name, now, expires, body, known)
    return _log(model, draft, store, append, read)


async def _log(
    model: Model, draft: Draft, store: Store, append: Appending, read: Reading
) -> messages.DecisionAnswer:
    record: DecisionRecord = draft.known[0]
    try:
        await append(draft)
    except Duplicate:
        pass
    else:
        return answer(record, model.name)
    # a duplicate, unless the model was deleted
    missing = Unknown(f"there is no model {model.name!r}")
    return await _repeat(model, record.id, record.digest, store, read, missing)


async def _repeat(
    model: Model, name: str, digest: bytes, store: Store, read: Reading, missing: Exception
) -> messages.DecisionAnswer:
    """Answer as before, if there is such a decision."""
    existing, _ = await read(store.find, model.number, name)
    if existing is None:
        raise missing
    record = existing.decision()
    if record.digest != digest:
        raise Conflict(f"the decision {name!r} was asked for with another content")
    return answer(record, model.name)


def _rank(
    model: Model, name: str, request: DecisionRequest, checked: CheckedRequest, now: float
) -> tuple[DecisionRecord, Ranking, SparseRows | None]:
    """Return a new decision, the model's own choice, and the sparse rows of what is played."""
    spec, offered, payoffs = model.spec.request, checked.offered, checked.payoffs
    ids, items, context = offered.ids, offered.items, offered.context
    if offered.prices is not None and spec.dim:  # of records, policies read the prices themselves
        payoffs = payoffs.priced(*offered.prices)
    choice, learned, propensities = model.rank(items, payoffs, checked.budget, name, context)
    ranking, proposal = choice, None
    if spec.mode == "shadow" and checked.baseline is not None:
        proposal, propensities = Plan.of(_priced(choice, offered), ids), None
        ranking = model.receipt(items, checked.baseline, payoffs, context)
    parts = _priced(ranking, offered)
    played, rows, sample, sparse = Plan.of(parts, ids), parts.features, parts.sample, None
    if parts.names is not None and parts.names.rows is not None:
        sparse = replace(parts.names.rows, plan=None)  # as it is when it is read from the log
    record = DecisionRecord(
        id=name,
        created=now,
        expires=now + (request.ttl or spec.ttl),
        digest=checked.digest,
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
    return record, choice, sparse


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
    played, proposal = record.played, record.proposal
    return messages.DecisionAnswer(
        id=record.id,
        model=model,
        mode=record.mode,  # type: ignore[arg-type]
        **_plan(played),
        version=record.learned,
        created=record.created,
        expires=record.expires,
        proposal=None if proposal is None else messages.Proposal(**_plan(proposal)),
    )


def _plan(plan: Plan) -> dict[str, Any]:
    """Return a plan as fields of an answer, without NaN, which JSON does not have."""
    values, bound = [_number(value) for value in plan.values], plan.loss_bound
    return {
        "sequence": [_choice(plan, i, values) for i in range(len(plan.ids))],
        "expected_value": values[len(plan.ids)],
        "values": values,
        "loss_bound": messages.OPTIMAL if bound == 0.0 else _number(bound),
    }


def _choice(plan: Plan, i: int, values: list[float | None]) -> messages.Choice:
    """Return a position of a sequence; ``values`` are those of the plan."""
    numbers = plan.ids[i], i + 1, _number(plan.estimates[i]), _number(plan.optimistic[i])
    reasons = [] if plan.reasons is None else [messages.Reason(*each) for each in plan.reasons[i]]
    if plan.costs is None or plan.success_values is None:
        return messages.Choice(*numbers, reasons)
    before, after = values[i], values[i + 1]
    adds = None if before is None or after is None else after - before
    return messages.Choice(*numbers, reasons, plan.costs[i], plan.success_values[i], adds)


def _number(number: float) -> float | None:
    return None if math.isnan(number) else number


# checking a request


class CheckedRequest(NamedTuple):
    """The round that a request asks for, checked, and the digest that identifies it."""

    offered: Offer
    payoffs: Payoffs
    budget: int
    baseline: list[int] | None
    digest: bytes


def check(request: DecisionRequest, offered: Offer, spec: messages.ModelRequest) -> CheckedRequest:
    """Check the rest of a request; InvalidInput says what is wrong with it."""
    ids, max_budget = offered.ids, spec.max_budget
    payoffs = _payoffs(request, max_budget)
    if (patience := spec.patience if request.patience is None else request.patience) is not None:
        payoffs = payoffs.patient(patience)
    budget = payoffs.budget if request.budget is None else request.budget
    if budget > max_budget:
        raise InvalidInput("budget", f"be at most the model's max_budget {max_budget}", budget)
    baseline = None if request.baseline is None else _baseline(request.baseline, ids, budget)
    prices = None if offered.prices is None else [prices.tobytes() for prices in offered.prices]
    asked = (
        (ids, request.rewards, request.losses, request.budget, request.ttl, request.patience),
        (baseline, spec.dim, prices, offered.packed, offered.shared),
    )
    digest = hashlib.sha256(encode(asked)).digest()
    return CheckedRequest(offered, payoffs, budget, baseline, digest)


def _payoffs(request: DecisionRequest, max_budget: int) -> Payoffs:
    if request.rewards is None and request.losses is None:
        return Payoffs.vanilla(max_budget if request.budget is None else request.budget)
    if request.rewards is None or request.losses is None:
        both = ("rewards", "losses")
        missing, given = both if request.rewards is None else both[::-1]
        raise InvalidInput(missing, f"be given along with {given}", None)
    return _schedule(tuple(request.rewards), tuple(request.losses))


@lru_cache(maxsize=256)  # most rounds of a model have the same payoffs, and Payoffs is immutable
def _schedule(rewards: tuple[float, ...], losses: tuple[float, ...]) -> Payoffs:
    for name, numbers in (("rewards", rewards), ("losses", losses)):
        for i, number in enumerate(numbers):
            if abs(number) > MAX_PRICE:
                rule = f"have an absolute value of at most {MAX_PRICE:g}"
                raise InvalidInput(f"{name}[{i}]", rule, number)
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
