"""Worlds: the hidden truth, which generates rounds and draws outcomes.

A world is created from a seed, and round t is always the same: every policy sees the same items
and, if outcomes are independent, the same outcomes.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from longrank import checks
from longrank.arrays import Flags, Indices, Matrix, Vector
from longrank.decision import Outcome
from longrank.errors import InvalidInput
from longrank.features import Coverage
from longrank.features.base import Features
from longrank.features.coverage import Topics
from longrank.links import LOGISTIC, Link
from longrank.payoffs import Payoffs
from longrank.policies import Oracle

Record = dict[str, Any]


class Round(ABC):
    """One round, as the world sees it.

    ``items`` are rows of numbers, shape (k, d), or records; ``context`` goes with records.
    ``draws`` holds one uniform number per item: an item succeeds if its draw is below its
    probability given the failures above it.
    """

    items: Any

    def __init__(
        self, items: Matrix | list[Record], draws: Vector, context: Record | None = None
    ) -> None:
        self.items = items
        self.draws = draws
        self.context = context

    @abstractmethod
    def probabilities(self, order: Indices) -> Vector:
        """Return the true probabilities along an order, each given that those above failed."""

    @abstractmethod
    def optimum(self, payoffs: Payoffs) -> float:
        """Return the expected reward of the benchmark, which knows the truth."""

    def play(self, order: Indices) -> Outcome:
        """Try the items in this order until one succeeds."""
        hits = np.flatnonzero(self.draws[order] < self.probabilities(order))
        return Outcome(int(hits[0]) + 1, True) if hits.size else Outcome(len(order), False)

    def value(self, order: Indices, payoffs: Payoffs) -> float:
        """Return the true expected reward of a sequence.

        No cascade ends early here, whatever patience the payoffs assume.
        """
        p = self.probabilities(order)
        return float(payoffs.along(order).values(p, patience=1.0)[-1])

    def hindsight(self, payoffs: Payoffs) -> float:
        """Return the reward of a clairvoyant that knows the draws: success at once, or giving up.

        With dependent outcomes an item that fails at the top may still succeed below others; that
        is not searched.
        """
        alone = np.arange(len(self.items))
        return _clairvoyant(
            payoffs, np.array([self.play(alone[i : i + 1]).succeeded for i in alone], np.bool_)
        )


class IndependentRound(Round):
    """A round in which every item has its own probability of success."""

    def __init__(
        self,
        items: Matrix | list[Record],
        draws: Vector,
        chances: Vector,
        context: Record | None = None,
    ) -> None:
        super().__init__(items, draws, context)
        self.chances = chances

    def probabilities(self, order: Indices) -> Vector:
        return self.chances[order]

    def optimum(self, payoffs: Payoffs) -> float:
        if payoffs.has_prices:
            return payoffs.best_sequence(self.chances, patience=1.0).value
        best = np.sort(self.chances)[::-1][: payoffs.budget]  # Lemma 1
        length = payoffs.best_length(best, patience=1.0)
        return float(payoffs.values(best, patience=1.0)[length])

    def hindsight(self, payoffs: Payoffs) -> float:
        return _clairvoyant(payoffs, self.draws < self.chances)


def _clairvoyant(payoffs: Payoffs, wins: Flags) -> float:
    """Return what a clairvoyant earns that knows ``wins``: success at once, or giving up."""
    nothing = float(payoffs.losses[0])
    if not (payoffs.budget and wins.any()):
        return nothing
    costs, values, rewards, _, _ = payoffs.prices(len(wins))
    best = float((rewards[0] + values - costs)[wins].max())
    return max(best, nothing)


class DependentRound(Round):
    """A round in which success depends on what the items above cover."""

    items: Matrix

    def __init__(self, items: Matrix, draws: Vector, oracle: Oracle) -> None:
        super().__init__(items, draws)
        self.oracle = oracle
        self.prepared = oracle.features.encode(items, oracle.learner.dim)

    def probabilities(self, order: Indices) -> Vector:
        rows = self.oracle.features.along(self.prepared, order)
        return self.oracle.learner.link.probability(rows @ self.oracle.learner.weights)

    def optimum(self, payoffs: Payoffs) -> float:
        return self.oracle.rank(self.items, payoffs.patient(1.0)).value


class World(ABC):
    """The hidden truth."""

    @abstractmethod
    def deal(self, t: int) -> Round:
        """Round t = 0, 1, ..."""

    @property
    def rounds(self) -> int | None:
        """The number of rounds; None if endless."""
        return None


class _DrawnWorld(World):
    """A world whose items are drawn at random on the unit sphere, equally many in every round."""

    def __init__(self, weights: ArrayLike, items: int, dim: int, seed: int) -> None:
        self.weights = checks.vector("weights", weights)
        self.size = checks.whole("items", items, minimum=1)
        self.dim = checks.whole("dim", dim, minimum=1)
        self.seed = checks.whole("seed", seed)

    def _draw(self, t: int) -> tuple[Matrix, Vector]:
        rng = np.random.default_rng([self.seed, checks.whole("t", t)])
        items = rng.standard_normal((self.size, self.dim))
        items /= np.linalg.norm(items, axis=1, keepdims=True)
        return items, rng.random(self.size)


class LogisticWorld(_DrawnWorld):
    """Independent outcomes: an item succeeds with probability sigma(weights . item).

    Parameters
    ----------
    weights
        The true u, shape (dim,); scores then lie within its norm.
    items
        The number of candidates in a round.
    seed
        Seed of everything random in it.
    link
        The true curve.
    """

    def __init__(
        self, weights: ArrayLike, *, items: int = 100, seed: int, link: Link = LOGISTIC
    ) -> None:
        true = checks.vector("weights", weights)
        super().__init__(true, items, len(true), seed)
        self.link = link

    def deal(self, t: int) -> Round:
        items, draws = self._draw(t)
        return IndependentRound(items, draws, self.link.probability(items @ self.weights))


class CoverageWorld(_DrawnWorld):
    """Dependent outcomes: success comes from topics that the items above do not cover.

    Parameters
    ----------
    weights
        The true u over the topics, shape (d',).
    topics
        As for :class:`~longrank.Coverage`.
    dim
        The length of an item.
    items, seed, link
        As for :class:`LogisticWorld`.
    exact
        Measure regret against the exact optimum (small sets only) instead of Greedy.
    """

    def __init__(
        self,
        weights: ArrayLike,
        *,
        topics: Topics | ArrayLike,
        dim: int,
        items: int = 100,
        seed: int,
        link: Link = LOGISTIC,
        exact: bool = False,
    ) -> None:
        super().__init__(weights, items, dim, seed)
        features: Features = Coverage(topics)
        self.oracle = Oracle(weights, features=features, link=link, exact=exact)

    def deal(self, t: int) -> Round:
        return DependentRound(*self._draw(t), self.oracle)


class TableWorld(World):
    """Your own items, dealt once each in chunks, with success probabilities or labels (0 and 1).

    Parameters
    ----------
    items
        All items, shape (n, d).
    chances
        The probability of success of each, shape (n,).
    size
        The number of candidates in a round; the last round may have fewer.
    seed
        Seed of the shuffling and of the outcomes, which are drawn once for every item.
    passes
        Number of times all items are dealt, reshuffled each time (with the same outcomes).
    """

    def __init__(
        self, items: ArrayLike, chances: ArrayLike, *, size: int = 100, seed: int, passes: int = 1
    ) -> None:
        self.items = np.asarray(checks.items(items, None, unit=False), np.float64)
        self.chances = checks.vector("chances", chances)
        if self.chances.shape != (len(self.items),):
            raise InvalidInput("chances", f"have {len(self.items)} numbers", len(self.chances))
        if ((self.chances < 0.0) | (self.chances > 1.0)).any():
            raise InvalidInput("chances", "lie between 0 and 1", "a value outside")
        self.size = checks.whole("size", size, minimum=1)
        rng = np.random.default_rng(checks.whole("seed", seed))
        self.draws = rng.random(len(self.items))
        self.shuffles = [
            rng.permutation(len(self.items))
            for _ in range(checks.whole("passes", passes, minimum=1))
        ]

    @property
    def rounds(self) -> int:
        return len(self.shuffles) * -(-len(self.items) // self.size)

    def deal(self, t: int) -> Round:
        if not 0 <= t < self.rounds:
            raise InvalidInput("t", f"be from 0 to {self.rounds - 1}, the rounds of this world", t)
        a_pass, chunk = divmod(t, self.rounds // len(self.shuffles))
        rows = self.shuffles[a_pass][chunk * self.size : (chunk + 1) * self.size]
        return IndependentRound(self.items[rows], self.draws[rows], self.chances[rows])


class PaymentWorld(World):
    """Simulated payments: a round is a transaction, the items are the routes it can be tried on.

    A row encodes the route, whether the card's network is the route's own, the load of the route,
    and the risk of the transaction: ``routes + 4`` numbers, scaled to norm at most 1. Routes
    differ in quality, a matching network helps, load hurts, and a risky transaction fails nearly
    everywhere, so giving up on it early is right if attempts cost money.

    Parameters
    ----------
    routes
        The number of routes.
    seed
        Seed of the routes and of the transactions.
    """

    NETWORKS = 4

    def __init__(self, routes: int = 8, *, seed: int) -> None:
        self.routes = checks.whole("routes", routes, minimum=1)
        self.seed = checks.whole("seed", seed)
        rng = np.random.default_rng([self.seed])
        self.homes = rng.integers(self.NETWORKS, size=self.routes)
        quality = rng.normal(0.0, 0.8, self.routes)
        self._scale = 1.0 / math.sqrt(5.0)
        self.weights = np.concatenate([quality, [1.2, -1.0, -5.0, 0.5]]) / self._scale
        self.dim = self.routes + 4

    def deal(self, t: int) -> Round:
        rng = np.random.default_rng([self.seed, 1 + checks.whole("t", t)])
        network = rng.integers(self.NETWORKS)
        load = rng.random(self.routes)
        risk = rng.random() ** 3  # most transactions carry little risk
        items = np.column_stack(
            [
                np.eye(self.routes),
                self.homes == network,
                load,
                np.full(self.routes, risk),
                np.ones(self.routes),
            ]
        )
        items *= self._scale
        chances = LOGISTIC.probability(items @ self.weights)
        return IndependentRound(items, rng.random(self.routes), chances)
