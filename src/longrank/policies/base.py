"""The interface of a policy, and the one routine that ranks."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import kernels, packing
from longrank.cascade import Outcome, Ranking
from longrank.errors import InvalidInput
from longrank.features import Features, Plain
from longrank.features.base import Greedy, Prepared
from longrank.learners import Learner
from longrank.packing import Tree
from longrank.payoffs import Payoffs

Chance = tuple[NDArray[np.bool_], NDArray[np.float64]]


class Policy(ABC):
    """Two verbs, `rank` and `learn`, and one receipt between them."""

    @abstractmethod
    def rank(self, items: ArrayLike, payoffs: Payoffs, budget: int | None = None) -> Ranking:
        """Decide which items to try, in which order, and how many; possibly none.

        Parameters
        ----------
        items
            The candidates of this round, shape (k, d): an array, a list of lists, or a pandas or
            polars frame. Their number may change from round to round.
        payoffs
            What success and giving up are worth in this round.
        budget
            The most tries allowed, at most ``payoffs.budget`` (which it is by default).
        """

    @abstractmethod
    def learn(self, ranking: Ranking, outcome: Outcome) -> None:
        """Learn what became of a ranking: at once or much later, in any order.

        Only what was observed counts. After an error nothing has changed.
        """

    def learn_from(self, history: Iterable[tuple[Ranking, Outcome]]) -> int:
        """Learn from many rankings and their outcomes in the order given; returns how many.

        The state is the same, bit for bit, as if it had learned from them one by one. A
        ``longrank.logs.History`` is such a sequence, and is checked as a whole before.
        """
        count = 0
        for ranking, outcome in history:
            self.learn(ranking, outcome)
            count += 1
        return count

    def chance(self, sizes: Sequence[int]) -> Chance:
        """The random choices of coming rounds with sets of these sizes, all drawn at once.

        Which rounds are played at random, and for each item of all rounds the key by which it is
        ordered then. It draws from the policy's generator just as ranking the rounds would.
        """
        return np.zeros(len(sizes), np.bool_), np.zeros(sum(sizes))

    def compiled_rule(self) -> kernels.Rule | None:
        """How it decides in compiled runs, with :meth:`chance` for what is random.

        None where it is not compiled; subclasses do not inherit it.
        """
        return None

    @abstractmethod
    def state(self) -> Tree:
        """All of the policy, as a tree for :mod:`longrank.packing`."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Tree, features: Features) -> Policy:
        """The policy that :meth:`state` described."""

    def to_bytes(self) -> bytes:
        """The policy with all that it has learned; equal policies give equal bytes."""
        return packing.pack({"policy": self.state()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file (all of it or nothing), for :func:`longrank.load`.

        The format is versioned and free of pickle. A policy that is saved, loaded and continued
        is equal bit for bit to one that never stopped.
        """
        packing.write(path, self.to_bytes())

    @staticmethod
    def _tries(payoffs: Payoffs, budget: int | None, most: int | None = None) -> int:
        if not isinstance(payoffs, Payoffs):
            raise InvalidInput("payoffs", "be a longrank.Payoffs", type(payoffs).__name__)
        tries = payoffs.tries(budget)
        if most is not None and tries > most:
            raise InvalidInput("budget", f"be at most the learner's max_budget {most}", tries)
        return tries

    @staticmethod
    def _check(ranking: Ranking, outcome: Outcome, dim: int | None = None) -> None:
        if not isinstance(ranking, Ranking):
            raise InvalidInput("ranking", "be a longrank.Ranking", type(ranking).__name__)
        if not isinstance(outcome, Outcome):
            raise InvalidInput("outcome", "be a longrank.Outcome", type(outcome).__name__)
        outcome.check(len(ranking))
        if dim is not None and ranking.dim != dim and len(ranking):
            rule = f"have features of length {dim}, as this policy makes them"
            raise InvalidInput("ranking", rule, ranking.dim)


class Believer(Policy):
    """A policy with a belief: the one routine that ranks, and the one that learns.

    Attributes
    ----------
    learner
        The belief about what succeeds.
    features
        How an item looks, given the items above it.
    """

    bonus: float = 0.0  # how many widths are added to a mean
    probing: bool = False  # whether it tries an item now and then where it would give up
    foresight: int = 0  # how many failures it foresees when it ranks
    draws: bool = False  # whether it uses up random numbers, so that an error must come before
    given_up: int = 0

    def __init__(self, learner: Learner, features: Features | None) -> None:
        self.learner = learner
        self.features = features if features is not None else Plain()

    def rank(self, items: ArrayLike, payoffs: Payoffs, budget: int | None = None) -> Ranking:
        learner = self.learner
        lazy = not (self.draws or self.foresight)  # foresight does not scan, which would check
        prepared = self.features.prepare(items, learner.dim, lazy)
        count = min(self._tries(payoffs, budget, learner.max_budget), len(prepared))
        ranking = self._choose(prepared, count, payoffs)
        self.count(ranking)
        return ranking

    def count(self, ranking: Ranking) -> None:
        """Take note of a decision: :meth:`rank` does, and whoever replays old decisions must.

        With probing it counts how often the policy gave up although it might have tried, or would
        have if it had not been for a probe.
        """
        if not self.probing or len(ranking) > 1 or len(ranking.values) == 1:
            return
        if ranking.value <= ranking.values[0]:
            self.given_up += 1

    def learn(self, ranking: Ranking, outcome: Outcome) -> None:
        self._check(ranking, outcome, self.learner.dim)
        if outcome.tried:
            self.learner.observe(ranking.rows(outcome.tried), outcome.succeeded)

    @abstractmethod
    def _choose(self, prepared: Prepared, count: int, payoffs: Payoffs) -> Ranking:
        """Which of the items to try, in which order: at most ``count``."""

    def _best(self, prepared: Prepared, count: int, payoffs: Payoffs, least: int = 0) -> Ranking:
        """The best by the belief, for as long as that pays, but at least so many."""
        learner = self.learner
        link = learner.link
        chosen, numbers = Ranking.blank(count, learner.dim)
        length = self.features.decide(
            prepared,
            learner.weights,
            learner.inverse,
            self.bonus,
            link.ceiling,
            payoffs.rewards,
            payoffs.losses,
            link.code,
            least,
            chosen,
            numbers,
        )
        return Ranking.filled(chosen[:length], numbers, learner.dim)

    def _along(
        self, prepared: Prepared, order: NDArray[np.int64], payoffs: Payoffs, least: int = 0
    ) -> Ranking:
        """A given order, for as long as that pays by its means, but at least so many."""
        rows = self.features.along(prepared, order)
        means, _ = kernels.score_rows(rows, self.learner.weights, self.learner.inverse)
        return self._decide((order, rows, means, means), payoffs, least)

    def _decide(self, greedy: Greedy, payoffs: Payoffs, least: int = 0) -> Ranking:
        """As much of an order as its scores say is worth playing, but at least so many."""
        learner = self.learner
        chosen, numbers = Ranking.blank(len(greedy[0]), learner.dim)
        rewards, losses, link = payoffs.rewards, payoffs.losses, learner.link.code
        length = kernels.decide(*greedy, rewards, losses, link, least, chosen, numbers)
        return Ranking.filled(chosen[:length], numbers, learner.dim)

    def state(self) -> Tree:
        return {
            "kind": type(self).__name__,
            "learner": self.learner.state(),
            "features": self.features.state(),
            "given_up": self.given_up,
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.learner!r}, features={self.features!r})"
