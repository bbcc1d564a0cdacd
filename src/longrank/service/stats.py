"""What became of a model's decisions, counted in log order."""

from __future__ import annotations

import msgspec

from longrank.service.messages import Curve, ModelStats, PositionStats
from longrank.service.records import DecisionRecord, OutcomeRecord, doubles

BINS = 200


class Stats(msgspec.Struct, array_like=True):
    """Counters; the curve's bins are merged in pairs when there are too many of them."""

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
        reward = earned(decision, outcome)
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
        if len(self.bins) == BINS:
            pairs = zip(self.bins[::2], self.bins[1::2], strict=True)
            self.bins = [(a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]) for a, b in pairs]
            self.size *= 2
        self.bins.append((1, reward, length, int(gave_up)))

    def shown(self, pending: int) -> ModelStats:
        """As it is told over the API."""
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


def earned(decision: DecisionRecord, outcome: OutcomeRecord) -> float:
    """What an outcome was worth."""
    if outcome.succeeded:
        return float(doubles(decision.rewards)[outcome.tried - 1])
    return float(doubles(decision.losses)[outcome.tried])
