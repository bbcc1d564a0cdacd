"""A model in memory: its spec, its policy, its statistics, and its place in the log."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

from longrank.decision import Outcome, Ranking
from longrank.errors import BadFile, InvalidInput
from longrank.payoffs import Payoffs
from longrank.policies import Policy, Randomised, from_bytes
from longrank.policies.base import Candidates, Context
from longrank.policies.learning import LearningPolicy
from longrank.schema import Schema
from longrank.service.engine.stats import Stats
from longrank.service.errors import OtherVersion, StoreDamaged
from longrank.service.messages import ModelRequest
from longrank.service.store.records import DecisionRecord, Snapshot, state_hash
from longrank.warming import columns_of

SPEC_VERSION = 1
_UNLOCKED = nullcontext()
MAX_UNCOUNTED = 64  # entries that wait until the statistics are read


class Spec(msgspec.Struct, frozen=True):
    """What a model was created with, as it is stored."""

    request: ModelRequest
    seed: int
    version: int = SPEC_VERSION


class _Version(msgspec.Struct):
    version: int


def read_spec(data: bytes, model: str) -> Spec:
    """Unpack the spec of a model; OtherVersion if a newer longrank wrote it."""
    try:
        written = msgspec.json.decode(data, type=_Version).version
        if written > SPEC_VERSION:
            raise OtherVersion(
                f"the spec of model {model!r} has version {written}; this longrank reads versions "
                f"up to {SPEC_VERSION}: upgrade longrank"
            )
        return msgspec.json.decode(data, type=Spec)
    except msgspec.ValidationError as error:
        raise OtherVersion(
            f"the spec of model {model!r} was written by another version of longrank: {error}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreDamaged(f"the spec of model {model!r} cannot be read: {error}") from error


class Change(NamedTuple):
    """An entry of the log as a model applies it: a decision, with its outcome if that is the entry.

    ``ranking`` is the receipt, of a decision that of the model's own choice; None if it is not at
    hand.
    """

    seq: int
    record: DecisionRecord
    ranking: Ranking | None


class View(NamedTuple):
    """A model's state after an entry of the log, to rank with; immutable."""

    policy: Policy
    learned: int  # the number of outcomes it has learned from
    seq: int


class _Seed(ISeedSequence):
    """Seeds a generator with the 256 bits of a digest, nine times as fast as a SeedSequence."""

    def __init__(self, digest: bytes) -> None:
        self._digest = digest

    def generate_state(self, n_words: int, dtype: Any = np.uint64) -> NDArray[Any]:
        return np.frombuffer(self._digest, np.dtype("<u8")).astype(dtype)[:n_words]


def generator(seed: int, name: str) -> np.random.Generator:
    """Return the generator of a model with this seed for the decision with this id."""
    digest: Any = _Seed(hashlib.sha256(f"{seed} {name}".encode()).digest())
    return np.random.Generator(np.random.PCG64(digest))


