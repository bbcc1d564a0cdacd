"""Reading: models and decisions as they are told."""

from __future__ import annotations

import time
from collections.abc import Callable

from longrank.errors import InvalidInput
from longrank.service import answers, messages
from longrank.service.errors import Unknown
from longrank.service.models import Model
from longrank.service.store import Store

_QUICK = 0.02  # seconds: counting that takes no longer is done each time
_REST = 20  # counting takes at most this part of the time


class Reading:
    """Reads a store; changes nothing."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._counted: dict[int, tuple[float, float, int]] = {}

    def read(self, model: Model, decision: str) -> messages.DecisionRead:
        """A decision with its explanation, outcome and history."""
        decided, settled = self._store.find(model.number, decision)
        if decided is None:
            raise Unknown(f"there is no decision {decision!r}")
        return answers.read(decided, settled, model.name, self._clock())

    def latest(self, model: Model, cursor: str | None, limit: int) -> messages.DecisionList:
        """Decisions, newest first."""
        before = None
        if cursor is not None:
            if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
                raise InvalidInput("cursor", "be one that a list gave", repr(cursor))
            before = int(cursor)
        found = self._store.latest(model.number, before, limit + 1)
        now = self._clock()
        shown = [answers.summary(entry, settled, now) for entry, settled in found[:limit]]
        more = len(found) > limit
        return messages.DecisionList(shown, str(found[limit - 1][0].seq) if more else None)

    def describe(self, model: Model) -> messages.Model:
        """What is told of a model."""
        return answers.model(model, self.pending(model))

    def pending(self, model: Model) -> int:
        """Decisions that wait for an outcome; where counting takes long, a recent number."""
        now = time.perf_counter()
        counted, cost, number = self._counted.get(model.number, (0.0, 0.0, 0))
        if cost > _QUICK and now - counted < _REST * cost:
            return number
        number = self._store.pending(model.number, self._clock())
        done = time.perf_counter()
        self._counted[model.number] = (done, done - now, number)
        return number
