"""Background work: snapshots, expiry, retention, catching up with other processes."""

from __future__ import annotations

import logging
import threading
import time

from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.errors import Busy, NotReady, ServiceError, StoreFailed, Unknown

log = logging.getLogger("longrank.service")
TICK = 0.1  # seconds
MAX_EXPIRING = 1.0  # seconds that a model may spend on missing outcomes before others have a turn
RETENTION = 60.0  # seconds between two runs of retention


class Upkeep:
    """A thread that does an engine's background work, every tenth of a second.

    ``finished`` is the time of the monotonic clock at which it had last done all of it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._dropped = engine.clock()
        self.finished = time.monotonic()
        self._failing: dict[int, float] = {}  # until when a model is left alone

    def start(self) -> None:
        """Start the thread."""
        self.finished = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="longrank-upkeep", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(TICK):
            try:
                self.once()
                self.finished = time.monotonic()
            except ServiceError as error:
                log.warning("upkeep: %s", error)
            except Exception:
                log.exception("upkeep: unexpected error; it goes on")

    def once(self) -> None:
        """Do everything that is due."""
        engine = self._engine
        if not engine.ready or engine.broken:
            return
        if not engine.store.exclusive:
            engine.follow()
        now = engine.clock()
        retain = now - self._dropped >= RETENTION
        if retain:
            self._dropped = now
        for model in engine.models():
            if self._failing.get(model.number, 0.0) > time.monotonic():
                continue
            try:
                self._look_after(model, now, retain)
            except (Busy, NotReady, StoreFailed):
                raise  # the others would fail as well
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

    def _look_after(self, model: Model, now: float, retain: bool) -> None:
        """Do what is due for a model."""
        engine, terms = self._engine, model.spec.request
        if model.stats.outcomes - model.saved >= engine.snapshot_every:
            engine.save(model)
        if terms.missing == "failed":
            self._expire(model, now)
        if retain and terms.keep is not None:
            engine.drop(model.name, terms.keep)

    def _expire(self, model: Model, now: float) -> None:
        """Log the outcomes that are missing; the rest in the next tick if learning takes long."""
        engine, deadline = self._engine, time.monotonic() + MAX_EXPIRING
        while overdue := engine.store.overdue(model.number, model.swept, now):
            for entry in overdue:
                left = deadline - time.monotonic()
                if left < 0.0 or engine.learning(model):
                    return
                try:
                    engine.expire(model, entry, timeout=left)
                except TimeoutError:
                    return
            if len(overdue) < 500:
                break
        model.swept = now