class Model:
    """A model that ranks and learns.

    The policy follows the log; one thread at a time applies its entries. Rankings read ``view``,
    the last published state, without locks. The statistics are brought up to the view when they
    are read.
    """

    policy: Policy
    seq: int  # the last entry that was applied
    saved: int  # outcomes at the last snapshot
    view: View
    _learned: int  # outcomes, also of what is not published yet

    def __init__(
        self, number: int, name: str, created: float, spec: Spec, snapshot: Snapshot
    ) -> None:
        self.number, self.name, self.created, self.spec = number, name, created, spec
        self.swept = 0.0  # decisions that expired before this time were handled
        self._encoding = threading.Lock()  # views of a schema share a memo
        self._counting = threading.Lock()
        self.restore(snapshot)

    @property
    def version(self) -> int:
        """The number of outcomes it has learned from."""
        return self.view.learned

    @property
    def stats(self) -> Stats:
        """A copy of the statistics as of the view."""
        return self.published()[1]

    @property
    def schema(self) -> Schema | None:
        """How records become rows, as it was published; None where there are none."""
        policy, arrays = self.view.policy, self.spec.request.dim is not None
        if arrays or not isinstance(policy, LearningPolicy) or not policy.features.sparse:
            return None
        return policy.schema

    def rank(
        self,
        items: Candidates,
        payoffs: Payoffs,
        budget: int,
        name: str,
        context: Context | None = None,
    ) -> tuple[Ranking, int, NDArray[np.float64] | None]:
        """Return a ranking, the version that made it, and its propensities if it was random.

        ``context`` is given where candidates are records. A randomised policy draws from the
        model's seed and the decision's id, so that the answer does not depend on which process
        gives it.
        """
        policy, learned, _ = self.view
        spec = self.spec
        width = spec.request.dim
        misfit = width is not None and len(items) and items.shape[1] != width
        if misfit and columns_of(policy) is None:  # it does not check that itself
            raise InvalidInput("features", f"have {width} columns", items.shape[1])
        rng = None if policy.rng is None else generator(spec.seed, name)
        probe = spec.request.mode != "frozen"
        given = {} if context is None else {"context": context}
        with self._encoding if given else _UNLOCKED:
            ranking = policy.propose(items, payoffs, budget, rng=rng, probe=probe, **given)
            propensities = None
            if rng is not None and isinstance(policy, Randomised):
                propensities = policy.propensities(items, payoffs, ranking.order, budget, **given)
        return ranking, learned, propensities

    def receipt(
        self, items: Candidates, order: list[int], payoffs: Payoffs, context: Context | None = None
    ) -> Ranking:
        """Return the receipt of a sequence that the caller chose."""
        given = {} if context is None else {"context": context}
        with self._encoding if given else _UNLOCKED:
            return self.view.policy.receipt(items, payoffs, order, **given)

    def apply(
        self, changes: Iterable[Change], after_each: Callable[[Model], None] | None = None
    ) -> None:
        """Apply entries of the log, in its order: the only way in which a model changes."""
        for seq, record, ranking in changes:
            if seq <= self.seq:
                continue
            if record.outcome is None:
                self.decide(record, ranking)
            else:
                self.settle(record, record.receipt() if ranking is None else ranking)
            self._uncounted.append((seq, record))
            self.seq = seq
            if after_each is not None:
                after_each(self)
        self.publish()

    def decide(self, decision: DecisionRecord, choice: Ranking | None) -> None:
        """Pass a decision, and its own choice, to the policy."""
        if decision.mode != "frozen":
            choice = decision.choice if choice is None else choice
            self._changed |= self.policy.record_decision(choice)

    def settle(self, decision: DecisionRecord, receipt: Ranking) -> None:
        """Learn from the outcome of a decision, but not from what is not attributable."""
        outcome = decision.outcome
        assert outcome is not None
        if not outcome.learn:
            return
        tried, costs = outcome.tried, outcome.paid if outcome.reported else None
        if not outcome.attributable or outcome.not_attributable:
            last = tried if outcome.succeeded else 0
            left_out = outcome.not_attributable if outcome.attributable else range(1, tried + 1)
            kept = [i for i in range(tried) if i + 1 == last or i + 1 not in left_out]
            receipt, tried = receipt.subset(kept), len(kept)
            costs = None if costs is None else [costs[i] for i in kept]
        reported = Outcome(tried, outcome.succeeded, None if costs is None else tuple(costs))
        self.policy.learn(receipt, reported)
        self._learned, self._changed = self._learned + 1, True

    def publish(self) -> None:
        """Let readers see what has been applied so far."""
        policy = self.policy.view() if self._changed else self.view.policy
        self.view, self._changed = View(policy, self._learned, self.seq), False
        if len(self._uncounted) > MAX_UNCOUNTED:
            self.published()

    def snapshot(self) -> Snapshot:
        """Return the complete state as it was published."""
        view, stats = self.published()
        return Snapshot.of(view.seq, view.policy.to_bytes(), stats)

    def published(self) -> tuple[View, Stats]:
        """Return what was published last, and the statistics of the same moment."""
        with self._counting:
            view, waiting = self.view, self._uncounted
            while waiting and waiting[0][0] <= view.seq:
                self._stats.count(waiting.popleft()[1])
            return view, self._stats.copy()

    def restore(self, snapshot: Snapshot) -> None:
        """Replace the state with that of a snapshot."""
        source = f"the snapshot {snapshot.seq} of model {self.name!r}"
        policy = from_bytes(snapshot.policy, source=source)
        try:
            stats = msgspec.msgpack.decode(snapshot.stats, type=Stats)
        except msgspec.DecodeError as error:
            raise BadFile(f"{source} has no statistics: {error}") from error
        with self._counting:
            self.policy, self._learned, self.seq = policy, stats.learned, snapshot.seq
            self._stats, self._uncounted = stats, deque[tuple[int, DecisionRecord]]()
            self.saved, self._changed = stats.outcomes, True
            self.publish()

    def state_hash(self) -> str:
        """Return the SHA-256 of the policy's bytes."""
        return state_hash(self.view.policy.to_bytes())
