"""The engine: models over a store; every verb of the service, for threads and for event loops."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from longrank.service import messages
from longrank.service.engine import decide, settle, views
from longrank.service.engine.apply import Applier, Recent
from longrank.service.engine.follower import Follower
from longrank.service.engine.model import Model
from longrank.service.engine.readers import Readers
from longrank.service.errors import NotReady, ServiceError, StoreFailed
from longrank.service.store.records import Draft, Entry
from longrank.service.store.store import Store

log = logging.getLogger("longrank.service")
MAX_RECENT = 2000  # decisions kept in memory
MAX_WAIT = 3.0  # seconds that a write may wait in a ready service, or the log go unread
MAX_BEHIND = 10.0  # seconds that the follower may take
CLOCK_RATE = 0.05  # how much faster or slower the clock may run to catch up with the system's
MAX_CLOCK_GAP = 60.0  # seconds of difference from the system's clock that cause a warning
CLOCK_WARNING = 600.0  # seconds between two warnings
T = TypeVar("T")


class Engine(views.Views):
    """Models over a store: rank, log and learn.

    Every method may be called from any thread. Those that write are under ``aio`` as well, by the
    same names: there they are awaited, and an event loop goes on meanwhile.

    >>> from longrank.service import Engine, open_store          # doctest: +SKIP
    >>> with Engine(open_store("decisions.db")) as engine:       # doctest: +SKIP
    ...     engine.create("routes", ModelRequest())
    ...     decision = engine.decide("routes", DecisionRequest(candidates=["adyen", "stripe"]))
    ...     engine.settle("routes", decision.id, OutcomeRequest(tried=1, succeeded=True))

    Parameters
    ----------
    store
        Where the log is.
    clock
        Returns the time in seconds since 1970; by default the system's, without its jumps.
    snapshot_every
        Number of outcomes between two snapshots of a model.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float] | None = None,
        snapshot_every: int = 1000,
    ) -> None:
        clock = clock or SteadyClock()
        super().__init__(store, clock)
        self.snapshot_every = snapshot_every
        self.ready = False
        self._readers = Readers()
        self._recent = Recent(store, MAX_RECENT)
        writer, rest = store.writer, (self._recent, clock)
        self.aio = Verbs(self, decide.Access(writer.append_soon, self._readers.read, *rest))
        self._blocking = Verbs(self, decide.Access(self._append, _read, *rest))
        self._follower = None
        if not store.exclusive:
            self._follower = Follower(self._numbers, self._recent, self._suspend, self.stopping)
        self._applier = self._follower or Applier(self._numbers, self._recent)
        self._renewed = self._followed = 0.0  # when the store last answered, of the monotonic clock

    def start(self) -> Engine:
        """Replay the log; the engine is ready afterwards."""
        self.store.clean()
        self._refresh()
        self.store.writer.committed = self._applier.committed
        self.store.probe()
        self._renewed = self._followed = time.monotonic()
        self.ready = True
        return self

    def close(self) -> None:
        """Save a snapshot of each model and close the store.

        A replay stops at once if ``stopping`` is set, and keeps what it did.
        """
        self.stopping.set()
        models = self.models() if self.ready and self.broken is None else []
        self.ready = False
        try:
            for model in models:
                if model.stats.outcomes > model.saved and self.leads(model):
                    try:
                        self.save(model)
                    except ServiceError:
                        raise
                    except Exception:  # the log has everything, and the others are saved
                        log.exception("model %s: no last snapshot", model.name)
        finally:
            self._readers.close()
            self.store.close()
            self._applier.close()

    def __enter__(self) -> Engine:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def broken(self) -> str | None:
        """Why the engine refuses all work, after a failure that it cannot recover from."""
        return self._applier.broken

    @property
    def trouble(self) -> str | None:
        """Why the engine cannot do all of its work at the moment; None if it can."""
        if self.broken is not None:
            return self.broken
        writer, now = self.store.writer, time.monotonic()
        if writer.failing is not None:
            return writer.failing
        if writer.waited > MAX_WAIT:
            return f"a write has waited for {writer.waited:.0f} seconds"
        if self._follower is None or not self.ready:
            return None
        if now - self._renewed > MAX_WAIT:
            return f"the database has not answered for {now - self._renewed:.0f} seconds"
        if now - self._followed > MAX_BEHIND:
            return f"the log has not been followed for {now - self._followed:.0f} seconds"
        return None

    def check(self) -> None:
        """Refuse to work before the start, or after a failure."""
        if not self.ready:
            raise NotReady("the log is being replayed; try again soon")
        if self.broken is not None:
            raise StoreFailed(self.broken)

    # decisions and their outcomes

    def decide(self, name: str, request: messages.DecisionRequest) -> messages.DecisionAnswer:
        """Rank and log."""
        return _finish(self._blocking.decide(name, request))

    def settle(
        self, name: str, decision: str, request: messages.OutcomeRequest
    ) -> messages.OutcomeAnswer:
        """Log what became of a decision, and learn from it."""
        return _finish(self._blocking.settle(name, decision, request))

    def settle_many(
        self, name: str, items: Sequence[messages.BatchItem]
    ) -> list[messages.OutcomeAnswer | Exception]:
        """Log many outcomes at once; an error for each that is refused."""
        return asyncio.run(self.aio.settle_many(name, items))

    # upkeep

    def save(self, model: Model) -> None:
        """Save a snapshot."""
        outcomes = model.stats.outcomes
        self.store.save_snapshot(model.number, model.snapshot())
        model.saved = outcomes

    def learning(self, model: Model) -> bool:
        """Return whether a model has outcomes to learn that may take long."""
        return self._applier.learning(model)

    def drop(self, name: str, older_than: float, limit: int | None = None) -> int:
        """Delete expired decisions that are older than this many seconds, at most ``limit``.

        Return how many. Only up to the oldest snapshot that is kept, so that a replay from any of
        them is complete.
        """
        model = self.model(name)
        self.save(model)
        stored = self.store.snapshots(model.number)
        kept = [each.seq for each in stored if not isinstance(each, Exception) and each.seq > 0]
        if not kept:
            return 0
        now = self.clock()
        dropped = self.store.drop(model.number, now - older_than, now, min(kept), limit)
        self._recent.clear()
        return dropped

    def follow(self) -> None:
        """Catch up with other processes on the same store."""
        self._refresh()
        if self._follower is not None:
            self._follower.follow()
        self._followed = time.monotonic()

    def renew(self) -> None:
        """Renew the leases of the models whose upkeep this process does, and take free ones."""
        self.store.renew(list(self._numbers))
        self._renewed = time.monotonic()

    def leads(self, model: Model) -> bool:
        """Return whether this process does a model's upkeep."""
        return self.store.lead(model.number)

    async def _append(self, draft: Draft) -> Entry:
        """Append to the log and wait in this thread."""
        return self.store.writer.append(draft).result()


