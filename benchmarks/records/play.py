"""Play a world and keep the score."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from worlds import Setting

from longrank import Outcome, Payoffs, Policy, named, recommended
from longrank.schema import priced
from longrank.simulation import CheckoutRound, Round


class Player(ABC):
    """Ranks records, and learns from those that were tried."""

    apart = 0  # nanoseconds so far that went into making the learner's input

    @abstractmethod
    def rank(self, dealt: Round, payoffs: Payoffs) -> np.ndarray: ...

    @abstractmethod
    def learn(self, outcome: Outcome) -> None: ...


class Longrank(Player):
    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def rank(self, dealt: Round, payoffs: Payoffs) -> np.ndarray:
        context = {} if dealt.context is None else {"context": dealt.context}
        self.ranking = self.policy.rank(dealt.items, payoffs, **context)
        return self.ranking.order

    def learn(self, outcome: Outcome) -> None:
        self.policy.learn(self.ranking, outcome)


def policy(name: str) -> Longrank:
    return Longrank(recommended() if name == "recommended" else named(name))


@dataclass
class Score:
    """What was earned in each round, what the benchmark earns, and the time it took.

    Rounds from ``start`` on count for the shares, all of them for the reward and the time.
    """

    start: int
    earned: list[float] = field(default_factory=list)
    benchmark: list[float] = field(default_factory=list)
    first: list[bool] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    apart: list[int] = field(default_factory=list)

    @property
    def reward(self) -> float:
        """The mean true expected reward of a round."""
        return float(np.mean(self.earned))

    @property
    def share(self) -> float:
        """The share of the benchmark's reward."""
        return sum(self.earned[self.start :]) / sum(self.benchmark[self.start :])

    @property
    def right(self) -> float:
        """The share of rounds in which the best candidate was first."""
        return float(np.mean(self.first[self.start :]))

    @property
    def microseconds(self) -> float:
        """The median processor time of a round."""
        return float(np.median(self.taken)) / 1e3

    @property
    def without(self) -> float:
        """The same without making the learner's input."""
        return float(np.median(np.subtract(self.taken, self.apart))) / 1e3


def play_round(player: Player, dealt: Round, payoffs: Payoffs) -> tuple[np.ndarray, int]:
    """Rank, play and learn; return what was played and the processor time in nanoseconds."""
    start = time.thread_time_ns()
    order = player.rank(dealt, payoffs)
    taken = time.thread_time_ns() - start
    outcome = dealt.play(order)
    start = time.thread_time_ns()
    player.learn(outcome)
    return order, taken + time.thread_time_ns() - start


def compete(
    players: dict[str, Player],
    setting: Setting,
    seed: int,
    *,
    rounds: int | None = None,
    block: int = 50,
) -> dict[str, Score]:
    """Let everybody play the same rounds in turns, a block at a time."""
    world, payoffs = setting.make(seed), setting.payoffs
    rounds = rounds or setting.rounds
    scores = {name: Score(0 if setting.whole else rounds // 2) for name in players}
    for begin in range(0, rounds, block):
        dealt = [world.deal(t) for t in range(begin, min(begin + block, rounds))]
        paid = [priced(payoffs, one.items) for one in dealt]
        benchmarks = [
            benchmark(one, each, setting.planned) for one, each in zip(dealt, paid, strict=True)
        ]
        for name, player in players.items():
            score = scores[name]
            score.benchmark += benchmarks
            for one, each in zip(dealt, paid, strict=True):
                before = player.apart
                order, taken = play_round(player, one, payoffs)
                score.taken.append(taken)
                score.apart.append(player.apart - before)
                score.earned.append(one.value(order, each))
                score.first.append(bool((one.probabilities(order[:1]) == best_chance(one)).any()))
    return scores


def best_chance(dealt: Round) -> float:
    return float(dealt.probabilities(np.arange(len(dealt.items))).max())


def benchmark(dealt: Round, payoffs: Payoffs, planned: bool) -> float:
    """The optimum, or what the plan of a payment earns with the true probabilities."""
    if planned and isinstance(dealt, CheckoutRound):
        return dealt.value(dealt.plan(payoffs), payoffs)
    return dealt.optimum(payoffs)
