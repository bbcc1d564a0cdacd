"""Payments as records: routes and transactions with named fields."""

import itertools
import math
from functools import cache

import numpy as np

from longrank import checks
from longrank.arrays import Flags, Indices, Order, Vector
from longrank.decision import Outcome
from longrank.errors import InvalidInput
from longrank.links import LOGISTIC
from longrank.payoffs import Payoffs
from longrank.simulation.worlds import IndependentRound, Record, World

REGIONS = ("eu", "us", "apac")
ACQUIRERS = ("north", "south", "east", "west")
BRANDS = ("visa", "mastercard", "amex", "discover")
COUNTRIES = {
    "DE": ("eu", "EUR"),
    "FR": ("eu", "EUR"),
    "PL": ("eu", "PLN"),
    "US": ("us", "USD"),
    "CA": ("us", "CAD"),
    "JP": ("apac", "JPY"),
    "AU": ("apac", "AUD"),
}
MERCHANTS, TYPICAL_AMOUNT, TAIL = 12, 30.0, 1.3
EPOCH, MONITORING_LAG = 1_000, 10  # payments: each route is down once an epoch at most


class CheckoutRound(IndependentRound):
    """A payment. A failed attempt may be final, which ends the cascade.

    ``finals`` holds, for each route, the probability that its failure is a final decline. Of the
    draws that fail, the highest are final: one draw decides what a route answers.
    """

    def __init__(
        self, routes: list[Record], draws: Vector, chances: Vector, finals: Vector, context: Record
    ) -> None:
        super().__init__(routes, draws, chances, context)
        self.finals = finals

    def play(self, order: Order) -> Outcome:
        for tried, route in enumerate(order.tolist(), 1):
            draw, chance = self.draws[route], self.chances[route]
            if draw < chance:
                return Outcome(tried, True)
            if draw >= 1.0 - (1.0 - chance) * self.finals[route]:
                return Outcome(tried, False)
        return Outcome(len(order), False)

    def value(self, order: Order, payoffs: Payoffs) -> float:
        return float(self.values(order[np.newaxis], payoffs)[0, -1])

    def optimum(self, payoffs: Payoffs) -> float:
        """Return the expected reward of the best sequence, found by enumeration."""
        tries = min(payoffs.budget, len(self.chances))
        return float(self.values(all_sequences(len(self.chances), tries), payoffs).max())

    def plan(self, payoffs: Payoffs) -> Order:
        """Return the sequence of a planner that knows all ``chances`` but not ``finals``.

        This is what a policy with perfect estimates plays: the largest probabilities first, cut at
        the best length; with fees, the best plan.
        """
        if payoffs.has_prices:
            return payoffs.best_sequence(self.chances).order
        order = np.argsort(-self.chances, kind="stable")[: payoffs.budget]
        return order[: payoffs.best_length(self.chances[order])]

    def values(self, orders: Indices, payoffs: Payoffs) -> Vector:
        """Return the expected reward of every prefix of the sequences, shape (n, length + 1)."""
        chances, finals = self.chances[orders], self.finals[orders]
        rewards = payoffs.rewards[: orders.shape[1]]
        losses = payoffs.losses[: orders.shape[1] + 1]
        if payoffs.has_prices:
            costs, values = payoffs.prices(len(self.chances))[:2]
            spent = np.zeros((len(orders), orders.shape[1] + 1))
            np.cumsum(costs[orders], axis=1, out=spent[:, 1:])
            rewards, losses = rewards + values[orders] - spent[:, 1:], losses - spent
        alive = np.ones((len(orders), orders.shape[1] + 1))
        np.cumprod((1.0 - chances) * (1.0 - finals), axis=1, out=alive[:, 1:])
        values = alive * losses
        ended = chances * rewards + (1.0 - chances) * finals * losses[..., 1:]
        values[:, 1:] += np.cumsum(alive[:, :-1] * ended, axis=1)
        return values


@cache
def all_sequences(routes: int, tries: int) -> Indices:
    """All sequences of ``tries`` routes; the shorter ones are their prefixes."""
    sequences = list(itertools.permutations(range(routes), tries))
    return np.array(sequences, np.int64).reshape(len(sequences), tries)


