"""The engine: ranks, logs and learns. A plain Python object; HTTP is only one way to reach it."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from longrank.errors import InvalidInput
from longrank.service import answers, messages, records
from longrank.service.errors import Conflict, NotReady, ServiceError, StoreFailed, Unknown
from longrank.service.models import Model, Spec, make_policy, read_spec
from longrank.service.records import DECISION, OUTCOME, DecisionRecord, Draft, Entry, OutcomeRecord
from longrank.service.replay import replay
from longrank.service.rounds import read_round
from longrank.service.store import Store
from longrank.service.together import Together
from longrank.service.writer import Duplicate

T = TypeVar("T")
Commit = Callable[[Draft], Awaitable[Entry]]
log = logging.getLogger("longrank.service")
RECENT = 2000  # decisions that are kept in memory, as most outcomes come soon
_ID = re.compile(messages.ID)
TOGETHER = 256  # outcomes of a batch that share a commit


class Engine:
    """Models over a store.

    >>> from longrank.service import Engine, open_store          # doctest: +SKIP
    >>> with Engine(open_store("decisions.db")) as engine:       # doctest: +SKIP
    ...     engine.create("routes", ModelRequest(dim=10))
    ...     decision = engine.decide("routes", DecisionRequest(...))
    ...     engine.settle("routes", decision.id, OutcomeRequest(tried=1, succeeded=True))

    Parameters
    ----------
    store
        Where the log is.
    clock
        The time in seconds since 1970.
    snapshot_every
        A snapshot is taken after this many outcomes.
    """

    def __init__(
        self, store: Store, *, clock: Callable[[], float] = time.time, snapshot_every: int = 1000
    ) -> None:
        self.store, self.clock, self.snapshot_every = store, clock, snapshot_every
        self.ready = False
        self.broken: str | None = None
        self._models: dict[str, Model] = {}
        self._numbers: dict[int, Model] = {}
        self._recent: OrderedDict[tuple[int, str], tuple[Entry, DecisionRecord]] = OrderedDict()
        self._recent_lock = threading.Lock()
        self._models_lock = threading.Lock()
        self._together: Together | None = None
        self._counted: dict[int, tuple[float, float, int]] = {}

    def start(self) -> Engine:
        """Replay the log; ready afterwards."""
        self.refresh()
        self.store.writer.committed = self._committed
        self.ready = True
        return self

    def close(self) -> None:
        """Save a snapshot of each model and close the store."""
        if self.ready:
            self.ready = False
            for model in self._models.values():
                if model.stats.outcomes > model.saved and self.broken is None:
                    self.save(model)
        self.store.close()

    def __enter__(self) -> Engine:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # models

    def models(self) -> list[Model]:
        """All of them, by name."""
        self.check()
        return [self._models[name] for name in sorted(self._models)]

    def model(self, name: str) -> Model:
        """One of them."""
        self.check()
        model = self._models.get(name)
        if model is None and not self.store.exclusive:
            self.refresh()
            model = self._models.get(name)
        if model is None:
            raise Unknown(f"there is no model {name!r}")
        return model

    def number(self, name: str) -> int | None:
        """The number of a model, None if there is none."""
        try:
            return self.model(name).number
        except Unknown:
            return None

    def create(self, name: str, request: messages.ModelRequest) -> tuple[Model, bool]:
        """Make a model; or change the mode and the terms of one. Whether it is new."""
        self.check()
        try:
            model = self.model(name)
        except Unknown:
            spec = Spec(request, secrets.randbits(32))
            make_policy(spec)
            created = self.clock()
            try:
                number = self.store.create_model(name, spec.packed(), created)
            except Conflict:  # somebody else was faster
                self.refresh()
                return self.create(name, request)[0], False
            return self._add(Model(number, name, created, spec)), True
        old = model.spec.request
        for part in ("policy", "dim", "max_budget", "settings"):
            if getattr(old, part) != getattr(request, part):
                raise Conflict(f"the model {name!r} has another {part}; delete it first")
        if request != old:
            spec = Spec(request, model.spec.seed)
            self.store.update_model(model.number, spec.packed())
            model.spec = spec
        return model, False

    def delete(self, name: str) -> None:
        """Forget a model and its log."""
        model = self.model(name)
        self.store.delete_model(model.number)
        self._remove(model)

    def describe(self, model: Model) -> messages.Model:
        """What is told of a model."""
        request = model.spec.request
        return messages.Model(
            name=model.name,
            policy=request.policy,
            dim=request.dim,
            max_budget=request.max_budget,
            settings=request.settings,
            mode=request.mode,
            ttl=request.ttl,
            missing=request.missing,
            keep=request.keep,
            store_candidates=request.store_candidates,
            created=model.created,
            version=model.version,
            state_hash=model.state_hash(),
            stats=model.stats.shown(self.pending(model)),
        )

    def pending(self, model: Model) -> int:
        """Decisions that wait for an outcome; where counting takes long, a recent number."""
        now = time.perf_counter()
        counted, cost, number = self._counted.get(model.number, (0.0, 0.0, 0))
        if now - counted < 20 * cost and cost > 0.02:
            return number
        number = self.store.pending(model.number, self.clock())
        done = time.perf_counter()
        self._counted[model.number] = (done, done - now, number)
        return number

    # decisions

    def decide(self, name: str, request: messages.DecisionRequest) -> messages.Decision:
        """Rank and log."""
        return _now(self.decided(name, request, self._commit))

    async def decided(
        self, name: str, request: messages.DecisionRequest, commit: Commit | None = None
    ) -> messages.Decision:
        """Rank and log, for an event loop."""
        model = self.model(name)
        draft = self._ranked(model, request)
        try:
            entry = await (commit or self._commit_async)(draft)
            return answers.decision(entry, draft.known, model.name)
        except Duplicate:
            existing, _ = self.store.find(model.number, draft.id)
        if existing is None:
            raise Unknown(f"there is no model {name!r}")
        record = existing.decision()
        if record.digest != draft.known.digest:
            raise Conflict(f"the decision {draft.id!r} was asked for with another content")
        return answers.decision(existing, record, model.name)

    def _ranked(self, model: Model, request: messages.DecisionRequest) -> Draft:
        spec = model.spec.request
        if request.id is not None and not _ID.fullmatch(request.id):
            raise InvalidInput("id", f"match {messages.ID}", repr(request.id[:80]))
        played = read_round(request, spec.dim, spec.max_budget)
        ids, items = played.ids, played.items
        if not hasattr(model.policy, "learner") and len(items) and items.shape[1] != spec.dim:
            raise InvalidInput("features", f"have {spec.dim} columns", items.shape[1])
        name = request.id or f"{random.getrandbits(128):032x}"
        ranking, version = model.rank(items, played.payoffs, played.budget, name)
        proposal = None
        if spec.mode == "shadow":
            if played.baseline is None:
                raise InvalidInput("baseline", "be given in shadow mode", None)
            proposal = records.Sequence.of(ranking, ids)
            ranking = model.along(items, played.baseline, played.payoffs)
        now = self.clock()
        record = DecisionRecord(
            digest=played.digest,
            mode=spec.mode,
            version=version,
            played=records.Sequence.of(ranking, ids),
            dim=ranking.features.shape[1],
            rows=ranking.features.tobytes(),
            rewards=played.payoffs.rewards.tobytes(),
            losses=played.payoffs.losses.tobytes(),
            proposal=proposal,
            baseline=request.baseline,
            candidates=ids if spec.store_candidates else None,
            features=items.astype("<f8").tobytes() if spec.store_candidates else None,
        )
        expires = now + (request.ttl or spec.ttl)
        body = records.encode(record)
        return Draft(model.number, DECISION, name, now, expires, body, record)

    # outcomes

    def settle(
        self, name: str, decision: str, request: messages.OutcomeRequest
    ) -> messages.OutcomeAnswer:
        """Log what became of a decision, and learn from it."""
        return _now(self.settled(name, decision, request, self._commit))

    async def settled(
        self,
        name: str,
        decision: str,
        request: messages.OutcomeRequest,
        commit: Commit | None = None,
    ) -> messages.OutcomeAnswer:
        """Log what became of a decision, for an event loop."""
        model = self.model(name)
        decided, record = self._decision(model, decision)
        outcome = self._outcome(model, decided, record, request)
        draft = self._settling(model, decision, outcome, record)
        try:
            entry = await (commit or self._commit_async)(draft)
            return answers.outcome(entry, outcome, record)
        except Duplicate:
            _, existing = self.store.find(model.number, decision)
        if existing is None:
            raise Unknown(f"there is no decision {decision!r}")
        before = existing.outcome()
        if before.content != outcome.content:
            how = "was taken as failed when it expired" if before.automatic else "has another"
            raise Conflict(f"the outcome of {decision!r} is recorded and {how}")
        return answers.outcome(existing, before, record, repeated=True)

    def settle_many(
        self, name: str, items: Sequence[messages.BatchItem]
    ) -> list[messages.OutcomeAnswer | Exception]:
        """Log many outcomes at once; an error in place of what was refused."""
        return asyncio.run(self.settled_many(name, items))

    async def settled_many(
        self, name: str, items: Sequence[messages.BatchItem]
    ) -> list[messages.OutcomeAnswer | Exception]:
        """Log many outcomes at once, for an event loop."""

        async def one(item: messages.BatchItem) -> messages.OutcomeAnswer | Exception:
            try:
                return await self.settled(name, item.id, item)
            except (InvalidInput, ServiceError) as error:
                return error

        self.model(name)
        results: list[messages.OutcomeAnswer | Exception] = []
        for first in range(0, len(items), TOGETHER):
            chunk = items[first : first + TOGETHER]
            results += await asyncio.gather(*(one(item) for item in chunk))
        return results

    def expire(self, model: Model, decided: Entry) -> None:
        """Take a missing outcome for a failure, where the model was made so."""
        record = decided.decision()
        tried = len(record.played.ids)
        learn = model.spec.request.mode != "frozen" and tried > 0
        outcome = OutcomeRecord(tried, False, learn, reason="no outcome", automatic=True)
        try:
            self.store.append(self._settling(model, decided.id, outcome, record)).result()
        except Duplicate:
            log.debug("an outcome came just in time")

    def _settling(
        self, model: Model, decision: str, outcome: OutcomeRecord, record: DecisionRecord
    ) -> Draft:
        body = records.encode(outcome)
        return Draft(model.number, OUTCOME, decision, self.clock(), 0.0, body, (outcome, record))

    def _decision(self, model: Model, name: str) -> tuple[Entry, DecisionRecord]:
        recent = self._recent.get((model.number, name))
        if recent is not None:
            return recent
        decided, _ = self.store.find(model.number, name)
        if decided is None:
            raise Unknown(f"there is no decision {name!r}")
        return decided, decided.decision()

    def _outcome(
        self,
        model: Model,
        decided: Entry,
        record: DecisionRecord,
        request: messages.OutcomeRequest,
    ) -> OutcomeRecord:
        ids = record.played.ids
        tried, succeeded = request.tried, request.succeeded
        if request.succeeded_id is not None:
            if request.succeeded_id not in ids:
                rule = "be the id of a candidate of the sequence"
                raise InvalidInput("succeeded_id", rule, repr(request.succeeded_id))
            position = ids.index(request.succeeded_id) + 1
            if tried not in (None, position) or succeeded is False:
                raise InvalidInput("succeeded_id", "agree with tried and succeeded", position)
            tried, succeeded = position, True
        if tried is None or succeeded is None:
            raise InvalidInput("tried, succeeded", "both be given, or succeeded_id", "neither")
        if tried > len(ids):
            raise InvalidInput("tried", f"be at most {len(ids)}, the sequence's length", tried)
        if succeeded and tried == 0:
            raise InvalidInput("tried", "be at least 1 where something succeeded", 0)
        for position in request.not_attributable:
            if position > tried - succeeded:
                raise InvalidInput("not_attributable", "name failures of this outcome", position)
        why = self._why_not(model, decided, tried, succeeded, request)
        return OutcomeRecord(
            tried=tried,
            succeeded=succeeded,
            learn=why is None,
            why=why,
            attributable=request.attributable,
            not_attributable=request.not_attributable,
            reason=request.reason,
            at=request.at,
        )

    def _why_not(
        self,
        model: Model,
        decided: Entry,
        tried: int,
        succeeded: bool,
        request: messages.OutcomeRequest,
    ) -> str | None:
        """Why an outcome is not learned from, if it is not."""
        if model.spec.request.mode == "frozen":
            return "frozen"
        if self.clock() >= decided.expires:
            return "expired"
        if tried == 0:
            return "nothing was tried"
        failures = tried - succeeded
        left_out = len(set(request.not_attributable)) if request.attributable else failures
        if not succeeded and left_out == failures:
            return "not attributable"
        return None

    # reading

    def read(self, name: str, decision: str) -> messages.DecisionRead:
        """A decision with its explanation, outcome and history."""
        model = self.model(name)
        decided, settled = self.store.find(model.number, decision)
        if decided is None:
            raise Unknown(f"there is no decision {decision!r}")
        return answers.read(decided, settled, model.name, self.clock())

    def latest(
        self, name: str, cursor: str | None = None, limit: int = 50
    ) -> messages.DecisionList:
        """Decisions, newest first."""
        model = self.model(name)
        before = None
        if cursor is not None:
            if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
                raise InvalidInput("cursor", "be one that a list gave", repr(cursor))
            before = int(cursor)
        found = self.store.latest(model.number, before, limit + 1)
        now = self.clock()
        shown = [answers.summary(entry, settled, now) for entry, settled in found[:limit]]
        more = len(found) > limit
        return messages.DecisionList(shown, str(found[limit - 1][0].seq) if more else None)

    def drop(self, name: str, older_than: float) -> int:
        """Forget expired decisions that are older than this many seconds; how many."""
        model = self.model(name)
        self.save(model)
        kept = [s for s in self.store.snapshots(model.number) if not isinstance(s, Exception)]
        if not kept:
            return 0
        upto = min(snapshot.seq for snapshot in kept)
        now = self.clock()
        dropped = self.store.drop(model.number, now - older_than, now, upto)
        with self._recent_lock:
            self._recent.clear()
        return dropped

    # the log

    def save(self, model: Model) -> None:
        """Save a snapshot."""
        snapshot = model.snapshot()
        self.store.save_snapshot(model.number, snapshot)
        model.saved = snapshot.stats.outcomes

    def refresh(self) -> None:
        """Take over which models there are; replay those that are new here."""
        rows = self.store.models()
        for row in rows:
            if row.model not in self._numbers:
                self._add(replay(self.store, row))
            elif not self.store.exclusive:
                self._numbers[row.model].spec = read_spec(row.spec)
        here = {row.model for row in rows}
        for number, model in list(self._numbers.items()):
            if number not in here:
                self._remove(model)

    def follow(self) -> None:
        """Keep up with other processes; those who hold a model's lock apply and publish."""
        self.refresh()
        for model in self.models():
            if self.store.lead(model.number):
                before = model.seq
                self._catch_up(model)
                if model.seq > before:
                    self.store.publish(model.number, model.snapshot())
            elif (newer := self.store.published(model.number, model.seq)) is not None:
                model.restore(newer)

    def _catch_up(self, model: Model) -> None:
        while entries := self.store.after(model.number, model.seq):
            for entry in entries:
                self.apply(model, entry)

    def _committed(self, entries: list[tuple[Entry, Any]]) -> None:
        """In the writer's thread, after a commit and before it is acknowledged."""
        for entry, known in entries:
            model = self._numbers.get(entry.model)
            if model is None:
                continue
            if entry.kind == DECISION:
                record = known if known is not None else entry.decision()
                with self._recent_lock:
                    self._recent[entry.model, entry.id] = (entry._replace(body=b""), record)
                    if len(self._recent) > RECENT:
                        self._recent.popitem(last=False)
            if self.store.exclusive:
                try:
                    self.apply(model, entry, known)
                except Exception as error:
                    self.broken = f"model {model.name!r} could not learn entry {entry.seq}"
                    log.exception(self.broken)
                    raise StoreFailed(self.broken) from error

    def apply(self, model: Model, entry: Entry, known: Any = None) -> None:
        """Let a model follow the log by one entry."""
        if entry.seq <= model.seq:
            return
        if entry.kind == DECISION:
            model.decide(entry.seq, known if known is not None else entry.decision())
            return
        if known is None:
            known = (entry.outcome(), self._decision(model, entry.id)[1])
        outcome, record = known
        model.settle(entry.seq, record, outcome)

    def _add(self, model: Model) -> Model:
        """The model of that number: this one, unless another thread has added it already."""
        with self._models_lock:
            first = self._numbers.setdefault(model.number, model)
            self._models[model.name] = first
            return first

    def _remove(self, model: Model) -> None:
        with self._models_lock:
            self._numbers.pop(model.number, None)
            if self._models.get(model.name) is model:
                del self._models[model.name]

    def check(self) -> None:
        """Refuse to work before the start, or after a failure."""
        if not self.ready:
            raise NotReady("the log is being replayed; try again soon")
        if self.broken is not None:
            raise StoreFailed(self.broken)

    async def _commit(self, draft: Draft) -> Entry:
        return self.store.append(draft).result()

    async def _commit_async(self, draft: Draft) -> Entry:
        loop = asyncio.get_running_loop()
        if self._together is None or self._together.loop is not loop:
            self._together = Together(self.store.writer, loop)
        return await self._together.append(draft)


def _now(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits for an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("it waits for an event loop")
