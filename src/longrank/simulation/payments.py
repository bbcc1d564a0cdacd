"""A payment world: transactions, and routes that may carry them. Simulated, not real data."""

from __future__ import annotations

import math

import numpy as np

from longrank import checks
from longrank.links import LOGISTIC
from longrank.simulation.worlds import IndependentRound, Round, World


class PaymentWorld(World):
    """Every round is one transaction; the items are the routes it can be tried on.

    A row tells which route it is, whether the card's network is at home there, the route's load,
    and the risk of the transaction: ``routes + 4`` numbers, scaled to norm at most 1. Routes
    differ in quality, a home network helps, load hurts, and a risky transaction fails nearly
    everywhere, so that giving up early on it is right where tries cost money.

    Parameters
    ----------
    routes
        The number of routes.
    seed
        Of the routes and of the transactions.
    """

    NETWORKS = 4

    def __init__(self, routes: int = 8, *, seed: int) -> None:
        self.routes = checks.whole("routes", routes, least=1)
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
        risk = rng.random() ** 3  # most transactions are harmless
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
