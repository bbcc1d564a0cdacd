"""A model in memory: its spec, its policy, its statistics, and its place in the log."""

from __future__ import annotations

import hashlib
import math
import sys
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
from longrank.schema import Schema
from longrank.service.engine.series import Series
from longrank.service.errors import OtherVersion, StoreDamaged
from longrank.service.messages import Curve, ModelRequest, ModelStats, PositionStats
from longrank.service.store.records import DecisionRecord, OutcomeRecord
from longrank.service.store.snapshots import FORMAT, Snapshot, state_hash

MAX_BINS = 200
SPEC_VERSION = 3
_RECORDS = 2  # that of models of records, without currency and patience, which has not changed
_ARRAYS = 1  # that of models with dim, which has not changed either
_MONEY = ("currency", "patience")


class Spec(msgspec.Struct, frozen=True):
    """What a model was created with, as it is stored."""

    request: ModelRequest
    seed: int
    version: int = SPEC_VERSION

    def packed(self) -> bytes:
        """Return its bytes; without currency and patience older versions can read them."""
        tree = msgspec.to_builtins(self)
        request = tree["request"]
        if self.request.dim is not None:
            del request["schema"]
        if all(request[name] is None for name in _MONEY):
            tree["version"] = _RECORDS if self.request.dim is None else _ARRAYS
            for name in _MONEY:
                del request[name]
        return msgspec.json.encode(tree)


class _Version(msgspec.Struct):
    version: int = _ARRAYS  # specs without one were written before versions


