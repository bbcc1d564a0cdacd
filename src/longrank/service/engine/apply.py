"""Apply the log to models: after each commit, at the start, and behind other processes."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from longrank.errors import BadFile
from longrank.service.engine.model import Model, read_spec
from longrank.service.errors import StoreDamaged, StoreFailed
from longrank.service.store.records import DECISION, DecisionRecord, Entry
from longrank.service.store.sql import ModelRow
from longrank.service.store.store import Store

log = logging.getLogger("longrank.service")
_REPLAYED = 5000  # decisions kept in memory by a replay

Decided = tuple[Entry, DecisionRecord]


def apply(model: Model, entry: Entry, recent: Recent, known: Any = None) -> None:
    """Apply one entry of the log to its model: the only way in which a model changes.

    ``known`` is what the entry's draft knew (see :class:`Draft`), None to read it from the log.
    """
    if entry.kind == DECISION:
        record, choice = known or (entry.decision(), None)
        recent.remember(entry, record)
        if entry.seq > model.seq:
            model.decide(entry.seq, record, choice)
    elif entry.seq > model.seq:
        outcome, record = known or (entry.outcome(), recent.decision_of(entry))
        model.settle(entry.seq, record, outcome)


def replay(store: Store, row: ModelRow, *, fresh: bool = False) -> Model:
    """Return the model that the log defines, from its newest good snapshot.

    ``fresh`` starts from the beginning of the log, or the oldest snapshot where it was dropped.
    """
    model = Model(row.model, row.name, row.created, read_spec(row.spec))
    if not fresh or row.floor:
        _restore(store, model, row.floor, fresh)
    catch_up(store, model, Recent(store, _REPLAYED))
    return model


def catch_up(store: Store, model: Model, recent: Recent) -> None:
    """Apply the rest of the log to a model."""
    while True:
        entries = store.after(model.number, model.seq)
        floor = store.floor(model.number)
        if floor > model.seq:  # another process dropped decisions that this one had not applied
            _restore(store, model, floor)
            continue
        if not entries:
            return
        for entry in entries:
            apply(model, entry, recent)


def _restore(store: Store, model: Model, floor: int, oldest: bool = False) -> None:
    found = store.snapshots(model.number)
    for snapshot in reversed(found) if oldest else found:
        if isinstance(snapshot, StoreDamaged):
            log.warning("model %s: %s; using an older one", model.name, snapshot)
        elif snapshot.seq >= floor:
            try:
                model.restore(snapshot)
                return
            except BadFile as error:
                log.warning("model %s: %s; using an older one", model.name, error)
    if floor:
        raise StoreDamaged(
            f"model {model.name!r} has no good snapshot, and the log before entry {floor} was "
            "dropped; restore the store from a backup"
        )


class Applier:
    """Apply what is committed, by this process or by others, to the models in memory.

    ``broken`` says why it had to stop, if it had to.
    """

    def __init__(self, store: Store, models: Mapping[int, Model], recent: Recent) -> None:
        self._store, self._models, self._recent = store, models, recent
        self.broken: str | None = None

    def committed(self, entries: list[tuple[Entry, Any]]) -> None:
        """Apply entries, each with what is known of it, before they are acknowledged.

        Runs in the writer's thread. Where other processes write too, :meth:`follow` applies them.
        """
        for entry, known in entries:
            model = self._models.get(entry.model)
            if model is None:
                continue
            if not self._store.exclusive:
                if entry.kind == DECISION:
                    self._recent.remember(entry, known[0] if known else entry.decision())
                continue
            try:
                apply(model, entry, self._recent, known)
            except Exception as error:
                self.broken = f"model {model.name!r} could not learn entry {entry.seq}"
                log.exception(self.broken)
                raise StoreFailed(self.broken) from error

    def follow(self, model: Model) -> None:
        """Catch up with other processes: whoever holds the model's lock applies and publishes."""
        if self._store.lead(model.number):
            before = model.seq
            catch_up(self._store, model, self._recent)
            if model.seq > before:
                self._store.publish(model.number, model.snapshot())
        elif (newer := self._store.published(model.number, model.seq)) is not None:
            model.restore(newer)


class Recent:
    """The last ``size`` decisions in memory, as most outcomes come soon; the rest in the store."""

    def __init__(self, store: Store, size: int) -> None:
        self.store, self._size = store, size
        self._known: OrderedDict[tuple[int, str], Decided] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, entry: Entry, record: DecisionRecord) -> None:
        """Keep a decision in memory, without the bytes that the record was read from."""
        with self._lock:
            self._known[entry.model, entry.id] = (Entry(*entry[:6], body=b""), record)
            if len(self._known) > self._size:
                self._known.popitem(last=False)

    def find(self, model: int, name: str) -> Decided | None:
        """Return a decision by its id, None if there is none."""
        known = self._known.get((model, name))
        if known is not None:
            return known
        decided, _ = self.store.find(model, name)
        return None if decided is None else (decided, decided.decision())

    def decision_of(self, outcome: Entry) -> DecisionRecord:
        """Return the decision that an outcome belongs to."""
        found = self.find(outcome.model, outcome.id)
        if found is None:
            raise StoreDamaged(
                f"the outcome in log entry {outcome.seq} has lost its decision {outcome.id!r}; "
                "restore the store from a backup"
            )
        return found[1]

    def clear(self) -> None:
        """Forget all decisions, as some are no longer in the store."""
        with self._lock:
            self._known.clear()