class Verbs:
    """The verbs that write, over one way to reach the store; each returns an awaitable."""

    def __init__(self, engine: Engine, access: decide.Access) -> None:
        self._engine, self._access = engine, access

    def decide(
        self, name: str, request: messages.DecisionRequest
    ) -> Coroutine[Any, Any, messages.DecisionAnswer]:
        """Rank now, and log when awaited."""
        return decide.decide(self._engine.model(name), request, self._access)

    def settle(
        self, name: str, decision: str, request: messages.OutcomeRequest
    ) -> Coroutine[Any, Any, messages.OutcomeAnswer]:
        """Log what became of a decision, and learn from it."""
        return settle.settle(self._engine.model(name), decision, request, self._access)

    def settle_many(
        self, name: str, items: Sequence[messages.BatchItem]
    ) -> Coroutine[Any, Any, list[messages.OutcomeAnswer | Exception]]:
        """Log many outcomes at once; an error for each that is refused."""
        return settle.settle_many(self._engine.model(name), items, self._access)


async def _read(work: Callable[..., T], *args: Any) -> T:
    """Read the store in this thread."""
    return work(*args)


def _finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits in this thread, and never for an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("the coroutine waits for an event loop")


def _since_boot() -> float:
    """Return the seconds since the machine was started, including those while suspended."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class SteadyClock:
    """Seconds since 1970: those of the system's clock at the start, counted on by another one.

    Where the system's clock is set, this one does not jump, nor does it ever go back: it goes at
    most 5 percent faster or slower until both agree again. ``wall`` is the system's clock and
    ``elapsed`` one that cannot be set.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = _since_boot,
    ) -> None:
        self._wall, self._elapsed = wall, elapsed
        self._at, self._now = elapsed(), wall()
        self._warned = float("-inf")
        self._lock = threading.Lock()

    def __call__(self) -> float:
        """Return the time."""
        with self._lock:
            at, wall = self._elapsed(), self._wall()
            passed = max(0.0, at - self._at)
            gap = wall - (self._now + passed)
            self._now += passed + min(max(gap, -CLOCK_RATE * passed), CLOCK_RATE * passed)
            self._at = at
            if abs(gap) > MAX_CLOCK_GAP and at - self._warned > CLOCK_WARNING:
                self._warned = at
                log.warning(
                    "the system's clock is %+.0f seconds from the service's, which it meets again "
                    "slowly; check who sets it",
                    gap,
                )
            return self._now