def read_spec(data: bytes, model: str) -> Spec:
    """Unpack the spec of a model; OtherVersion if a newer longrank wrote it."""
    try:
        found = msgspec.json.decode(data, type=_Version).version
        if found > SPEC_VERSION:
            raise OtherVersion(
                f"the spec of model {model!r} has version {found}; this longrank reads versions "
                f"up to {SPEC_VERSION}: upgrade longrank"
            )
        return msgspec.json.decode(data, type=Spec)
    except msgspec.ValidationError as error:
        raise OtherVersion(
            f"the spec of model {model!r} was written by another version of longrank: {error}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreDamaged(f"the spec of model {model!r} cannot be read: {error}") from error


class Stats(msgspec.Struct, array_like=True):
    """Counters of a model's decisions, in log order; full bins of the curve merge in pairs.

    ``reward`` and ``spent`` are sums that are rounded once: what is missing from them is in
    ``reward_rest`` and ``spent_rest``. ``estimated`` outcomes count expected costs in both.
    """

    decisions: int = 0
    lengths: int = 0
    empty: int = 0
    outcomes: int = 0
    learned: int = 0
    successes: int = 0
    reward: float = 0.0
    played: int = 0
    tried: list[int] = []
    succeeded: list[int] = []
    size: int = 1
    bins: list[tuple[int, float, int, int]] = []
    spent: float = 0.0
    reward_rest: list[float] = []
    spent_rest: list[float] = []
    estimated: int = 0
    gave_up: int = 0
    series: Series = msgspec.field(default_factory=Series)

    def decide(self, at: float, decision: DecisionRecord) -> None:
        """Count a decision."""
        self.series.decide(at, decision)
        self.decisions += 1
        self.lengths += len(decision.played.ids)
        self.empty += not decision.played.ids

    def settle(self, at: float, decision: DecisionRecord, outcome: OutcomeRecord) -> None:
        """Count an outcome."""
        paid = decision.paid(outcome)
        reward, gave_up = finite(decision.reward(outcome)), decision.gave_up(outcome)
        self.series.settle(at, decision, outcome, reward, paid)
        self.outcomes += 1
        self.learned += outcome.learn
        self.successes += outcome.succeeded
        self.gave_up += gave_up
        self.reward, *self.reward_rest = exact_sum(self.reward, *self.reward_rest, reward)
        if paid:
            spent = finite(math.fsum(paid))
            self.spent, *self.spent_rest = exact_sum(self.spent, *self.spent_rest, spent)
        self.estimated += decision.estimated(outcome)
        short = outcome.tried - len(self.tried)
        if short > 0:
            self.tried.extend([0] * short)
            self.succeeded.extend([0] * short)
        for i in range(outcome.tried):
            self.tried[i] += 1
        if outcome.succeeded:
            self.succeeded[outcome.tried - 1] += 1
        self._bin(reward, len(decision.played.ids), gave_up)

    def _bin(self, reward: float, length: int, gave_up: bool) -> None:
        if self.bins and self.bins[-1][0] < self.size:
            count, total, lengths, given_up = self.bins[-1]
            total = finite(total + reward)
            self.bins[-1] = (count + 1, total, lengths + length, given_up + gave_up)
            return
        if len(self.bins) == MAX_BINS:
            pairs = zip(self.bins[::2], self.bins[1::2], strict=True)
            self.bins = [
                (a[0] + b[0], finite(a[1] + b[1]), a[2] + b[2], a[3] + b[3]) for a, b in pairs
            ]
            self.size *= 2
        self.bins.append((1, reward, length, int(gave_up)))

    def copy(self) -> Stats:
        """Return a copy that does not change as this one goes on counting."""
        tried, succeeded, bins = self.tried.copy(), self.succeeded.copy(), self.bins.copy()
        series = self.series.copy()
        return msgspec.structs.replace(
            self, tried=tried, succeeded=succeeded, bins=bins, series=series
        )

    def shown(self, pending: int) -> ModelStats:
        """Return the statistics as an answer."""
        outcomes, bins = self.outcomes, self.bins
        reward, spent = finite(self.reward), finite(self.spent)
        return ModelStats(
            decisions=self.decisions,
            outcomes=outcomes,
            pending=pending,
            expired=max(0, self.decisions - outcomes - pending),
            learned=self.learned,
            not_learned=outcomes - self.learned,
            empty=self.empty,
            total_reward=reward,
            mean_reward=reward / outcomes if outcomes else None,
            total_spent=spent,
            mean_spent=spent / outcomes if outcomes else None,
            mean_length=self.lengths / self.decisions if self.decisions else None,
            success_rate=self.successes / outcomes if outcomes else None,
            give_ups=self.gave_up,
            declined=outcomes - self.successes - self.gave_up,
            by_position=[
                PositionStats(i + 1, n, self.succeeded[i], self.succeeded[i] / n if n else None)
                for i, n in enumerate(self.tried)
            ],
            estimated=self.estimated,
            curve=Curve(
                size=self.size,
                outcomes=[count for count, _, _, _ in bins],
                reward=[finite(total) / count for count, total, _, _ in bins],
                length=[lengths / count for count, _, lengths, _ in bins],
                give_ups=[given_up / count for count, _, _, given_up in bins],
            ),
        )


def exact_sum(*numbers: float) -> list[float]:
    """Add numbers without any error: the sum rounded, what that misses rounded, and so on.

    The result is the same in whatever order they are added, now or later.

    >>> exact_sum(0.1, 0.2)
    [0.30000000000000004, -2.7755575615628914e-17]
    """
    rest, parts = list(numbers), [0.0]
    try:
        while part := math.fsum(rest):
            if part != part:
                raise ValueError(numbers)
            parts.append(part)
            rest.append(-part)
    except (OverflowError, ValueError):  # numbers near 1e308, as earlier versions took them
        scale = 2.0**-64
        return [finite(math.fsum(finite(number) * scale for number in numbers) / scale)]
    return parts[1:] or parts


def finite(number: float) -> float:
    """Return a number, the largest one in place of an infinite one, 0 in place of NaN."""
    if math.isfinite(number):
        return number
    return 0.0 if number != number else math.copysign(sys.float_info.max, number)


class View(NamedTuple):
    """A model's state after an entry of the log, for readers: nobody changes it."""

    policy: Policy
    stats: Stats
    seq: int

    @property
    def version(self) -> int:
        """The number of outcomes it has learned from."""
        return self.stats.learned

    def state_hash(self) -> str:
        """Return the SHA-256 of the policy's bytes."""
        return state_hash(self.policy.to_bytes())


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
        self.swept = 0.0  # decisions that expired by then have been looked at
        self._encoding = threading.Lock()  # views of a schema remember together what they encoded
        self.restore(snapshot)

    @property
    def version(self) -> int:
        """The number of outcomes it has learned from."""
        return self.view.version

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

    def decide(self, seq: int, at: float, decision: DecisionRecord, choice: Ranking | None) -> None:
        """Apply a decision from the log; ``choice`` is the model's own, if it is at hand."""
        if decision.mode != "frozen":
            noted = self.policy.record_decision(decision.choice if choice is None else choice)
            self._changed |= noted
        self._stats.decide(at, decision)
        self.seq = seq

    def settle(self, seq: int, at: float, decision: DecisionRecord, outcome: OutcomeRecord) -> None:
        """Apply an outcome from the log."""
        if outcome.learn:
            self.policy.learn(*decision.observed(outcome))
            self._changed = True
        self._stats.settle(at, decision, outcome)
        self.seq = seq

    def publish(self) -> None:
        """Let readers see what has been applied so far."""
        policy = self.policy.view() if self._changed else self.view.policy
        self.view, self._changed = View(policy, self._stats.copy(), self.seq), False

    def snapshot(self) -> Snapshot:
        """Return the complete state as it was published."""
        return pack(*self.view)

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
        return self.view.state_hash()


def pack(policy: Policy, stats: Stats, seq: int = 0) -> Snapshot:
    """Return a snapshot of a policy and statistics after an entry of the log."""
    data = policy.to_bytes()
    packed = msgspec.Raw(msgspec.msgpack.encode(stats))
    return Snapshot(FORMAT, seq, state_hash(data), data, packed)
