"""Apply the log to models: after each commit, at the start, and on catching up."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from longrank.decision import Ranking
from longrank.errors import BadFile
from longrank.service.engine.model import Change, Model, read_spec
from longrank.service.errors import OtherVersion, Stopped, StoreDamaged, StoreFailed, Unknown
from longrank.service.store.records import (
    DECISION,
    OUTCOME,
    DecisionRecord,
    Entry,
    Snapshot,
    encode,
)
from longrank.service.store.sql import ModelRow
from longrank.service.store.store import Store
from longrank.service.store.writer import Append, acknowledge, refuse

log = logging.getLogger("longrank.service")
T = TypeVar("T")
Known = tuple[DecisionRecord, Ranking | None]  # with the receipt of what is played, if at hand
MAX_LEARNING = 32  # models that learn in the pool at the same time
MAX_INLINE = 0.002  # seconds that the writer may spend on a batch of a model
SAVING = 5.0  # seconds between two snapshots of a replay
_MAX_REPLAYED = 5000  # decisions kept in memory by a replay
_OFFERED = dict.fromkeys(("candidates", "items", "costs", "success_values", "records"))
_unpack = msgspec.msgpack.Decoder(DecisionRecord).decode


# after each commit


class Learners:
    """Threads for models that learn slowly, and how long each takes."""

    broken: str | None = None  # why learning stopped, if it did

    def __init__(self, models: Mapping[int, Model], recent: Recent) -> None:
        self._store, self._models, self._recent = recent.store, models, recent
        self._busy: dict[int, Any] = {}  # entries that models in the pool have yet to apply
        self._costs: dict[int, float] = {}  # seconds per outcome, by model
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(MAX_LEARNING, thread_name_prefix="longrank-learner")

    def learning(self, model: Model) -> bool:
        """Return whether a model has outcomes to learn that may take long."""
        return model.number in self._busy

    @contextmanager
    def _timed(self, model: Model) -> Iterator[None]:
        """Record the processor time that a model takes for an outcome."""
        before, started = model.view.learned, time.thread_time()
        yield
        learned = model.view.learned - before
        if learned:
            self._costs[model.number] = (time.thread_time() - started) / learned


class Applier(Learners):
    """Apply what is committed to the models in memory.

    An outcome is applied before it is acknowledged, and so before a repetition of it is. Where
    learning may take long, a thread of the pool does it, so that neither the writer nor other
    models wait; if it has been quick so far, the writer's own thread does. A decision is applied
    before it is acknowledged as well, unless its model is learning just then. The entries of a
    model are applied in the order of the log.
    """

    def committed(self, appends: list[Append]) -> list[Append]:
        """Take what the writer has committed; return what it may acknowledge now."""
        batches: dict[int, list[Append]] = {}
        for append in appends:
            batches.setdefault(append.draft.model, []).append(append)
        done: list[Append] = []
        for number, batch in batches.items():
            model = self._models.get(number)
            if model is None:  # deleted meanwhile
                done += batch
            elif not self._is_quick(model, batch):
                done += self._queue(model, batch)
            elif self._apply(model, batch):
                done += batch
            else:
                refuse(batch, StoreFailed(self.broken))
        return done

    def close(self) -> None:
        """Wait until all that was committed is applied."""
        self._pool.shutdown()

    def _is_quick(self, model: Model, batch: list[Append]) -> bool:
        """Return whether the writer may apply a batch itself: only the writer adds to the pool."""
        if model.number in self._busy:
            return False
        outcomes = sum(append.draft.kind == OUTCOME for append in batch)
        return outcomes * self._costs.get(model.number, 1.0) < MAX_INLINE

    def _queue(self, model: Model, batch: list[Append]) -> list[Append]:
        """Leave a batch to the pool; return what may be acknowledged now: the decisions."""
        self._recent.read_all(batch, (DECISION,))
        with self._lock:
            learning = model.number in self._busy
            self._busy.setdefault(model.number, []).extend(batch)
        if not learning:
            self._pool.submit(self._learn, model)
        return [append for append in batch if append.draft.kind == DECISION]

    def _learn(self, model: Model) -> None:
        """Apply the queue of a model until it is empty."""
        more = True
        while more:
            with self._lock:
                batch, self._busy[model.number] = self._busy[model.number], []
            outcomes = [append for append in batch if append.draft.kind == OUTCOME]
            applied = self._apply(model, batch)
            with self._lock:  # before acknowledging, so that the next decision is applied at once
                more = bool(self._busy[model.number])
                if not more:
                    del self._busy[model.number]
            if applied:
                acknowledge(outcomes)
            else:
                refuse(outcomes, StoreFailed(self.broken))

    def _apply(self, model: Model, batch: list[Append]) -> bool:
        """Apply a batch to its model and publish the result; return whether that worked."""
        if self.broken is not None:
            return False
        try:
            with self._timed(model):
                model.apply(self._recent.read_all(batch))
        except Exception:
            if is_deleted(self._store, model.number):  # the log is gone too, so nothing is lost
                return True
            self.broken = f"model {model.name!r} could not learn the log after entry {model.seq}"
            log.exception(self.broken)
            return False
        return True


def is_deleted(store: Store, number: int) -> bool:
    """Return whether the model was deleted; False if the store cannot be read."""
    try:
        return all(row.model != number for row in store.models())
    except Exception:
        return False


# at the start, and on catching up


class Progress:
    """Stops a replay on request, and saves its progress every few seconds.

    The next start continues from there, however often one is interrupted or killed.
    """

    def __init__(self, store: Store, stopping: threading.Event) -> None:
        self._store, self._stopping = store, stopping
        self._saved = time.monotonic()

    def step(self, model: Model) -> None:
        """Save if it is time; raise Stopped if the replay must stop."""
        stop = self._stopping.is_set()
        if stop or time.monotonic() - self._saved > SAVING:
            self.save(model)
        if stop:
            raise Stopped(f"stopped while the log of model {model.name!r} was replayed")

    def save(self, model: Model) -> None:
        """Save a snapshot of a model, if that saves a replay any work."""
        model.publish()
        if model.stats.outcomes > model.saved:
            self._store.save_snapshot(model.number, model.snapshot())
            model.saved = model.stats.outcomes
        self._saved = time.monotonic()


def replay(
    store: Store, row: ModelRow, *, fresh: bool = False, progress: Progress | None = None
) -> Model:
    """Return the model that the log defines, from its newest good snapshot.

    ``fresh`` begins with the oldest one: the first, unless the log after it was dropped. With
    ``progress`` a long replay stores snapshots. Unknown if the model has been deleted.
    """
    spec = read_spec(row.spec, row.name)

    def load(snapshot: Snapshot) -> Model:
        return Model(row.model, row.name, row.created, spec, snapshot)

    try:
        model = _load(store, row.model, row.name, row.floor, load, oldest=fresh)
        started = time.monotonic()
        catch_up(store, model, Recent(store, _MAX_REPLAYED), progress)
        if progress is not None and time.monotonic() - started > SAVING:
            progress.save(model)
    except StoreDamaged as error:
        if is_deleted(store, row.model):
            raise Unknown(f"there is no model {row.name!r} any more") from error
        raise
    return model


def catch_up(store: Store, model: Model, recent: Recent, progress: Progress | None = None) -> None:
    """Apply the rest of the log to a model."""
    while True:
        entries = store.after(model.number, model.seq)
        floor = store.floor(model.number)
        if floor > model.seq:  # another process dropped decisions that this one had not applied
            _load(store, model.number, model.name, floor, model.restore)
            continue
        if not entries:
            return
        try:
            changes = [recent.read(entry) for entry in entries]
            model.apply(changes, None if progress is None else progress.step)
        except StoreDamaged as error:
            raise type(error)(f"model {model.name!r}: {error}") from error


def _load(
    store: Store,
    number: int,
    name: str,
    floor: int,
    load: Callable[[Snapshot], T],
    *,
    oldest: bool = False,
) -> T:
    """Load the newest, or oldest, good snapshot from which the log is complete."""
    try:
        stored = store.snapshots(number)
    except StoreDamaged as error:
        raise type(error)(f"model {name!r} cannot be loaded: {error}") from error
    other: OtherVersion | None = None
    for snapshot in reversed(stored) if oldest else stored:
        if isinstance(snapshot, StoreDamaged):
            log.warning("model %s: %s; using another one", name, snapshot)
        elif snapshot.seq >= floor:
            try:
                return load(snapshot)
            except BadFile as error:  # intact, but written by another version
                log.warning("model %s: %s; using another one", name, error)
                if other is None:
                    other = OtherVersion(f"model {name!r} cannot be loaded: {error}")
                    other.__cause__ = error
    if other is not None:
        raise other
    raise StoreDamaged(
        f"model {name!r} has no good snapshot from which its log is complete (entry {floor} or "
        "later); restore the store from a backup"
    )


class Recent:
    """The last ``size`` decisions, in memory because most outcomes come soon.

    They are packed: many small objects would slow down the allocations of later requests. The
    candidates that a model stores are left out: no outcome needs them, and reading many is slow.
    """

    def __init__(self, store: Store, size: int) -> None:
        self.store, self._size = store, size
        self._known: OrderedDict[tuple[int, str], tuple[Entry, Ranking | None]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, entry: Entry, known: Any = None) -> Change:
        """Return what an entry of the log changes; keep it in memory if it is a decision.

        ``known`` is what the entry's draft knew (see :class:`Draft`), None to read it from the log.
        """
        if entry.kind == OUTCOME:
            return Change(entry.seq, *(known or self._settled(entry)))
        decision, receipt, choice = known or (entry.decision(), None, None)
        if decision.candidates is not None:
            decision = msgspec.structs.replace(decision, **_OFFERED)
            entry = entry._replace(body=encode(decision))
        with self._lock:
            self._known[entry.model, entry.id] = entry, receipt
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        return Change(entry.seq, decision, choice)

    def read_all(
        self, appends: Iterable[Append], kinds: Container[int] = (DECISION, OUTCOME)
    ) -> list[Change]:
        """Return what appends of these kinds changed; nothing if they are duplicates."""
        return [
            self.read(append.result, append.draft.known)
            for append in appends
            if append.draft.kind in kinds and isinstance(append.result, Entry)
        ]

    def known(self, model: int, name: str) -> Known | None:
        """Return a decision by its id, None if it is not in memory."""
        if (found := self._known.get((model, name))) is None:
            return None
        entry, receipt = found
        return msgspec.structs.replace(_unpack(entry.body), seq=entry.seq), receipt

    def find(self, model: int, name: str) -> Known | None:
        """Return a decision by its id, None if it does not exist."""
        known = self.known(model, name)
        if known is not None:
            return known
        entry, _ = self.store.find(model, name)
        return None if entry is None else (entry.decision(), None)

    def _settled(self, entry: Entry) -> Known:
        """Return the decision whose outcome an entry holds, with that outcome."""
        known = self.find(entry.model, entry.id)
        if known is None:
            raise StoreDamaged(
                f"the outcome in log entry {entry.seq} has lost its decision {entry.id!r}; "
                "restore the store from a backup"
            )
        return msgspec.structs.replace(known[0], outcome=entry.outcome()), known[1]

    def clear(self) -> None:
        """Forget all decisions, as some are no longer in the store."""
        with self._lock:
            self._known.clear()
