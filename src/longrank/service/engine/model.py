"""A model in memory: its spec, its policy, its statistics, and its place in the log."""

from __future__ import annotations

import hashlib
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from longrank.decision import Ranking
from longrank.errors import BadFile, InvalidInput
from longrank.payoffs import Payoffs
from longrank.policies import Policy, Randomised, from_bytes
from longrank.policies.base import Candidates, Context
from longrank.policies.learning import LearningPolicy
from longrank.rows import SparseRows
from longrank.schema import Schema
from longrank.service.engine.stats import Stats
from longrank.service.errors import OtherVersion, StoreDamaged
from longrank.service.messages import ModelRequest
from longrank.service.store.records import DecisionRecord, Snapshot, state_hash

SPEC_VERSION = 1


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


class View(NamedTuple):
    """A model's state after an entry of the log, for readers; immutable."""

    policy: Policy
    stats: Stats
    seq: int


class Model:
    """A model that ranks and learns.

    The policy and the statistics follow the log; one thread at a time applies its entries. All
    who read, to rank, to describe or to save a snapshot, read ``view``, the last state that was
    published: they wait for nobody, and nobody waits for them.
    """

    policy: Policy
    seq: int  # the last entry that was applied
    saved: int  # outcomes at the last snapshot
    view: View

    def __init__(
        self, number: int, name: str, created: float, spec: Spec, snapshot: Snapshot
    ) -> None:
        self.number, self.name, self.created, self.spec = number, name, created, spec
        self.swept = 0.0  # decisions that expired before this time were handled
        self._encoding = threading.Lock()  # views of a schema share a memo
        self.restore(snapshot)

    @property
    def version(self) -> int:
        """The number of outcomes it has learned from."""
        return self.view.stats.learned

    @property
    def stats(self) -> Stats:
        """The statistics as they were published."""
        return self.view.stats

    @property
    def schema(self) -> Schema | None:
        """How records become rows, as it was published; None for policies without one."""
        policy = self.view.policy
        if not isinstance(policy, LearningPolicy) or not policy.features.sparse:
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
        policy, stats, _ = self.view
        spec = self.spec
        width = spec.request.dim
        plain = width is not None and not isinstance(policy, LearningPolicy) and len(items)
        if plain and items.shape[1] != width:
            raise InvalidInput("features", f"have {width} columns", items.shape[1])
        rng = None
        if policy.rng is not None:
            drawn = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
            rng = np.random.default_rng([spec.seed, drawn])
        probe = spec.request.mode != "frozen"
        given, alone = self._given(context)
        with alone:
            ranking = policy.propose(items, payoffs, budget, rng=rng, probe=probe, **given)
            chances = None
            if isinstance(policy, Randomised):
                chances = policy.propensities(items, payoffs, ranking.order, budget, **given)
        return ranking, stats.learned, chances

    def receipt(
        self, items: Candidates, order: list[int], payoffs: Payoffs, context: Context | None = None
    ) -> Ranking:
        """Return the receipt of a sequence that the caller chose."""
        given, alone = self._given(context)
        with alone:
            return self.view.policy.receipt(items, payoffs, order, **given)

    def _given(
        self, context: Context | None
    ) -> tuple[dict[str, Any], AbstractContextManager[object]]:
        """What a policy takes for records, and what keeps other threads from its schema's memo."""
        return ({}, nullcontext()) if context is None else ({"context": context}, self._encoding)

    def decide(self, seq: int, decision: DecisionRecord, choice: Ranking | None) -> None:
        """Apply a decision from the log; ``choice`` is the model's own, if it is at hand."""
        if decision.mode != "frozen":
            noted = self.policy.record_decision(decision.choice if choice is None else choice)
            self._changed |= noted
        self._stats.decide(decision)
        self.seq = seq

    def settle(self, seq: int, decision: DecisionRecord, rows: SparseRows | None) -> None:
        """Apply the outcome of a decision from the log; ``rows`` are its own, if at hand."""
        assert decision.outcome is not None
        if decision.outcome.learn:
            self.policy.learn(*decision.observed(rows))
            self._changed = True
        self._stats.settle(decision)
        self.seq = seq

    def publish(self) -> None:
        """Let readers see what has been applied so far."""
        policy = self.policy.view() if self._changed else self.view.policy
        self.view, self._changed = View(policy, self._stats.copy(), self.seq), False

    def snapshot(self) -> Snapshot:
        """Return the complete state as it was published."""
        policy, stats, seq = self.view
        return Snapshot.of(seq, policy.to_bytes(), stats)

    def restore(self, snapshot: Snapshot) -> None:
        """Replace the state by that of a snapshot."""
        source = f"the snapshot {snapshot.seq} of model {self.name!r}"
        policy = from_bytes(snapshot.policy, source=source)
        try:
            stats = msgspec.msgpack.decode(snapshot.stats, type=Stats)
        except msgspec.DecodeError as error:
            raise BadFile(f"{source} has no statistics: {error}") from error
        self.policy, self._stats, self.seq = policy, stats, snapshot.seq
        self.saved, self._changed = stats.outcomes, True
        self.publish()

    def state_hash(self) -> str:
        """Return the SHA-256 of the policy's bytes."""
        return state_hash(self.view.policy.to_bytes())
