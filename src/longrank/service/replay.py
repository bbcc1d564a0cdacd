"""From the log to a model: the newest good snapshot, then every entry after it."""

from __future__ import annotations

import logging

from longrank.errors import BadFile
from longrank.service.errors import StoreDamaged
from longrank.service.models import Model, read_spec
from longrank.service.records import DECISION, DecisionRecord
from longrank.service.store import ModelRow, Store

log = logging.getLogger("longrank.service")
_CACHED = 5000


def replay(store: Store, row: ModelRow, *, fresh: bool = False) -> Model:
    """The model as the log says that it is; ``fresh`` takes the oldest start that there is."""
    model = Model(row.model, row.name, row.created, read_spec(row.spec))
    if not fresh or row.floor:
        _restore(store, model, row.floor, fresh)
    decisions: dict[str, DecisionRecord] = {}
    while entries := store.after(model.number, model.seq):
        for entry in entries:
            if entry.kind == DECISION:
                if len(decisions) >= _CACHED:
                    decisions.pop(next(iter(decisions)))
                decisions[entry.id] = entry.decision()
                model.decide(entry.seq, decisions[entry.id])
                continue
            decision = decisions.get(entry.id)
            if decision is None:
                found, _ = store.find(model.number, entry.id)
                if found is None:
                    raise StoreDamaged(
                        f"the outcome in log entry {entry.seq} has lost its decision "
                        f"{entry.id!r}; restore the store from a backup"
                    )
                decision = found.decision()
            model.settle(entry.seq, decision, entry.outcome())
    return model


def _restore(store: Store, model: Model, floor: int, oldest: bool) -> None:
    found = list(store.snapshots(model.number))
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
