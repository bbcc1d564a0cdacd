"""Handlers of decisions and their outcomes."""

import math
import random
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool

from longrank.errors import InvalidInput
from longrank.policies import Randomised
from longrank.service import messages
from longrank.service.engine.model import Model
from longrank.service.engine.views import Wanted
from longrank.service.export import spooled
from longrank.service.http.problems import sentence, status_of
from longrank.service.http.routes import EXPORTS
from longrank.service.http.service import Load, Reply, Service, Shape

T = TypeVar("T")
MAX_INLINE = 0.002  # seconds of the event loop that a decision may take
_MAX_SHAPES = 10_000
_SLOWER = 10  # times the work of other policies, for one that draws each try in Python


async def decide(
    service: Service,
    name: str,
    load: Load,
    body: messages.DecisionRequest,
    idempotency_key: str | None = None,
) -> messages.DecisionAnswer:
    if idempotency_key is not None:
        if body.id is not None and body.id != idempotency_key:
            rule = "equal the id in the body if both are given"
            raise InvalidInput("Idempotency-Key", rule, repr(idempotency_key))
        body = msgspec.structs.replace(body, id=idempotency_key)
    shape = _shape(service.engine.model(name), body, load.size, service.limits.max_work)
    rank = partial(service.engine.aio.decide, name, body)
    del body  # not needed while the decision waits for the disk
    # a quick decision could have to wait for a thread that works for the same model
    quick = service.seconds.get(shape, math.inf) < MAX_INLINE and name not in service.workers.jobs
    timed = not quick or random.getrandbits(4) == 0  # asking for processor time is slow
    work = partial(_timed, rank, shape, service.seconds) if timed else rank
    logging = work() if quick else await service.workers.run(load.turn, work)
    del rank, work
    return await logging


def _timed(work: Callable[[], T], shape: Shape, seconds: dict[Shape, float]) -> T:
    """Run work, and note in ``seconds`` how long that takes.

    The first of a shape may have to compile, so that a slow one counts for some time, but not
    forever.
    """
    started = time.thread_time()
    result = work()
    took = time.thread_time() - started
    if len(seconds) >= _MAX_SHAPES:
        seconds.clear()
    seconds[shape] = max(took, seconds.get(shape, 0.0) / 2)
    return result


def _shape(model: Model, request: messages.DecisionRequest, size: int, max_work: float) -> Shape:
    """Return what the duration of a decision depends on, in powers of 2; refuse too much work."""
    spec = model.spec.request
    candidates = request.ids if request.candidates is None else request.candidates
    count = len(candidates or ())
    given = request.rewards
    budget = request.budget or (spec.max_budget if given is None else len(given))
    tries = min(count, budget)
    work = tries * (count * spec.dim if spec.dim else size // 8)
    policy = model.view.policy
    if policy.rng is not None and isinstance(policy, Randomised):
        work = _SLOWER * (work + count * tries * tries)
    if work > max_work:
        rule = "take less work (candidates x features x budget) than the service's max_work"
        raise InvalidInput("candidates", f"{rule} of {max_work:g}", f"{work:g}")
    return model.number, count.bit_length(), size.bit_length(), budget.bit_length()


async def settle(
    service: Service, name: str, id: str, body: messages.OutcomeRequest
) -> messages.OutcomeAnswer:
    return await service.engine.aio.settle(name, id, body)


async def settle_many(
    service: Service, name: str, body: messages.BatchRequest
) -> messages.BatchAnswer:
    outcomes = await service.engine.aio.settle_many(name, body.outcomes)
    results = [
        messages.BatchResult(item.id, status_of(outcome), detail=sentence(outcome))
        if isinstance(outcome, Exception)
        else messages.BatchResult(item.id, 200, outcome)
        for item, outcome in zip(body.outcomes, outcomes, strict=True)
    ]
    return messages.BatchAnswer(results)


async def read(service: Service, name: str, id: str) -> messages.DecisionRead:
    return await run_in_threadpool(service.engine.read, name, id)


async def latest(
    service: Service,
    name: str,
    cursor: str | None,
    limit: int,
    candidate: str | None,
    result: messages.Result | None,
    search: str | None,
) -> messages.DecisionList:
    wanted = Wanted(candidate, result, search)
    return await run_in_threadpool(service.engine.latest, name, cursor, limit, wanted)


async def drop(service: Service, name: str, older_than: int) -> messages.Dropped:
    return messages.Dropped(await run_in_threadpool(service.engine.drop, name, float(older_than)))


async def export(service: Service, name: str, load: Load, format: messages.ExportFormat) -> Reply:
    file = await service.workers.run(load.turn, partial(spooled, service.engine, name, format))
    disposition = f'attachment; filename="{name}.{format}"'
    return Reply(file, {"Content-Type": EXPORTS[format], "Content-Disposition": disposition})
