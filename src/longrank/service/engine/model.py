"""A model in memory: its spec, its policy, its statistics, and its place in the log."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from longrank.cascade import Ranking
from longrank.errors import BadFile, InvalidInput
from longrank.payoffs import Payoffs
from longrank.policies import Policy, Randomised, from_bytes, named
from longrank.service.messages import Curve, ModelRequest, ModelStats, PositionStats
from longrank.service.store.records import DecisionRecord, OutcomeRecord
from longrank.service.store.snapshots import FORMAT, Snapshot, state_hash

_MOVING = ("given_up", "probing")  # attributes that ranking changes
MAX_BINS = 200


class Spec(msgspec.Struct, frozen=True):
    """What a model was created with, as it is stored."""

    request: ModelRequest
    seed: int

    def packed(self) -> bytes:
        """Return its bytes."""
        return msgspec.json.encode(self)


def read_spec(data: bytes) -> Spec:
    """Unpack a spec."""
    return msgspec.json.decode(data, type=Spec)


def make_policy(spec: Spec) -> Policy:
    """Make the policy of a spec; it is offered what the model knows, and takes what it needs."""
    request = spec.request
    offered: dict[str, Any] = {
        "dim": request.dim,
        "max_budget": request.max_budget,
        "rng": spec.seed,
    }
    for reserved in offered:
        if reserved in request.settings:
            raise InvalidInput("settings", f"leave {reserved} to the model", reserved)
    while True:
        try:
            policy = named(request.policy, **offered, **request.settings)
            policy.to_bytes()  # a setting that cannot be saved is refused now, not at a snapshot
            return policy
        except InvalidInput as error:
            if error.parameter == "settings" and error.value in list(offered):
                del offered[str(error.value)]  # this policy has no use for it
                continue
            if error.parameter == "name":
                raise InvalidInput("policy", error.rule, error.value) from None
            raise
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            rule = f"be settings of {request.policy!r}"
            raise InvalidInput("settings", rule, f"{request.settings}: {error}") from error


class Stats(msgspec.Struct, array_like=True):
    """Counters of a model's decisions, in log order; full bins of the curve merge in pairs."""

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

    def decide(self, decision: DecisionRecord) -> None:
        """Count a decision."""
        self.decisions += 1
        self.lengths += len(decision.played.ids)
        self.empty += not decision.played.ids

    def settle(self, decision: DecisionRecord, outcome: OutcomeRecord) -> None:
        """Count an outcome."""
        reward = decision.reward(outcome)
        self.outcomes += 1
        self.learned += outcome.learn
        self.successes += outcome.succeeded
        self.reward += reward
        short = outcome.tried - len(self.tried)
        if short > 0:
            self.tried.extend([0] * short)
            self.succeeded.extend([0] * short)
        for i in range(outcome.tried):
            self.tried[i] += 1
        if outcome.succeeded:
            self.succeeded[outcome.tried - 1] += 1
        self._bin(reward, len(decision.played.ids), not outcome.succeeded)

    def _bin(self, reward: float, length: int, gave_up: bool) -> None:
        if self.bins and self.bins[-1][0] < self.size:
            count, total, lengths, given_up = self.bins[-1]
            self.bins[-1] = (count + 1, total + reward, lengths + length, given_up + gave_up)
            return
        if len(self.bins) == MAX_BINS:
            pairs = zip(self.bins[::2], self.bins[1::2], strict=True)
            self.bins = [(a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]) for a, b in pairs]
            self.size *= 2
        self.bins.append((1, reward, length, int(gave_up)))

    def shown(self, pending: int) -> ModelStats:
        """Return the statistics as an answer."""
        outcomes, bins = self.outcomes, self.bins
        return ModelStats(
            decisions=self.decisions,
            outcomes=outcomes,
            pending=pending,
            expired=max(0, self.decisions - outcomes - pending),
            learned=self.learned,
            not_learned=outcomes - self.learned,
            empty=self.empty,
            total_reward=self.reward,
            mean_reward=self.reward / outcomes if outcomes else None,
            mean_length=self.lengths / self.decisions if self.decisions else None,
            success_rate=self.successes / outcomes if outcomes else None,
            give_ups=outcomes - self.successes,
            by_position=[
                PositionStats(i + 1, n, self.succeeded[i], self.succeeded[i] / n if n else None)
                for i, n in enumerate(self.tried)
            ],
            curve=Curve(
                size=self.size,
                outcomes=[count for count, _, _, _ in bins],
                reward=[total / count for count, total, _, _ in bins],
                length=[lengths / count for count, _, lengths, _ in bins],
                give_ups=[given_up / count for count, _, _, given_up in bins],
            ),
        )


