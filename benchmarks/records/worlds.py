"""Seven worlds that deal records, with their payoffs and the number of rounds to play.

Everything is drawn when a world is made, and candidates are the same dictionaries in every round,
so that dealing costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from longrank import Payoffs
from longrank.links import LOGISTIC
from longrank.simulation import CheckoutWorld, World
from longrank.simulation.worlds import IndependentRound, Record


class DrawnWorld(World):
    """Rounds that were drawn beforehand.

    ``offered[t]`` are the indices of the candidates of round t (None: all of them, always), and
    ``chances(t, offered)`` their true probabilities.
    """

    def __init__(
        self,
        records: list[Record],
        contexts: list[Record] | None,
        offered: np.ndarray | None,
        chances: Callable[[int, np.ndarray], np.ndarray],
        rounds: int,
        rng: np.random.Generator,
    ) -> None:
        self.records, self.contexts, self.offered = records, contexts, offered
        self.chances = chances
        self.everything = np.arange(len(records))
        size = len(records) if offered is None else offered.shape[1]
        self.draws = rng.random((rounds, size))

    @property
    def rounds(self) -> int:
        return len(self.draws)

    def deal(self, t: int) -> IndependentRound:
        context = self.contexts[t] if self.contexts else None
        if self.offered is None:
            chances = self.chances(t, self.everything)
            return IndependentRound(self.records, self.draws[t], chances, context)
        offered = self.offered[t]
        records = [self.records[i] for i in offered.tolist()]
        return IndependentRound(records, self.draws[t], self.chances(t, offered), context)


def names(kind: str, count: int) -> list[str]:
    return [f"{kind}-{i}" for i in range(count)]


def drawn_fields(rng: np.random.Generator, rounds: int, **sizes: int) -> dict[str, np.ndarray]:
    return {field: rng.integers(size, size=rounds) for field, size in sizes.items()}


def contexts(fields: dict[str, np.ndarray], sizes: dict[str, int]) -> list[Record]:
    columns = [[names(field, sizes[field])[i] for i in drawn] for field, drawn in fields.items()]
    return [dict(zip(fields, row, strict=True)) for row in zip(*columns, strict=True)]


def draw_offers(rng: np.random.Generator, rounds: int, among: int, size: int) -> np.ndarray:
    """Draw ``size`` different candidates for each round, in random order."""
    return np.array([rng.choice(among, size, replace=False) for _ in range(rounds)])


def one_good_route(
    seed: int, *, routes: int, brands: int, rounds: int, noise: dict[str, int]
) -> DrawnWorld:
    """One route per brand succeeds with 0.9, the others with 0.25; ``noise`` does not matter."""
    rng = np.random.default_rng([seed, routes])
    good = rng.choice(routes, brands, replace=False)
    sizes = {"brand": brands, **noise}
    fields = drawn_fields(rng, rounds, **sizes)
    table = np.full((brands, routes), 0.25)
    table[np.arange(brands), good] = 0.9
    brand = fields["brand"]
    return DrawnWorld(
        [{"id": name} for name in names("route", routes)],
        contexts(fields, sizes),
        None,
        lambda t, offered: table[brand[t], offered],
        rounds,
        rng,
    )


def grouped_routes(seed: int, rounds: int = 8_000) -> DrawnWorld:
    """20 of 200 routes a round: effects of route, brand x route and merchant x group of routes."""
    routes, groups, sizes = 200, 10, {"brand": 12, "merchant": 50}
    rng = np.random.default_rng([seed, routes, groups])
    group = rng.integers(groups, size=routes)
    by_route = rng.normal(0.0, 1.0, routes)
    by_brand = rng.normal(0.0, 1.0, (sizes["brand"], routes))
    by_merchant = rng.normal(0.0, 0.7, (sizes["merchant"], groups))
    fields = drawn_fields(rng, rounds, **sizes)

    def chances(t: int, offered: np.ndarray) -> np.ndarray:
        merchant = by_merchant[fields["merchant"][t], group[offered]]
        logits = by_route[offered] + by_brand[fields["brand"][t], offered] + merchant
        return LOGISTIC.probability(logits)

    return DrawnWorld(
        [{"id": f"route-{i}", "group": f"group-{group[i]}"} for i in range(routes)],
        contexts(fields, sizes),
        draw_offers(rng, rounds, routes, 20),
        chances,
        rounds,
        rng,
    )


def many_ids(seed: int, rounds: int = 20_000) -> DrawnWorld:
    """20 of 5,000 ids a round, about 5 % success: effects of the id and of three fields."""
    ids, sizes = 5_000, {"genre": 20, "author": 200, "format": 6}
    rng = np.random.default_rng([seed, ids])
    fields = drawn_fields(rng, ids, **sizes)
    logits = rng.normal(-3.6, 0.7, ids)
    for field, size in sizes.items():
        logits += rng.normal(0.0, 0.5, size)[fields[field]]
    truth = LOGISTIC.probability(logits)
    return DrawnWorld(
        [
            {"id": name, **fields}
            for name, fields in zip(names("id", ids), contexts(fields, sizes), strict=True)
        ],
        None,
        draw_offers(rng, rounds, ids, 20),
        lambda _, offered: truth[offered],
        rounds,
        rng,
    )


@dataclass(frozen=True)
class Setting:
    """A world, how long it is played, and what its rounds pay.

    ``first`` is the share of the second half in which the best route must be first, ``earned`` the
    share of the benchmark that must be earned; both in the worst of ``seeds`` seeds, unless
    ``mean``. The benchmark is the optimum, for ``planned`` worlds the same plan with the true
    probabilities. The second half of the rounds counts, or the ``whole``.
    """

    make: Callable[[int], World]
    rounds: int
    payoffs: Payoffs
    seeds: int
    first: float | None = None
    earned: float | None = None
    mean: bool = False
    planned: bool = False
    whole: bool = False


TWO_TRIES = Payoffs.linear(2, attempt_cost=0.1)
TEN_FIELDS = {f"noise{i}": 10 for i in range(10)}
SETTINGS = {
    "brands": Setting(
        lambda seed: one_good_route(seed, routes=14, brands=4, rounds=3_000, noise={}),
        3_000,
        TWO_TRIES,
        seeds=40,
        first=0.95,
    ),
    "irrelevant": Setting(
        lambda seed: one_good_route(seed, routes=14, brands=4, rounds=3_000, noise=TEN_FIELDS),
        3_000,
        TWO_TRIES,
        seeds=40,
        first=0.95,
    ),
    "groups": Setting(
        grouped_routes,
        8_000,
        Payoffs.linear(3, attempt_cost=0.1),
        seeds=5,
        earned=0.96,
        mean=True,
    ),
    "search": Setting(
        lambda seed: one_good_route(
            seed, routes=200, brands=12, rounds=30_000, noise={"merchant": 50}
        ),
        30_000,
        TWO_TRIES,
        seeds=10,
        earned=0.99,
    ),
    "ids": Setting(many_ids, 20_000, Payoffs.linear(5, attempt_cost=0.01), seeds=5),
    "checkout": Setting(
        lambda seed: CheckoutWorld(seed=seed),
        10_000,
        Payoffs.linear(4, attempt_cost=0.05, give_up=-0.2),
        seeds=5,
        earned=0.98,
        mean=True,
        planned=True,
        whole=True,
    ),
    "fees": Setting(
        lambda seed: CheckoutWorld(seed=seed, fees=True),
        10_000,
        Payoffs.linear(4, attempt_cost=0.0, give_up=-0.2),
        seeds=5,
        earned=0.97,
        mean=True,
        whole=True,
    ),
}
