"""A model in memory: its policy, its statistics, and how far in the log it is."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from longrank.cascade import Ranking
from longrank.errors import InvalidInput
from longrank.payoffs import Payoffs
from longrank.policies import Policy, from_bytes, named
from longrank.service.messages import ModelRequest
from longrank.service.records import DecisionRecord, OutcomeRecord
from longrank.service.snapshots import FORMAT, Snapshot, state_hash
from longrank.service.stats import Stats

_MOVING = ("given_up", "probing")  # of a policy: what ranking must leave as it was


class Spec(msgspec.Struct, frozen=True):
    """What a model was made with, as it is stored."""

    request: ModelRequest
    seed: int

    def packed(self) -> bytes:
        return msgspec.json.encode(self)


def read_spec(data: bytes) -> Spec:
    return msgspec.json.decode(data, type=Spec)


def make_policy(spec: Spec) -> Policy:
    """The policy of that name; it is offered what the model knows, and takes what it needs."""
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
            return named(request.policy, **offered, **request.settings)
        except InvalidInput as error:
            if error.parameter == "settings" and error.value in list(offered):
                del offered[str(error.value)]  # this policy has no use for it
                continue
            raise
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            rule = f"be settings of {request.policy!r}"
            raise InvalidInput("settings", rule, f"{sorted(request.settings)}: {error}") from error


class Model:
    """A model that ranks and learns. Learning follows the log; ranking never changes its bytes."""

    def __init__(self, number: int, name: str, created: float, spec: Spec) -> None:
        self.number, self.name, self.created, self.spec = number, name, created, spec
        self.lock = threading.Lock()
        self.policy = make_policy(spec)
        self.stats = Stats()
        self.seq = 0  # the last entry that was applied
        self.saved = 0  # the outcomes that the last snapshot knows
        self.swept = 0.0  # decisions that expired before were looked at
        self._rng = getattr(self.policy, "rng", None)
        self._start = self._rng.bit_generator.state if self._rng is not None else None

    @property
    def version(self) -> int:
        """How many outcomes it has learned from."""
        return self.stats.learned

    def rank(
        self, items: NDArray[np.floating], payoffs: Payoffs, budget: int, name: str
    ) -> tuple[Ranking, int]:
        """A ranking, and the version that made it; the policy's bytes stay as they were.

        Where the policy draws at random it does so from the model's seed and the decision's id,
        so that the answer does not depend on which process gives it. What it counts of its
        decisions it counts when they are in the log: see :meth:`decide`.
        """
        policy: Any = self.policy
        with self.lock:
            before = {part: getattr(policy, part) for part in _MOVING if hasattr(policy, part)}
            if "probing" in before and self.spec.request.mode == "frozen":
                policy.probing = False
            if self._rng is not None:
                drawn = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
                seeded = np.random.default_rng([self.spec.seed, drawn])
                self._rng.bit_generator.state = seeded.bit_generator.state
            try:
                return policy.rank(items, payoffs, budget), self.version
            finally:
                for part, value in before.items():
                    setattr(policy, part, value)
                if self._rng is not None:
                    self._rng.bit_generator.state = self._start

    def along(self, items: NDArray[np.floating], order: list[int], payoffs: Payoffs) -> Ranking:
        """The receipt of somebody else's sequence."""
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

    def decide(self, seq: int, decision: DecisionRecord) -> None:
        """Apply a decision from the log."""
        count = getattr(self.policy, "count", None)
        with self.lock:
            if count is not None and decision.mode != "frozen":
                count(decision.choice)
            self.stats.decide(decision)
            self.seq = seq

    def settle(self, seq: int, decision: DecisionRecord, outcome: OutcomeRecord) -> None:
        """Apply an outcome from the log."""
        with self.lock:
            if outcome.learn:
                self.policy.learn(*outcome.observed(decision.ranking))
            self.stats.settle(decision, outcome)
            self.seq = seq

    def snapshot(self) -> Snapshot:
        """All of its state."""
        with self.lock:
            data = self.policy.to_bytes()
            stats = msgspec.convert(msgspec.to_builtins(self.stats), Stats)
            return Snapshot(FORMAT, self.seq, state_hash(data), data, stats)

    def restore(self, snapshot: Snapshot) -> None:
        """Take over a state."""
        policy = from_bytes(snapshot.policy, source=f"the snapshot of model {self.name!r}")
        with self.lock:
            self.policy, self.stats, self.seq = policy, snapshot.stats, snapshot.seq
            self.saved = snapshot.stats.outcomes
            self._rng = getattr(policy, "rng", None)

    def state_hash(self) -> str:
        """The SHA-256 of the policy's bytes."""
        with self.lock:
            return state_hash(self.policy.to_bytes())