class CheckoutWorld(World):
    """Simulated payments as records: the routes are candidates, the payment is the context.

    A route has the fields ``id``, ``region``, ``acquirer``, ``load`` and ``status``; a payment
    ``brand``, ``country``, ``currency``, ``merchant``, ``amount`` and ``recurring``. The logit of
    an approval is the sum of effects of the route, brand x route, country x region,
    merchant x acquirer, recurring x route, the load, and the logarithm of the amount, whose slope
    depends on the route. Amounts have a heavy tail (infinite variance).

    Now and then a route goes down for 40 to 160 payments and approves next to nothing; ``status``
    shows it a few payments later. A failure is a final decline with a probability that depends on
    the route and rises with the amount; no other route is tried then.

    Parameters
    ----------
    routes
        The number of routes, at most 9: the optimum is found by enumeration.
    seed
        Seed of the routes and of the payments.
    fees
        Whether each route has its own fee per attempt, in the field ``cost``: 0.01 to 0.25 of what
        a success is worth, and more for foreign cards.

    Examples
    --------
    >>> dealt = CheckoutWorld(3, seed=1).deal(0)
    >>> dealt.items[0]
    {'id': 'route-0', 'region': 'us', 'acquirer': 'west', 'load': 0.02, 'status': 'up'}
    >>> dealt.context["brand"], dealt.context["country"], dealt.context["amount"]
    ('amex', 'PL', 42.29)
    """

    def __init__(self, routes: int = 7, *, seed: int, fees: bool = False) -> None:
        self.fees = bool(fees)
        self.routes = checks.whole("routes", routes, minimum=1)
        if self.routes > 9:
            raise InvalidInput("routes", "be at most 9", self.routes)
        self.seed = checks.whole("seed", seed)
        rng = np.random.default_rng([self.seed])
        self._regions = rng.integers(len(REGIONS), size=self.routes)
        self._acquirers = rng.integers(len(ACQUIRERS), size=self.routes)
        self._quality = rng.normal(0.4, 0.7, self.routes)
        self._by_brand = rng.normal(0.0, 0.8, (len(BRANDS), self.routes))
        self._by_country = rng.normal(0.0, 0.6, (len(COUNTRIES), len(REGIONS)))
        self._by_merchant = rng.normal(0.0, 0.3, (MERCHANTS, len(ACQUIRERS)))
        self._by_recurring = rng.normal(0.0, 0.3, self.routes)
        self._slope = rng.normal(-0.3, 0.2, self.routes)
        self._finality = rng.uniform(0.02, 0.2, self.routes)
        self._records: list[Record] = [
            {"id": f"route-{i}", "region": REGIONS[region], "acquirer": ACQUIRERS[acquirer]}
            for i, (region, acquirer) in enumerate(zip(self._regions, self._acquirers, strict=True))
        ]
        self._fees = rng.uniform(0.01, 0.2, self.routes)
        self._outages: dict[int, Indices] = {}

    def deal(self, t: int) -> CheckoutRound:
        rng = np.random.default_rng([self.seed, 1 + checks.whole("t", t)])
        brand, country = rng.integers(len(BRANDS)), rng.integers(len(COUNTRIES))
        merchant, recurring = rng.integers(MERCHANTS), rng.random() < 0.25
        typical = TYPICAL_AMOUNT * math.exp(0.7 * rng.standard_normal())
        amount = round(typical * (1.0 + rng.pareto(TAIL)), 2)
        load = np.round(rng.random(self.routes), 2)
        down, noticed = self._states(t)
        size = math.log(amount / TYPICAL_AMOUNT)
        logits = (
            self._quality
            + self._by_brand[brand]
            + self._by_country[country, self._regions]
            + self._by_merchant[merchant, self._acquirers]
            + self._by_recurring * recurring
            + self._slope * size
            - 1.2 * load
            - 6.0 * down
        )
        finals = np.where(down, 0.0, np.clip(self._finality * (1.0 + 0.3 * size), 0.0, 0.6))
        name, (home, currency) = list(COUNTRIES.items())[country]
        context = {
            "brand": BRANDS[brand],
            "country": name,
            "currency": currency,
            "merchant": f"shop-{merchant}",
            "amount": amount,
            "recurring": bool(recurring),
        }
        records = [
            {**record, "load": busy, "status": "down" if known else "up"}
            for record, busy, known in zip(
                self._records, load.tolist(), noticed.tolist(), strict=True
            )
        ]
        if self.fees:
            abroad = 0.05 * (self._regions != REGIONS.index(home))
            for record, fee in zip(records, np.round(self._fees + abroad, 3).tolist(), strict=True):
                record["cost"] = fee
        chances = LOGISTIC.probability(logits)
        return CheckoutRound(records, rng.random(self.routes), chances, finals, context)

    def _states(self, t: int) -> tuple[Flags, Flags]:
        """Return which routes are down, and which of these are known to be."""
        epoch, now = divmod(t, EPOCH)
        if epoch not in self._outages:
            rng = np.random.default_rng([self.seed, 0, 1 + epoch])
            length = rng.integers(40, 161, self.routes) * (rng.random(self.routes) < 0.6)
            start = rng.integers(0, EPOCH - 160, self.routes)
            self._outages[epoch] = np.stack([start, start + length])
        start, end = self._outages[epoch]
        return (start <= now) & (now < end), (start + MONITORING_LAG <= now) & (now < end)
