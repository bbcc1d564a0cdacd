"""Logs of a world whose truth is known, and the policies that are judged by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longrank import (
    UCB,
    EpsilonGreedy,
    OnlineNewton,
    Payoffs,
    PlackettLuce,
    Policy,
    Random,
)
from longrank.logs import History, fit, record
from longrank.logs.evaluation.evidence import Evidence, gather
from longrank.simulation import LogisticWorld

TRUTH = np.array([2.0, -1.0, 1.0, 0.5])
COSTLY = Payoffs.linear(3, attempt_cost=0.15, give_up=-0.1)
FREE = Payoffs([1.0, 0.7, 0.4], [-0.2] * 4)  # tries are free: all sequences have full length


def believing(weights: list[float], budget: int = 3) -> OnlineNewton:
    """A learner with this belief."""
    learner = OnlineNewton(len(weights), max_budget=budget)
    learner.weights[:] = weights
    return learner


def logger(kind: str, seed: int) -> PlackettLuce | EpsilonGreedy | Random:
    """The policy that makes the log, with a belief of its own."""
    if kind == "uniform":
        return Random(rng=seed)
    learner = believing([0.5, 0.0, 0.5, 0.0])
    if kind == "epsilon-greedy":
        return EpsilonGreedy(learner, epsilon=0.5, rng=seed)
    return PlackettLuce(learner, temperature=1.0, rng=seed)


def candidate(kind: str) -> Policy:
    """The policy that is judged; it believes what is nearly true."""
    learner = believing([2.0, -1.0, 1.0, 0.0])
    if kind == "greedy":
        return UCB(learner, exploration=0.0)
    return PlackettLuce(learner, temperature=0.5, rng=1)


@dataclass(frozen=True)
class Setting:
    """A log of ``rounds`` decisions by one policy, and another one to judge."""

    log: str
    judged: str
    payoffs: Payoffs
    items: int = 5
    rounds: int = 500

    def __str__(self) -> str:
        cost = "free" if self.payoffs == FREE else f"losses to {self.payoffs.losses[-1]:.2f}"
        return f"{self.log} log, {self.judged} judged, {self.items} candidates, {cost}"

    def history(self, seed: int) -> History:
        """A log."""
        world, policy = LogisticWorld(TRUTH, items=self.items, seed=seed), logger(self.log, seed)
        rows = []
        for t in range(self.rounds):
            dealt = world.deal(t)
            ranking = policy.rank(dealt.items, self.payoffs)
            chances = policy.propensities(dealt.items, self.payoffs, ranking.order)
            outcome = dealt.play(ranking.order)
            rows.append(
                record(t, ranking, outcome, self.payoffs, items=dealt.items, propensities=chances)
            )
        return History(rows)

    def evidence(self, seed: int) -> Evidence:
        """What a log says about the candidate."""
        history = self.history(seed)
        return gather(candidate(self.judged), history, fit(history), draws=0)

    def truth(self, rounds: int = 40_000) -> float:
        """The true value of the candidate, by its true success probabilities in many rounds."""
        world, policy = LogisticWorld(TRUTH, items=self.items, seed=10**9), candidate(self.judged)
        total = 0.0
        for t in range(rounds):
            dealt = world.deal(t)
            total += dealt.value(policy.rank(dealt.items, self.payoffs).order, self.payoffs)
        return total / rounds
