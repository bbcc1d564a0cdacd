"""Rounds of every shape, the same in every run, to play policies through."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from longrank.cascade import Outcome, Ranking
from longrank.checks import unit_rows
from longrank.payoffs import Payoffs
from longrank.policies import Policy

DIM, MAX_BUDGET = 4, 5
ITEMS = np.eye(DIM)[[1, 0, 3, 2, 1]] * 0.9

Deal = tuple[NDArray[np.float64], Payoffs, int]
Pair = tuple[Ranking, Outcome]


class Rounds:
    """A numbered sequence of rounds with items of length 4 and budgets up to 5."""

    @staticmethod
    def deal(t: int) -> Deal:
        """Round t: from no item to eight, a budget from 0 to 5, each of the payoff shapes."""
        rng = np.random.default_rng([2021, t])
        items = unit_rows(rng.random((rng.integers(0, 9), DIM)))
        cost = float(rng.choice([0.02, 0.19]))
        shapes = (
            Payoffs.vanilla,
            Payoffs.exponential,
            lambda b: Payoffs.linear(b, attempt_cost=cost),
        )
        return items, shapes[t % 3](MAX_BUDGET), int(rng.integers(0, MAX_BUDGET + 1))

    @staticmethod
    def happen(t: int, ranking: Ranking) -> Outcome:
        """Any outcome that the ranking can have: nothing tried, early stop, success, failure."""
        rng = np.random.default_rng([2022, t])
        tried = int(rng.integers(0, len(ranking) + 1))
        return Outcome(tried, bool(tried and rng.random() < 0.5))

    @classmethod
    def rank(cls, policy: Policy, rounds: Iterable[int]) -> list[Pair]:
        """Rank rounds without learning; return the receipts and outcomes."""
        rankings = [(t, policy.rank(*cls.deal(t))) for t in rounds]
        return [(ranking, cls.happen(t, ranking)) for t, ranking in rankings]

    @classmethod
    def play(cls, policy: Policy, rounds: Iterable[int]) -> list[Ranking]:
        """Rank and learn at once, round after round; return the receipts."""
        receipts = []
        for t in rounds:
            [(ranking, outcome)] = cls.rank(policy, [t])
            policy.learn(ranking, outcome)
            receipts.append(ranking)
        return receipts
