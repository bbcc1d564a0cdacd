"""The engine: ranks, logs and learns. A plain Python object; HTTP is only one way to reach it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from longrank.service import messages
from longrank.service.catalog import Catalog
from longrank.service.commits import Commits, at_once
from longrank.service.deciding import Deciding
from longrank.service.errors import NotReady, StoreFailed, Unknown
from longrank.service.following import Following
from longrank.service.models import Model
from longrank.service.reading import Reading
from longrank.service.recent import Recent
from longrank.service.records import Entry
from longrank.service.settling import Settling
from longrank.service.store import Store

AT_HAND = 2000  # decisions that are kept in memory


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
        self._recent = Recent(store, AT_HAND)
        self._catalog = Catalog(store, clock)
        self._following = Following(store, self._catalog, self._recent)
        self._commits = Commits(store.writer)
        self._deciding = Deciding(store, clock)
        self._settling = Settling(store, self._recent, clock)
        self._reading = Reading(store, clock)

    def start(self) -> Engine:
        """Replay the log; ready afterwards."""
        self._catalog.refresh()
        self.store.writer.committed = self._following.committed
        self.ready = True
        return self

    def close(self) -> None:
        """Save a snapshot of each model and close the store."""
        models = self._catalog.all() if self.ready and self.broken is None else []
        self.ready = False
        try:
            for model in models:
                if model.stats.outcomes > model.saved:
                    self.save(model)
        finally:
            self.store.close()

    def __enter__(self) -> Engine:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def broken(self) -> str | None:
        """Why it does nothing any more, where something went wrong that must not."""
        return self._following.broken

    def check(self) -> None:
        """Refuse to work before the start, or after a failure."""
        if not self.ready:
            raise NotReady("the log is being replayed; try again soon")
        if self.broken is not None:
            raise StoreFailed(self.broken)

    # models

    def models(self) -> list[Model]:
        """All of them, by name."""
        self.check()
        return self._catalog.all()

    def model(self, name: str) -> Model:
        """One of them."""
        self.check()
        return self._catalog.get(name)

    def number(self, name: str) -> int | None:
        """The number of a model, None if there is none."""
        try:
            return self.model(name).number
        except Unknown:
            return None

    def create(self, name: str, request: messages.ModelRequest) -> tuple[Model, bool]:
        """Make a model; or change the mode and the terms of one. Whether it is new."""
        self.check()
        return self._catalog.create(name, request)

    def delete(self, name: str) -> None:
        """Forget a model and its log."""
        self.check()
        self._catalog.delete(name)

    def describe(self, model: Model) -> messages.Model:
        """What is told of a model."""
        return self._reading.describe(model)

    def pending(self, model: Model) -> int:
        """Decisions that wait for an outcome; where counting takes long, a recent number."""
        return self._reading.pending(model)

    # decisions and their outcomes

    def decide(self, name: str, request: messages.DecisionRequest) -> messages.Decision:
        """Rank and log."""
        return at_once(self._deciding.decide(self.model(name), request, self._commits.blocking))

    def decided(
        self, name: str, request: messages.DecisionRequest
    ) -> Coroutine[Any, Any, messages.Decision]:
        """Rank now, and log when awaited in an event loop."""
        return self._deciding.decide(self.model(name), request, self._commits.shared)

    def settle(
        self, name: str, decision: str, request: messages.OutcomeRequest
    ) -> messages.OutcomeAnswer:
        """Log what became of a decision, and learn from it."""
        commit = self._commits.blocking
        return at_once(self._settling.settle(self.model(name), decision, request, commit))

    async def settled(
        self, name: str, decision: str, request: messages.OutcomeRequest
    ) -> messages.OutcomeAnswer:
        """Log what became of a decision, for an event loop."""
        commit = self._commits.shared
        return await self._settling.settle(self.model(name), decision, request, commit)

    def settle_many(
        self, name: str, items: Sequence[messages.BatchItem]
    ) -> list[messages.OutcomeAnswer | Exception]:
        """Log many outcomes at once; an error in place of what was refused."""
        return asyncio.run(self.settled_many(name, items))

    async def settled_many(
        self, name: str, items: Sequence[messages.BatchItem]
    ) -> list[messages.OutcomeAnswer | Exception]:
        """Log many outcomes at once, for an event loop."""
        commit = self._commits.shared
        return await self._settling.settle_many(self.model(name), items, commit)

    def read(self, name: str, decision: str) -> messages.DecisionRead:
        """A decision with its explanation, outcome and history."""
        return self._reading.read(self.model(name), decision)

    def latest(
        self, name: str, cursor: str | None = None, limit: int = 50
    ) -> messages.DecisionList:
        """Decisions, newest first."""
        return self._reading.latest(self.model(name), cursor, limit)

    # looking after it

    def save(self, model: Model) -> None:
        """Save a snapshot."""
        snapshot = model.snapshot()
        self.store.save_snapshot(model.number, snapshot)
        model.saved = snapshot.stats.outcomes

    def expire(self, model: Model, decided: Entry) -> None:
        """Take a missing outcome for a failure, where the model was made so."""
        self._settling.expire(model, decided)

    def drop(self, name: str, older_than: float) -> int:
        """Forget expired decisions that are older than this many seconds; how many.

        Only up to the oldest snapshot that is kept, so that a replay from any of them is whole.
        """
        model = self.model(name)
        self.save(model)
        found = self.store.snapshots(model.number)
        kept = [snapshot.seq for snapshot in found if not isinstance(snapshot, Exception)]
        if not kept:
            return 0
        now = self.clock()
        dropped = self.store.drop(model.number, now - older_than, now, min(kept))
        self._recent.clear()
        return dropped

    def follow(self) -> None:
        """Keep up with other processes on the same store."""
        self._following.follow()
