"""Tasks made of data sets: one class is the success, and a round has 100 rows to choose from.

A cell of the contest is a data set, a class, a scenario of the experiments with its budget, and a
seed, which draws the rows of every round: all players meet the same.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sets

from longrank import Payoffs
from longrank.experiments.settings import payoffs
from longrank.simulation import Stream
from longrank.simulation.metrics import normalised

CANDIDATES, ROUNDS = 100, 500
SCENARIOS = (("vanilla", 1), ("exponential", 10), ("linear-0.1", 5))  # with their budgets


@dataclass(frozen=True)
class Cell:
    """One task: everything that a player's score depends on."""

    set: str
    pivot: int
    scenario: str
    budget: int
    seed: int

    @property
    def payoffs(self) -> Payoffs:
        return payoffs(self.scenario, self.budget)

    def stream(self, *, scaled: bool = False) -> Stream:
        """All rounds, with the columns as they are or with norms of at most 1."""
        return _stream(self.set, self.pivot, self.seed, scaled)

    def ncr(self, reward: float) -> float:
        """What was earned, between a random order at full budget (0) and hindsight (1)."""
        stream, worth = self.stream(), self.payoffs
        return normalised(reward, stream.random_reward(worth), float(stream.hindsight(worth).sum()))


def cells(names: Sequence[str], seeds: int) -> Iterator[Cell]:
    """All cells of these data sets, those with the same rounds next to each other."""
    for name in names:
        _, classes = sets.load(name)
        for seed, pivot in itertools.product(range(seeds), sets.pivots(classes)):
            for scenario, budget in SCENARIOS:
                yield Cell(name, pivot, scenario, budget, seed)


@functools.lru_cache(maxsize=2)
def _stream(name: str, pivot: int, seed: int, scaled: bool) -> Stream:
    items, classes = sets.load(name)
    rng = np.random.default_rng([seed, pivot])
    rows = np.concatenate(
        [rng.choice(len(items), CANDIDATES, replace=False) for _ in range(ROUNDS)]
    )
    starts = np.arange(0, len(rows) + 1, CANDIDATES)
    shown = sets.scaled(items) if scaled else items
    return Stream(shown[rows], starts, (classes == pivot)[rows])