class Model:
    """A model that ranks and learns. Learning follows the log; ranking changes nothing."""

    def __init__(self, number: int, name: str, created: float, spec: Spec) -> None:
        self.number, self.name, self.created, self.spec = number, name, created, spec
        self.lock = threading.Lock()
        self.policy = make_policy(spec)
        self.stats = Stats()
        self.seq = 0  # the last entry that was applied
        self.saved = 0  # outcomes at the last snapshot
        self.swept = 0.0  # decisions that expired by then have been looked at
        self._rng = getattr(self.policy, "rng", None)
        self._by_chance = isinstance(self.policy, Randomised)
        self._start = self._rng.bit_generator.state if self._rng is not None else None

    @property
    def version(self) -> int:
        """The number of outcomes it has learned from."""
        return self.stats.learned

    @property
    def frozen(self) -> bool:
        """Whether it ranks without learning."""
        return self.spec.request.mode == "frozen"

    def rank(
        self, items: NDArray[np.floating], payoffs: Payoffs, budget: int, name: str
    ) -> tuple[Ranking, int, NDArray[np.float64] | None]:
        """A ranking, the version that made it, and where it was by chance its propensities.

        The policy's bytes stay as they were.

        Where the policy draws at random it does so from the model's seed and the decision's id,
        so that the answer does not depend on which process gives it. What it counts of its
        decisions it counts when they are in the log: see :meth:`decide`.
        """
        width = self.spec.request.dim
        if not hasattr(self.policy, "learner") and len(items) and items.shape[1] != width:
            raise InvalidInput("features", f"have {width} columns", items.shape[1])
        with self.lock:
            policy: Any = self.policy
            before = {part: getattr(policy, part) for part in _MOVING if hasattr(policy, part)}
            if "probing" in before and self.frozen:
                policy.probing = False
            if self._rng is not None:
                drawn = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
                seeded = np.random.default_rng([self.spec.seed, drawn])
                self._rng.bit_generator.state = seeded.bit_generator.state
            try:
                ranking = policy.rank(items, payoffs, budget)
                chance = None
                if self._by_chance:
                    chance = policy.propensities(items, payoffs, ranking.order, budget)
                return ranking, self.version, chance
            finally:
                for part, value in before.items():
                    setattr(policy, part, value)
                if self._rng is not None:
                    self._rng.bit_generator.state = self._start

    def along(self, items: NDArray[np.floating], order: list[int], payoffs: Payoffs) -> Ranking:
        """Return the receipt of a sequence that the caller chose."""
        indices = np.array(order, np.int64)
        features = getattr(self.policy, "features", None)
        learner = getattr(self.policy, "learner", None)
        if features is None or learner is None:
            rows = np.array(items[indices], np.float64).reshape(len(order), items.shape[1])
            unknown = np.full(len(order), np.nan)
            values = np.full(len(order) + 1, np.nan)
            values[0] = payoffs.losses[0]
            return Ranking(indices, unknown, unknown.copy(), values, rows)
        with self.lock:
            rows = features.along(features.prepare(items, learner.dim), indices)
            means, _ = learner.score(rows)
        chances = learner.link.probability(means)
        return Ranking(indices, chances, chances.copy(), payoffs.values(chances), rows)

    def decide(self, seq: int, decision: DecisionRecord, choice: Ranking | None) -> None:
        """Apply a decision from the log; ``choice`` is the model's own, where it is at hand."""
        count = getattr(self.policy, "note", None)
        with self.lock:
            if count is not None and decision.mode != "frozen":
                count(decision.choice if choice is None else choice)
            self.stats.decide(decision)
            self.seq = seq

    def settle(self, seq: int, decision: DecisionRecord, outcome: OutcomeRecord) -> None:
        """Apply an outcome from the log."""
        with self.lock:
            if outcome.learn:
                self.policy.learn(*decision.observed(outcome))
            self.stats.settle(decision, outcome)
            self.seq = seq

    def snapshot(self) -> Snapshot:
        """Return the complete state."""
        with self.lock:
            data = self.policy.to_bytes()
            stats = msgspec.Raw(msgspec.msgpack.encode(self.stats))
            return Snapshot(FORMAT, self.seq, state_hash(data), data, stats)

    def restore(self, snapshot: Snapshot) -> None:
        """Replace the state by that of a snapshot."""
        source = f"the snapshot of model {self.name!r}"
        policy = from_bytes(snapshot.policy, source=source)
        try:
            stats = msgspec.msgpack.decode(snapshot.stats, type=Stats)
        except msgspec.DecodeError as error:
            raise BadFile(f"{source} has no statistics: {error}") from error
        with self.lock:
            self.policy, self.stats, self.seq = policy, stats, snapshot.seq
            self.saved = stats.outcomes
            self._rng = getattr(policy, "rng", None)

    def state_hash(self) -> str:
        """Return the SHA-256 of the policy's bytes."""
        with self.lock:
            return state_hash(self.policy.to_bytes())
