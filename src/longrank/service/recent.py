"""Decisions at hand: the recent ones in memory, as most outcomes come soon; all in the store."""

from __future__ import annotations

import threading
from collections import OrderedDict

from longrank.service.records import DecisionRecord, Entry
from longrank.service.store import Store

Decided = tuple[Entry, DecisionRecord]


class Recent:
    """The last ``most`` decisions that were remembered, and a way to the others."""

    def __init__(self, store: Store, most: int) -> None:
        self._store, self._most = store, most
        self._known: OrderedDict[tuple[int, str], Decided] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, entry: Entry, record: DecisionRecord) -> None:
        """Keep it at hand; what its entry's bytes say stands in the record."""
        with self._lock:
            self._known[entry.model, entry.id] = (Entry(*entry[:6], body=b""), record)
            if len(self._known) > self._most:
                self._known.popitem(last=False)

    def find(self, model: int, name: str) -> Decided | None:
        """A decision by its id, None if there is none."""
        known = self._known.get((model, name))
        if known is not None:
            return known
        decided, _ = self._store.find(model, name)
        return None if decided is None else (decided, decided.decision())

    def clear(self) -> None:
        """Forget all of them, as some are no longer in the store."""
        with self._lock:
            self._known.clear()
