"""Streams: all rounds of a finite world in arrays, and policies that run through them."""

from __future__ import annotations

import copy
import math
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from longrank import kernels
from longrank.arrays import Flags, Indices, Matrix, Vector
from longrank.decision import Outcome, Ranking
from longrank.features import Coverage, Plain
from longrank.payoffs import Payoffs
from longrank.policies import UCB, Policy
from longrank.simulation.worlds import TableWorld

FIRST_PREFIX = 8  # items that are ranked first, as the outcome may depend on no more


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
    costs
        Cost of an attempt with each item, shape (n,); None if all costs are in the payoffs.
    """

    items: Matrix
    starts: Indices
    wins: Flags
    costs: Vector | None = None

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

    def beginning(self, rounds: int) -> Stream:
        """Return the first rounds only; all, if there are no more."""
        starts = self.starts[: rounds + 1]
        end = starts[-1]
        costs = None if self.costs is None else self.costs[:end]
        return Stream(self.items[:end], starts, self.wins[:end], costs)

    def with_fees(self, low: float, high: float, seed: int) -> Stream:
        """Give each item of each round a cost of its own, drawn uniformly between two numbers."""
        drawn = np.random.default_rng([seed, 1]).uniform(low, high, len(self.items))
        return replace(self, costs=drawn)

    def paid(self, payoffs: Payoffs, t: int) -> Payoffs:
        """Return the payoffs of round t, with the costs of its items."""
        if self.costs is None:
            return payoffs
        return payoffs.priced(self.costs[self.starts[t] : self.starts[t + 1]])

    def hindsight(self, payoffs: Payoffs) -> Vector:
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
        """Return the cost of the tries of a random order: of those that fail, and of the success.

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
class StreamRun:
    """What a policy earned, committed to, tried and spent in every round, and how it ended up.

    ``spent`` counts the costs of candidates; ``policy`` is the policy after the last round.
    """

    rewards: Vector
    lengths: Indices
    tried: Indices
    spent: Vector
    policy: Policy


def run_stream(policy: Policy, stream: Stream, payoffs: Payoffs) -> StreamRun:
    """Run a policy through a stream: rank, play and learn. The policy itself does not change.

    Ranks and learns as :func:`simulate` does in the world that the stream was made from, but
    computes neither expected rewards nor the benchmark, nor an order far beyond its first success.

    Examples
    --------
    >>> from longrank import named
    >>> rng = np.random.default_rng(1)
    >>> stream = Stream(rng.random((40, 3)) / 2, np.arange(0, 41, 4), rng.random(40) < 0.5)
    >>> run = run_stream(named("ind", dim=3, max_budget=2), stream, Payoffs.vanilla(2))
    >>> bool(run.policy.learner.updates == run.tried.sum())
    True
    """
    policy, count = copy.deepcopy(policy), stream.rounds
    enough = _enough_to_go_on(payoffs) if _in_prefixes(policy, stream, payoffs) else None
    lengths, tried = np.empty((2, count), np.int64)
    run = StreamRun(np.empty(count), lengths, tried, np.zeros(count), policy)
    for t, (start, end) in enumerate(pairwise(stream.starts.tolist())):
        paid = stream.paid(payoffs, t)
        items, wins = stream.items[start:end], stream.wins[start:end]
        ranking = None if enough is None else _prefix(policy, items, wins, paid, enough)
        lengths[t] = min(payoffs.budget, end - start)
        if ranking is None:
            ranking = policy.rank(items, paid)
            lengths[t] = len(ranking)
        order = ranking.order
        outcome = _outcome(wins[order].tolist())
        policy.learn(ranking, outcome)
        tried[t] = outcome.tried
        if paid.costs is not None:
            run.spent[t] = paid.costs[order[: outcome.tried]].sum()
            paid = paid.along(order)
        run.rewards[t] = paid.reward(outcome)
    return run


def _outcome(wins: list[bool]) -> Outcome:
    """Return the outcome of a sequence, given which of its items succeed."""
    succeeded = True in wins
    return Outcome(wins.index(True) + 1 if succeeded else len(wins), succeeded)


def _in_prefixes(policy: Policy, stream: Stream, payoffs: Payoffs) -> bool:
    """Whether to rank the beginning first: it must be that of the order for the whole budget."""
    return (
        payoffs.budget >= 4 * FIRST_PREFIX
        and type(policy) is UCB
        and type(policy.features) in (Plain, Coverage)
        and policy.rng is None
        and not (policy.foresight or policy.probing or policy.uses_learned_costs)
        and policy.patience is None
        and stream.costs is payoffs.costs is None
        and payoffs.patience == 1.0
    )


def _enough_to_go_on(payoffs: Payoffs) -> Vector:
    """Find for every length a probability that makes each further try worthwhile.

    A try after i others pays by itself if p rewards[i] + (1 - p) losses[i + 1] >= losses[i].
    """
    rewards, losses = payoffs.rewards, payoffs.losses
    prices = losses[:-1] - losses[1:]
    needed = np.divide(prices, rewards - losses[1:], out=np.zeros_like(prices), where=prices > 0.0)
    return np.append(np.maximum.accumulate(needed[::-1])[::-1] * (1.0 + 1e-9), 0.0)


def _prefix(
    policy: Policy, items: Matrix, wins: Flags, payoffs: Payoffs, enough: Vector
) -> Ranking | None:
    """Rank as far as the first success, if the whole budget is certain to be committed to.

    That holds if every further item is worth trying, however bad. None if the whole order is
    needed.
    """
    assert isinstance(policy, UCB)
    learner, reach = policy.learner, FIRST_PREFIX
    if 4 * reach > min(payoffs.budget, len(items)):
        return None
    score = math.sqrt(policy.features.max_square * (learner.weights @ learner.weights))
    worst = kernels.probability(learner.link.code, -score - 1e-9)
    while reach < min(payoffs.budget, len(items)) and worst >= enough[reach]:
        ranking = policy.propose(items, payoffs, reach)
        if len(ranking) < reach:
            return None
        if wins[ranking.order].any():
            return ranking
        reach *= 4
    return None
