"""Streams: all rounds of a finite world, as arrays or as records."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank import checks, kernels
from longrank.checks import unit_rows
from longrank.errors import InvalidInput
from longrank.features import Features
from longrank.kernels import RecordSelection, Selection
from longrank.links import LOGISTIC
from longrank.payoffs import Payoffs
from longrank.schema import Record, as_records, priced
from longrank.simulation.worlds import IndependentRound, TableWorld, World


@dataclass(frozen=True)
class Stream:
    """All rounds of a :class:`TableWorld`, one after the other.

    Attributes
    ----------
    items
        In the order in which they are dealt, shape (n, d).
    starts
        Round t has the items from ``starts[t]`` to ``starts[t + 1]``; shape (rounds + 1,).
    wins
        Whether each item succeeds, shape (n,).
    choice
        The items as prepared by :meth:`seen_through`; None if each run prepares them itself.
    costs
        Cost of an attempt with each item, shape (n,); None if all costs are in the payoffs.
    """

    items: NDArray[np.float64]
    starts: NDArray[np.int64]
    wins: NDArray[np.bool_]
    choice: Selection | None = None
    costs: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, world: TableWorld) -> Stream:
        rows = np.concatenate(world.shuffles)
        per_pass = world.rounds // len(world.shuffles)
        steps = np.minimum(np.arange(per_pass + 1) * world.size, len(world.items))
        passes = np.arange(len(world.shuffles))[:, np.newaxis] * len(world.items)
        starts = np.append((passes + steps[:-1]).ravel(), len(rows))
        return cls(world.items[rows], starts, (world.draws < world.chances)[rows])

    @property
    def rounds(self) -> int:
        return len(self.starts) - 1

    @property
    def ends(self) -> NDArray[np.bool_]:
        """Whether a round ends with an item: only if it succeeds."""
        return self.wins

    def given(self, t: int) -> dict[str, Any]:  # noqa: ARG002
        """Return what ranking takes in round t besides the items: nothing."""
        return {}

    def seen_through(self, features: Features) -> Stream:
        """Prepare the items with these features, once for several runs."""
        return replace(self, choice=kernels.declared(features, "compiled_selection", self.items))

    def beginning(self, rounds: int) -> Stream:
        """Return the first rounds only; all, if there are no more."""
        starts = self.starts[: rounds + 1]
        end = starts[-1]
        seen = None if self.choice is None else self.choice._replace(items=self.choice.items[:end])
        costs = None if self.costs is None else self.costs[:end]
        return Stream(self.items[:end], starts, self.wins[:end], seen, costs)

    def with_fees(self, low: float, high: float, seed: int) -> Stream:
        """Give each item of each round a cost of its own, drawn uniformly between two numbers."""
        drawn = np.random.default_rng([seed, 1]).uniform(low, high, len(self.items))
        return replace(self, costs=drawn)

    def paid(self, payoffs: Payoffs, t: int) -> Payoffs:
        """Return what round t pays, with the costs of its items."""
        if self.costs is None:
            return payoffs
        return payoffs.priced(self.costs[self.starts[t] : self.starts[t + 1]])

    def hindsight(self, payoffs: Payoffs) -> NDArray[np.float64]:
        """Return the reward of a clairvoyant in every round; CR_max is the sum."""
        if self.costs is not None:
            net = np.where(self.wins, payoffs.rewards[0] - self.costs, payoffs.losses[0])
            return np.maximum.reduceat(np.maximum(net, payoffs.losses[0]), self.starts[:-1])
        some = np.logical_or.reduceat(self.wins, self.starts[:-1])
        first = payoffs.rewards[0] if payoffs.budget else payoffs.losses[0]
        return np.asarray(np.where(some, first, payoffs.losses[0]), np.float64)

    def random_reward(self, payoffs: Payoffs) -> float:
        """Return the expected cumulative reward of a random order at full budget (CR_rand).

        If m of k items succeed, the next one does with probability m / k, then m / (k - 1), ...
        """
        total = 0.0
        sizes = np.diff(self.starts)
        winners = np.add.reduceat(self.wins.astype(np.int64), self.starts[:-1])
        for (size, some), rounds in Counter(
            zip(sizes.tolist(), winners.tolist(), strict=True)
        ).items():
            chances = np.minimum(some / (size - np.arange(min(payoffs.budget, size))), 1.0)
            total += rounds * float(payoffs.values(chances)[-1])
        return total if self.costs is None else total - self._random_costs(payoffs.budget)

    def _random_costs(self, budget: int) -> float:
        """What the tries of a random order cost: of those that fail, and of the one that succeeds.

        Each of the losers is as likely to be tried as any other, and so is each of the winners.
        """
        assert self.costs is not None
        total = 0.0
        for start, end in pairwise(self.starts.tolist()):
            won, costs = self.wins[start:end], self.costs[start:end]
            chances = np.minimum(won.sum() / (len(won) - np.arange(min(budget, len(won)))), 1.0)
            failing = np.cumprod(1.0 - chances)
            if won.any():
                total += float((1.0 - failing[-1]) * costs[won].mean())
            if not won.all():
                total += float(failing.sum() * costs[~won].mean())
        return total


@dataclass(frozen=True)
class RecordStream:
    """Rounds of records, one after the other.

    Attributes
    ----------
    items
        The candidates of all rounds.
    contexts
        The context of every round.
    starts
        Round t has the candidates from ``starts[t]`` to ``starts[t + 1]``; shape (rounds + 1,).
    wins
        Whether each candidate succeeds.
    ends
        Whether a candidate ends the round: it succeeds, or its failure is final.
    choice
        The records as encoded by :meth:`seen_through`; None if each run encodes them itself.
    """

    items: list[Record]
    contexts: list[Record]
    starts: NDArray[np.int64]
    wins: NDArray[np.bool_]
    ends: NDArray[np.bool_]
    choice: RecordSelection | None = None

    def paid(self, payoffs: Payoffs, t: int) -> Payoffs:
        """Return what round t pays, with the prices of its records."""
        return priced(payoffs, self.items[self.starts[t] : self.starts[t + 1]])

    @classmethod
    def of(cls, world: World, rounds: int | None = None) -> RecordStream:
        """Generate the rounds of a world of records with independent outcomes, by default all."""
        count = world.rounds if rounds is None else checks.whole("rounds", rounds)
        if count is None:
            raise InvalidInput("rounds", "be given for an endless world", rounds)
        items: list[Record] = []
        contexts: list[Record] = []
        starts, wins, ends = [0], [np.zeros(0, np.bool_)], [np.zeros(0, np.bool_)]
        for t in range(count):
            dealt = world.deal(t)
            records = as_records(dealt.items)
            if records is None or not isinstance(dealt, IndependentRound):
                rule = "deal records whose outcomes are independent"
                raise InvalidInput("world", rule, type(dealt).__name__)
            items += records
            contexts.append({} if dealt.context is None else dealt.context)
            starts.append(len(items))
            wins.append(dealt.draws < dealt.chances)
            ends.append(_ending(dealt, wins[-1]))
        flags = np.concatenate(wins), np.concatenate(ends)
        return cls(items, contexts, np.array(starts, np.int64), *flags)

    @property
    def rounds(self) -> int:
        return len(self.contexts)

    def given(self, t: int) -> dict[str, Any]:
        """Return what ranking takes in round t besides the items."""
        return {"context": self.contexts[t]}

    def seen_through(self, features: Features) -> RecordStream:
        """Encode the records with these features, once for several runs."""
        records = self.items, self.contexts
        return replace(self, choice=kernels.declared(features, "compiled_selection", records))


def _ending(dealt: IndependentRound, wins: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """With which items a round ends: where it goes on after a failure, one can be tried twice."""
    if type(dealt).play is IndependentRound.play:
        return wins
    twice = (dealt.play(np.array([i, i])) for i in range(len(wins)))
    return np.array([outcome.tried == 1 for outcome in twice], np.bool_)


def small_world(seed: int, rounds: int = 5_000) -> tuple[Stream, Payoffs, NDArray[np.bool_]]:
    """A random small world: up to eight items of two to five numbers, any budget, any payoffs.

    It shows whether a policy gives up where it should and only there. Returns the rounds, what
    they pay, and in which of them an oracle would try an item.
    """
    rng = np.random.default_rng(seed)
    k, d, b = int(rng.integers(1, 9)), int(rng.integers(2, 6)), int(rng.integers(1, 6))
    u = rng.normal(size=d)
    u *= rng.uniform(0.3, 4.0) / np.linalg.norm(u)
    items = unit_rows(rng.normal(size=(rounds * k, d))) * rng.uniform(0.3, 1.0)
    chances = LOGISTIC.probability(items @ u + rng.uniform(-5.0, 1.0))
    cost = float(rng.uniform(0.02, min(0.9, 1.0 / b)))
    payoffs = [
        Payoffs.exponential(b),
        Payoffs.linear(b, attempt_cost=cost, give_up=-float(rng.uniform(0.0, 0.5))),
        Payoffs.linear(b, attempt_cost=cost),
    ][seed % 3]
    best = np.sort(chances.reshape(rounds, k), axis=1)[:, ::-1][:, :b]
    plays = np.array([payoffs.best_length(row) > 0 for row in best])
    starts = np.arange(0, len(items) + 1, k)
    return Stream(items, starts, rng.random(len(items)) < chances), payoffs, plays
