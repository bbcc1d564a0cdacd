"""Tasks: data sets of which one class is the success, and payments as rows of numbers.

A cell of the contest is a task, a scenario of the experiments with its budget, and a seed, which
draws the candidates of every round: all players meet the same. Of a data set 100 rows are drawn
for each round. Payments have 8 or 100 routes: ``payments`` deals transactions whose context is in
the rows (:class:`longrank.simulation.PaymentWorld`), ``routes`` only says which route a row is.
Worlds of records are in ``fields.py``.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import fields
import numpy as np
import sets
from numpy.typing import NDArray

from longrank import Outcome, Payoffs, unit_rows
from longrank.experiments.settings import payoffs
from longrank.links import LOGISTIC
from longrank.simulation import PaymentWorld, Stream
from longrank.simulation.metrics import normalised

Items = NDArray[np.float64]

CANDIDATES, ROUNDS, PAYMENTS = 100, 500, 600
SCENARIOS = (("vanilla", 1), ("exponential", 10), ("linear-0.1", 5))  # with their budgets
COSTS = (("linear-0.02", 8), ("linear-0.08", 8), ("linear-0.2", 5))
PAYING = {kind: int(kind.rpartition("-")[2]) for kind in ("payments-8", "payments-100")}
PLAIN = {kind: int(kind.rpartition("-")[2]) for kind in ("routes-8", "routes-100")}
PAYMENT_WORLDS = (*PAYING, *PLAIN)
WORLDS = (*PAYMENT_WORLDS, *fields.WORLDS)
FIRST_SEED = {sets.CHOOSE: 1_000, sets.REPORT: 1}  # worlds are split by seed
EMBEDDED = 10  # numbers of a row in the paper


@dataclass(frozen=True)
class Cell:
    """One task: everything that a player's score depends on."""

    task: str
    pivot: int
    scenario: str
    budget: int
    seed: int

    @property
    def payoffs(self) -> Payoffs:
        return payoffs(self.scenario, self.budget)

    def stream(self, view: str = "raw") -> Stream:
        """All rounds, with the rows as they are or as a view shows them."""
        dealt, _ = _dealt(self.task, self.pivot, self.seed)
        if view == "raw":
            return dealt
        return Stream(_seen(self.task, self.pivot, self.seed, view), dealt.starts, dealt.wins)

    def score(self, reward: float) -> float:
        """Normalise what was earned.

        For a data set this is the NCR: 0 for a random order at full budget, 1 in hindsight. For
        payments it is the share of what somebody who knows all chances earned in the same rounds.
        """
        stream, chances = _dealt(self.task, self.pivot, self.seed)
        worth = self.payoffs
        if self.task in PAYMENT_WORLDS:
            return reward / oracle_reward(stream, chances, worth)
        return normalised(reward, stream.random_reward(worth), float(stream.hindsight(worth).sum()))


def cells(half: str, tasks: Sequence[str], seeds: int) -> Iterator[Cell]:
    """All cells of these tasks, those with the same rounds next to each other."""
    for task in tasks:
        first = FIRST_SEED[half] if task in WORLDS else 0
        pivots = [0] if task in WORLDS else sets.pivots(sets.load(task)[1])
        scenarios = SCENARIOS
        if task in WORLDS:
            scenarios = COSTS if task in PAYMENT_WORLDS else (("own", fields.budget(task)),)
        for seed, pivot in itertools.product(range(first, first + seeds), pivots):
            for scenario, budget in scenarios:
                yield Cell(task, pivot, scenario, budget, seed)


@functools.lru_cache(maxsize=1)
def _dealt(task: str, pivot: int, seed: int) -> tuple[Stream, NDArray[np.float64]]:
    """The rounds, and the chance of every candidate."""
    rng = np.random.default_rng([seed, pivot])
    if task in PAYING:
        size, world = PAYING[task], PaymentWorld(PAYING[task], seed=seed)
        rounds = [world.deal(t) for t in range(PAYMENTS)]
        items = np.concatenate([each.items for each in rounds])
        chances = LOGISTIC.probability(items @ world.weights)
    elif task in PLAIN:
        size = PLAIN[task]
        items = np.tile(np.eye(size), (PAYMENTS, 1))
        chances = np.tile(LOGISTIC.probability(rng.normal(0.0, 1.0, size)), PAYMENTS)
    else:
        size, (rows, classes) = CANDIDATES, sets.load(task)
        drawn = [rng.choice(len(rows), size, replace=False) for _ in range(ROUNDS)]
        chosen = np.concatenate(drawn)
        items, chances = rows[chosen], (classes == pivot)[chosen].astype(np.float64)
    wins = rng.random(len(chances)) < chances
    return Stream(items, np.arange(0, len(items) + 1, size), wins), chances


def oracle_reward(stream: Stream, chances: NDArray[np.float64], payoffs: Payoffs) -> float:
    """What the best sequences earned, by the draws that everybody meets."""
    total = 0.0
    for start, end in itertools.pairwise(stream.starts.tolist()):
        order = start + np.argsort(-chances[start:end], kind="stable")[: payoffs.budget]
        order = order[: payoffs.best_length(chances[order])]
        hits = np.flatnonzero(stream.wins[order])
        tried = int(hits[0]) + 1 if hits.size else len(order)
        total += payoffs.reward(Outcome(tried, bool(hits.size)))
    return total


def scaled(items: Items) -> Items:
    """Divide by the largest norm, as those do who are asked for norms of at most 1."""
    return np.asarray(items / np.linalg.norm(items, axis=1).max())


def standardised(items: Items) -> Items:
    """Columns of mean 0 and deviation 1, over all rounds: more than a player can know."""
    spread = items.std(axis=0)
    return np.asarray((items - items.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0))


def unit(items: Items) -> Items:
    """Standardised columns and a constant, each row scaled to norm 1."""
    return unit_rows(np.column_stack([standardised(items), np.ones(len(items))]))


def embedded(items: Items) -> Items:
    """The leading directions of the standardised columns, each row scaled to norm 1: the paper's.

    All rounds are known beforehand.
    """
    known = standardised(items)
    _, directions = np.linalg.eigh(known.T @ known)
    return unit_rows(known @ directions[:, ::-1][:, :EMBEDDED])


VIEWS: dict[str, Callable[[Items], Items]] = {
    each.__name__: each for each in (scaled, standardised, unit, embedded)
}


@functools.lru_cache(maxsize=len(VIEWS))
def _seen(task: str, pivot: int, seed: int, view: str) -> Items:
    return VIEWS[view](_dealt(task, pivot, seed)[0].items)
