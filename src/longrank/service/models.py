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
from longrank.policies import Randomised, from_bytes
from longrank.service.records import DecisionRecord, OutcomeRecord
from longrank.service.snapshots import FORMAT, Snapshot, state_hash
from longrank.service.specs import Spec, make_policy
from longrank.service.stats import Stats

_MOVING = ("given_up", "probing")  # of a policy: what ranking must leave as it was


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
        self._by_chance = isinstance(self.policy, Randomised)
        self._start = self._rng.bit_generator.state if self._rng is not None else None

    @property
    def version(self) -> int:
        """How many outcomes it has learned from."""
        return self.stats.learned

    @property
    def frozen(self) -> bool:
        """Whether it plays and does not learn."""
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
