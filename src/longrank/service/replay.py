"""From the log to a model: the newest good snapshot, then every entry after it."""

from __future__ import annotations

import logging
from typing import Any

from longrank.errors import BadFile
from longrank.service.errors import StoreDamaged
from longrank.service.models import Model
from longrank.service.recent import Recent
from longrank.service.records import DECISION, Entry
from longrank.service.specs import read_spec
from longrank.service.store import Store
from longrank.service.tables.models import ModelRow

log = logging.getLogger("longrank.service")
_AT_HAND = 5000


def replay(store: Store, row: ModelRow, *, fresh: bool = False) -> Model:
    """The model as the log says that it is; ``fresh`` takes the oldest start that there is."""
    model = Model(row.model, row.name, row.created, read_spec(row.spec))
    if not fresh or row.floor:
        _restore(store, model, row.floor, fresh)
    catch_up(store, model, Recent(store, _AT_HAND))
    return model


def catch_up(store: Store, model: Model, recent: Recent) -> None:
    """Let a model follow the log to its end."""
    while True:
        entries = store.after(model.number, model.seq)
        floor = store.floor(model.number)
        if floor > model.seq:  # another process dropped decisions that this one had not learned
            _restore(store, model, floor)
            continue
        if not entries:
            return
        for entry in entries:
            if entry.kind == DECISION:
                record = entry.decision()
                recent.remember(entry, record)
                apply(model, entry, recent, (record, None))
            else:
                apply(model, entry, recent)


def apply(model: Model, entry: Entry, recent: Recent, known: Any = None) -> None:
    """Let a model follow the log by one entry; ``known`` is what its draft says is known of it.

    Of an outcome it can be missing.
    """
    if entry.seq <= model.seq:
        return
    if entry.kind == DECISION:
        model.decide(entry.seq, *known)
        return
    if known is None:
        decided = recent.find(model.number, entry.id)
        if decided is None:
            raise StoreDamaged(
                f"the outcome in log entry {entry.seq} has lost its decision {entry.id!r}; "
                "restore the store from a backup"
            )
        known = (entry.outcome(), decided[1])
    outcome, record = known
    model.settle(entry.seq, record, outcome)


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
