"""Decide: check a request, rank its candidates, log the decision and answer."""

from __future__ import annotations

import hashlib
import math
import random
import re
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np

from longrank.decision import Ranking
from longrank.errors import InvalidInput
from longrank.payoffs import Payoffs
from longrank.rows import SparseRows
from longrank.service import messages
from longrank.service.engine.model import Model
from longrank.service.engine.offers import Offer, Prices, are_distinct, read_records, read_rows
from longrank.service.errors import Conflict, Duplicate, Unknown
from longrank.service.messages import MAX_PRICE, DecisionRequest
from longrank.service.store import records
from longrank.service.store.receipts import PricesRecord, RowsRecord, Sequence
from longrank.service.store.records import (
    DECISION,
    DecisionRecord,
    Draft,
    Entry,
    MoneyRecord,
    NamedRecord,
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
        # it may have been decided before the model went into shadow mode
        missing = InvalidInput("baseline", "be given in shadow mode", None)
        return _repeat(model, name, checked.digest, store, read, missing)
    draft = _draft(model, name, request, checked, now)
    return _log(model, draft, checked.digest, store, append, read)


async def _log(
    model: Model, draft: Draft, digest: bytes, store: Store, append: Appending, read: Reading
) -> messages.DecisionAnswer:
    try:
        return answer(await append(draft), draft.known[0], model.name)
    except Duplicate:
        pass
    # the log takes no decision without its model
    missing = Unknown(f"there is no model {model.name!r}")
    return await _repeat(model, draft.id, digest, store, read, missing)


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
    return answer(existing, record, model.name)


def _draft(
    model: Model, name: str, request: DecisionRequest, checked: CheckedRequest, now: float
) -> Draft:
    spec, offered = model.spec.request, checked.offered
    ids, items, context = offered.ids, offered.items, offered.context
    payoffs = checked.payoffs
    if offered.prices is not None and spec.dim:  # of records, policies read the prices themselves
        payoffs = payoffs.priced(*offered.prices)
    choice, version, chance = model.rank(items, payoffs, checked.budget, name, context)
    choice = _priced(choice, offered)
    ranking, proposal = choice, None
    if spec.mode == "shadow" and checked.baseline is not None:
        proposal, chance = Sequence.of(choice, ids), None
        ranking = _priced(model.receipt(items, checked.baseline, payoffs, context), offered)
    record = DecisionRecord(
        digest=checked.digest,
        mode=spec.mode,
        version=version,
        played=Sequence.of(ranking, ids),
        dim=ranking.dim,
        rows=b"" if ranking.dim == 0 else ranking.features.tobytes(),
        rewards=payoffs.rewards.tobytes(),
        losses=payoffs.losses.tobytes(),
        proposal=proposal,
        baseline=request.baseline,
        candidates=ids if spec.store_candidates else None,
        features=offered.packed if spec.store_candidates and spec.dim else None,
        propensities=None if chance is None else chance.tobytes(),
        named=None if spec.dim else _named(ranking, offered, everything=spec.store_candidates),
        money=_money(
            ranking,
            None if proposal is None else choice,
            payoffs.patience,
            offered.prices if spec.store_candidates and spec.dim else None,
            _expected(ranking, offered),
        ),
        sample=_carried(ranking),
    )
    expires = now + (request.ttl or spec.ttl)
    body = records.pack_decision(record)
    return Draft(model.number, DECISION, name, now, expires, body, (record, choice))


def _carried(ranking: Ranking) -> tuple[int, bytes] | None:
    """Return the candidates that a receipt carries, with their number of columns."""
    return None if ranking.sample is None else (ranking.sample.shape[1], ranking.sample.tobytes())


def _priced(ranking: Ranking, offered: Offer) -> Ranking:
    """Return a receipt with prices, also where the policy does not look at them."""
    if ranking.costs is not None or offered.prices is None:
        return ranking
    return ranking.at_prices(Payoffs([], [0.0], *offered.prices))


def _expected(ranking: Ranking, offered: Offer) -> list[int]:
    """Return the tries whose cost is the policy's expectation, and not that of the request."""
    if ranking.costs is None:
        return []
    given = 0.0 if offered.prices is None else offered.prices[0][ranking.order]
    return np.flatnonzero(ranking.costs != given).tolist()


def _money(
    ranking: Ranking,
    proposal: Ranking | None,
    patience: float,
    stored: Prices | None,
    expected: list[int],
) -> MoneyRecord | None:
    """Return what a decision has in addition where candidates have prices; None if nothing.

    ``stored`` are the prices of all candidates, where they are stored.
    """
    prices = PricesRecord.of(ranking)
    learned = ranking.patience if patience == 1.0 > ranking.patience else None
    if prices is None and patience == 1.0 and learned is None:
        return None
    costs, values = (None, None) if stored is None else (each.tobytes() for each in stored)
    planned = None if proposal is None else PricesRecord.of(proposal)
    return MoneyRecord(prices, planned, costs, values, patience, expected, learned)


def _named(ranking: Ranking, offered: Offer, *, everything: bool) -> NamedRecord:
    """Return what a decision about records has in addition."""
    rows = ranking.features
    sparse = RowsRecord.of(rows) if isinstance(rows, SparseRows) else None
    if sparse is not None and sparse.size > MAX_ROWS:
        rule = f"have rows of at most {MAX_ROWS:,} bytes in a sequence"
        raise InvalidInput("candidates", rule, sparse.size)
    return NamedRecord(sparse, offered.shared, offered.packed if everything else None)


# the answer: the same entry of the log always gives the same one


def answer(entry: Entry, record: DecisionRecord, model: str) -> messages.DecisionAnswer:
    """Return the answer to a decision."""
    values, prices, proposal = _numbers(record.played.values), record.prices, record.proposal
    return messages.DecisionAnswer(
        id=entry.id,
        model=model,
        mode=record.mode,  # type: ignore[arg-type]
        sequence=_choices(record.played, prices),
        expected_value=values[len(record.played.ids)],
        values=values,
        version=record.version,
        created=entry.at,
        expires=entry.expires,
        proposal=None if proposal is None else _proposal(proposal, record.money),
        loss_bound=_bound(prices),
    )


def _proposal(sequence: Sequence, money: MoneyRecord | None) -> messages.Proposal:
    values, prices = _numbers(sequence.values), None if money is None else money.proposal
    chosen = _choices(sequence, prices)
    return messages.Proposal(chosen, values[len(sequence.ids)], values, _bound(prices))


def _bound(prices: PricesRecord | None) -> float | None:
    if prices is None or prices.loss_bound == 0.0:
        return messages.OPTIMAL
    return None if math.isnan(prices.loss_bound) else prices.loss_bound


def _choices(sequence: Sequence, prices: PricesRecord | None) -> list[messages.Choice]:
    estimates, optimistic = _numbers(sequence.estimates), _numbers(sequence.optimistic)
    choices = [
        messages.Choice(name, i + 1, estimates[i], optimistic[i])
        for i, name in enumerate(sequence.ids)
    ]
    if prices is not None:
        choices = [
            msgspec.structs.replace(choice, cost=cost, value=value, adds=adds)
            for choice, cost, value, adds in zip(
                choices,
                _numbers(prices.costs),
                _numbers(prices.values),
                _steps(sequence),
                strict=True,
            )
        ]
    if sequence.reasons is None:
        return choices
    return [
        msgspec.structs.replace(choice, reasons=[messages.Reason(*each) for each in some])
        for choice, some in zip(choices, sequence.reasons, strict=True)
    ]


def _steps(sequence: Sequence) -> list[float | None]:
    """Return what each try adds to the expected value."""
    values = _numbers(sequence.values)[: len(sequence.ids) + 1]
    return [
        None if one is None or next_one is None else next_one - one
        for one, next_one in pairwise(values)
    ]


def _numbers(data: bytes) -> list[float | None]:
    """Return numbers for JSON: None in place of NaN."""
    return [None if x != x else x for x in struct.unpack(f"<{len(data) // 8}d", data)]


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
    if not are_distinct(ids):
        ((twice, _),) = Counter(ids).most_common(1)
        raise InvalidInput("candidates", "have ids that differ as text", repr(twice))
    payoffs = _payoffs(request, max_budget)
    if (patience := spec.patience if request.patience is None else request.patience) is not None:
        payoffs = payoffs.patient(patience)
    budget = payoffs.budget if request.budget is None else request.budget
    if budget > max_budget:
        raise InvalidInput("budget", f"be at most the model's max_budget {max_budget}", budget)
    baseline = None if request.baseline is None else _baseline(request.baseline, ids, budget)
    asked: tuple[Any, ...] = ids, request.rewards, request.losses, request.budget, request.ttl
    asked += baseline, spec.dim
    if request.patience is not None:
        asked += (request.patience,)
    if spec.dim and offered.prices is not None:
        asked += tuple(prices.tobytes() for prices in offered.prices)
    content = msgspec.msgpack.encode(asked) + offered.packed + offered.shared
    digest = hashlib.sha256(content).digest()
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
