"""Follow a log that several processes append to: each applies all of it to its own models."""

import logging
import threading
from collections.abc import Callable, Mapping
from itertools import accumulate

from longrank.service.engine.apply import Learners, Progress, Recent, catch_up, is_deleted
from longrank.service.engine.model import Model
from longrank.service.errors import ServiceError, Stopped
from longrank.service.store.records import DECISION, OUTCOME, Entry
from longrank.service.store.writer import Append

log = logging.getLogger("longrank.service")
MAX_INLINE = 0.05  # seconds that the follower may spend on the entries of a model
MAX_ENTRIES, MAX_BYTES = 1000, 16 << 20  # that are read at once
MAX_OWN = 10_000  # this process's own entries, not read again from the log
Suspend = Callable[[int, str, Exception], None]
Item = tuple[Entry, object]  # an entry, and what its draft knew


class Follower(Learners):
    """Apply what any process has committed to the models in memory, a moment later.

    The log determines the state of a model, so processes need not exchange any; one that was
    stopped, or cut off, continues from where it was. A model that learns slowly does so
    in a thread of its own, and others do not wait. ``suspend`` is called with a model that cannot
    be followed; it raises what is not the model's fault.
    """

    def __init__(
        self,
        models: Mapping[int, Model],
        recent: Recent,
        suspend: Suspend,
        stopping: threading.Event,
    ) -> None:
        super().__init__(models, recent)
        self._suspend, self._stopping = suspend, stopping
        self._position: int | None = None  # entries up to this one are applied to all models
        self._followed: dict[int, Model] = {}
        self._own: dict[int, Append] = {}
        self._following = threading.Lock()

    def committed(self, appends: list[Append]) -> list[Append]:
        """Take what this process has committed; all of it may be acknowledged."""
        self._recent.read_all(appends, (DECISION,))
        if len(self._own) > MAX_OWN:  # too many: the follower reads them from the log
            self._own.clear()
        for append in appends:
            if isinstance(append.result, Entry):
                self._own[append.result.seq] = append
        return appends

    def follow(self) -> None:
        """Apply what has been committed since the last time."""
        with self._following:
            last = self._store.last_seq()
            for number in set(self._followed) - set(self._models):
                self._followed.pop(number, None)
            for model in list(self._models.values()):
                if self._followed.get(model.number) is not model:  # it is new here
                    self._catch_up(model)
            if self._position is None:
                self._position = last
            if last > self._position:
                for number in self._store.dropped_beyond(self._position):
                    if number in self._followed:
                        self._catch_up(self._followed[number])
            while last > self._position:
                self._position = self._read(self._position, last)

    def close(self) -> None:
        """Stop learning; the next start goes on from the log."""
        self._pool.shutdown(cancel_futures=True)

    def _read(self, position: int, last: int) -> int:
        """Apply the next entries, up to the last one; return the number of the last applied."""
        listed = self._store.heads(position, last, MAX_ENTRIES)
        sizes = accumulate(size for _, _, size in listed)
        heads = [head for head, size in zip(listed, sizes, strict=True) if size <= MAX_BYTES]
        heads = heads or listed[:1]
        items: dict[int, Item] = {}
        wanted: dict[int, Model] = {}
        for seq, number, _ in heads:
            append, model = self._own.pop(seq, None), self._followed.get(number)
            if append is not None:
                items[seq] = append.result, append.draft.known
            if model is not None and seq > model.seq:
                wanted[seq] = model
        missing = [seq for seq in wanted if seq not in items]  # those of other processes
        if missing:
            for entry in self._store.between(missing[0] - 1, missing[-1]):
                items.setdefault(entry.seq, (entry, None))
        batches: dict[Model, list[Item]] = {}
        for seq, model in wanted.items():
            if seq in items:  # and not dropped meanwhile
                batches.setdefault(model, []).append(items[seq])
        for model, batch in batches.items():
            self._take(model, batch)
        return last if len(heads) == len(listed) < MAX_ENTRIES else heads[-1][0]

    def _take(self, model: Model, batch: list[Item]) -> None:
        """Apply entries to their model, in the pool if that may take long."""
        outcomes = sum(entry.kind == OUTCOME for entry, _ in batch)
        quick = outcomes * self._costs.get(model.number, 0.0) < MAX_INLINE
        with self._lock:
            learning = model.number in self._busy
            if learning or not quick:
                self._busy[model.number] = batch[-1][0].seq
        if not learning and not quick:
            self._pool.submit(self._learn, model)
        elif not learning:
            self._apply(model, batch)

    def _apply(self, model: Model, batch: list[Item]) -> None:
        try:
            with self._timed(model):
                model.apply([self._recent.read(*item) for item in batch])
        except Exception as error:
            self._failed(model, error)

    def _catch_up(self, model: Model) -> None:
        """Apply the rest of the log to a model that no other thread is teaching."""
        if self.learning(model):
            return
        try:
            catch_up(self._store, model, self._recent, Progress(self._store, self._stopping))
            self._followed[model.number] = model
        except Stopped:
            raise
        except Exception as error:
            self._failed(model, error)

    def _learn(self, model: Model) -> None:
        """Apply the rest of the log to a slow model, until no more has come meanwhile."""
        try:
            more = True
            while more:
                goal, progress = self._busy[model.number], Progress(self._store, self._stopping)
                with self._timed(model):
                    catch_up(self._store, model, self._recent, progress)
                with self._lock:
                    more = self._busy[model.number] != goal
                    if not more:
                        del self._busy[model.number]
        except Stopped:
            pass  # the next start goes on from the log
        except Exception as error:
            with self._lock:
                self._busy.pop(model.number, None)
            try:
                self._failed(model, error)
            except ServiceError as passing:
                log.warning("model %s: %s; it catches up later", model.name, passing)

    def _failed(self, model: Model, error: Exception) -> None:
        self._followed.pop(model.number, None)  # once it can be used it catches up from the log
        if not is_deleted(self._store, model.number):
            self._suspend(model.number, model.name, error)
