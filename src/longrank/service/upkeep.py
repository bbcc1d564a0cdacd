"""Background work: snapshots, expiry, retention, catching up with other processes."""

import logging
import threading
import time
from collections.abc import Callable

from longrank.service.engine import settle
from longrank.service.engine.engine import Engine
from longrank.service.engine.keys import Keys
from longrank.service.engine.model import Model
from longrank.service.errors import Busy, NotReady, ServiceError, Stopped, StoreFailed, Unknown

log = logging.getLogger("longrank.service")
TICK = 0.1  # seconds
RENEWAL = 0.5  # seconds between two renewals of the leases
REFRESHING = 0.25  # seconds between two reads of the keys
MAX_EXPIRING = 1.0  # seconds a model may spend on missing outcomes before it is another's turn
RETENTION = 60.0  # seconds between two runs of retention
SHARE = 0.1  # share of a model's decisions that may expire or be dropped per period
MIN_EXPIRING, MIN_DROPPED = 10, 1000  # or this many decisions, if that is more
PERIOD = 60.0  # seconds
PROBE = 1.0  # seconds between two attempts to write to a store that has failed


class Upkeep:
    """Threads that do an engine's background work, every tenth of a second.

    ``finished`` is the time of the monotonic clock at which models had last been looked after.

    Where other processes write too, threads of their own follow the log, renew the leases and read
    the keys, so that none of this waits for slow work.
    """

    def __init__(self, engine: Engine, keys: Keys | None = None) -> None:
        self._engine, self._keys = engine, keys
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._dropped = engine.clock()
        self._probed = 0.0
        self._allowed: dict[int, tuple[float, int]] = {}  # since when, and how many more expire
        self._failing: dict[int, float] = {}  # time before which a model is skipped
        self.finished = time.monotonic()

    def start(self) -> None:
        """Start the threads."""
        self.finished = time.monotonic()
        work = [("upkeep", self.keep, TICK)]
        if not self._engine.store.exclusive:
            work.append(("follower", self._engine.follow, TICK))
            work.append(("leases", self._engine.renew, RENEWAL))
            if self._keys is not None:
                work.append(("keys", self._keys.refresh, REFRESHING))
        for each in work:
            name = f"longrank-{each[0]}"
            thread = threading.Thread(target=self._run, args=each, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop the threads and wait for them."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self, name: str, once: Callable[[], None], tick: float) -> None:
        while not self._stopping.is_set():
            try:
                once()
                if once == self.keep:
                    self.finished = time.monotonic()
            except Stopped:
                return
            except ServiceError as error:
                log.warning("%s: %s", name, error)
            except Exception:
                log.exception("%s: unexpected error; it goes on", name)
            self._stopping.wait(tick)

    def keep(self) -> None:
        """Save snapshots, expire decisions and drop old ones, of the models led by this process."""
        engine = self._engine
        if not engine.ready or engine.broken:
            return
        self._probe()
        now = engine.clock()
        retain = now - self._dropped >= RETENTION
        if retain:
            self._dropped = now
        for model in filter(engine.leads, engine.models()):
            if self._failing.get(model.number, 0.0) > time.monotonic():
                continue
            try:
                self._keep(model, now, retain)
            except (Busy, NotReady, StoreFailed):
                raise  # the others would fail, too
            except Unknown:
                continue  # deleted meanwhile
            except Exception:
                self._failing[model.number] = time.monotonic() + RETENTION
                log.exception(
                    "upkeep of model %s failed; the others go on, and it is tried again in %g "
                    "seconds",
                    model.name,
                    RETENTION,
                )

    def _keep(self, model: Model, now: float, retain: bool) -> None:
        """Do what is due for a model."""
        engine, request = self._engine, model.spec.request
        if model.stats.outcomes - model.saved >= engine.snapshot_every:
            engine.save(model)
        if request.missing == "failed":
            self._expire(model, now)
        if retain and request.keep is not None:
            limit = max(MIN_DROPPED, int(SHARE * engine.store.count(model.number)))
            engine.drop(model.name, request.keep, limit)

    def _probe(self) -> None:
        """Write to a store that has failed, in case nothing else does."""
        now = time.monotonic()
        if self._engine.store.writer.failing is not None and now - self._probed >= PROBE:
            self._probed = now
            self._engine.store.probe()

    def _expire(self, model: Model, now: float) -> None:
        """Log the outcomes that are missing; the rest later if learning takes long.

        A clock that was wrong at the start can make all decisions look expired. So only a share of
        those that wait for an outcome expires in a period.
        """
        engine, deadline = self._engine, time.monotonic() + MAX_EXPIRING
        while overdue := engine.store.overdue(model.number, model.swept, now):
            for entry in overdue:
                left = deadline - time.monotonic()
                if left < 0.0 or engine.learning(model) or not self._may_expire(model):
                    return
                try:
                    settle.expire(model, entry, engine.store, engine.clock(), left)
                except TimeoutError:
                    return
            if len(overdue) < 500:
                break
        model.swept = now

    def _may_expire(self, model: Model) -> bool:
        """Count a decision that is about to expire; return whether it may in this period."""
        now = time.monotonic()
        since, left = self._allowed.get(model.number, (-PERIOD, 0))
        if now - since >= PERIOD:
            waiting = self._engine.store.pending(model.number, 0.0)
            since, left = now, max(MIN_EXPIRING, int(SHARE * waiting))
            if waiting > left:
                log.info("model %s: at most %d missing outcomes a minute", model.name, left)
        self._allowed[model.number] = since, max(0, left - 1)
        return left > 0
