"""Following the log: every model is where the log is, whichever process wrote it."""

from __future__ import annotations

import logging
from typing import Any

from longrank.service.catalog import Catalog
from longrank.service.errors import StoreFailed
from longrank.service.recent import Recent
from longrank.service.records import DECISION, Entry
from longrank.service.replay import apply, catch_up
from longrank.service.store import Store

log = logging.getLogger("longrank.service")


class Following:
    """Applies what is committed. ``broken`` says why it had to stop, where it had to."""

    def __init__(self, store: Store, catalog: Catalog, recent: Recent) -> None:
        self._store, self._catalog, self._recent = store, catalog, recent
        self.broken: str | None = None

    def committed(self, entries: list[tuple[Entry, Any]]) -> None:
        """In the writer's thread, after a commit and before it is acknowledged."""
        for entry, known in entries:
            model = self._catalog.numbered(entry.model)
            if model is None:
                continue
            if entry.kind == DECISION:
                if known is None:
                    known = (entry.decision(), None)
                self._recent.remember(entry, known[0])
            if self._store.exclusive:
                try:
                    apply(model, entry, self._recent, known)
                except Exception as error:
                    self.broken = f"model {model.name!r} could not learn entry {entry.seq}"
                    log.exception(self.broken)
                    raise StoreFailed(self.broken) from error

    def follow(self) -> None:
        """Keep up with other processes; those who hold a model's lock apply and publish."""
        self._catalog.refresh()
        for model in self._catalog.all():
            if self._store.lead(model.number):
                before = model.seq
                catch_up(self._store, model, self._recent)
                if model.seq > before:
                    self._store.publish(model.number, model.snapshot())
            elif (newer := self._store.published(model.number, model.seq)) is not None:
                model.restore(newer)
