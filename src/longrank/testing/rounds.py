"""Rounds of every shape, the same in every run, to play policies through."""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from longrank.checks import unit_rows
from longrank.decision import Outcome, Ranking
from longrank.payoffs import Payoffs
from longrank.policies import Policy

DIM, MAX_BUDGET = 4, 5
ITEMS = np.eye(DIM)[[1, 0, 3, 2, 1]] * 0.9

Deal = tuple[Any, Payoffs, int]
Pair = tuple[Ranking, Outcome]


class Rounds:
    """A numbered sequence of rounds with items of length 4 and budgets up to 5.

    Attributes
    ----------
    items
        Five items, two of which are equal but for their id.
    empty
        Sets without an item.
    """

    items: ClassVar[Any] = ITEMS
    empty: ClassVar[list[Any]] = [[], np.empty((0, DIM))]

    @staticmethod
    def candidates(t: int, rng: np.random.Generator) -> Any:  # noqa: ARG004
        """Return the items of round t, from none to eight."""
        return unit_rows(rng.random((rng.integers(0, 9), DIM)))

    @staticmethod
    def given(t: int) -> dict[str, Any]:  # noqa: ARG004
        """Return what ranking round t takes in addition."""
        return {}

    @staticmethod
    def broken(bad: float) -> tuple[Any, str]:
        """Return items that every policy refuses, with the beginning of the message."""
        items = ITEMS.copy()
        items[2, 3] = bad
        return items, "items must be finite"

    @classmethod
    def deal(cls, t: int) -> Deal:
        """Round t: from no item to eight, a budget from 0 to 5, each of the payoff shapes."""
        rng = np.random.default_rng([2021, t])
        items = cls.candidates(t, rng)
        cost = float(rng.choice([0.02, 0.19]))
        shapes = (
            Payoffs.vanilla,
            Payoffs.exponential,
            lambda b: Payoffs.linear(b, attempt_cost=cost),
        )
        return items, shapes[t % 3](MAX_BUDGET), int(rng.integers(0, MAX_BUDGET + 1))

    @classmethod
    def deal_priced(cls, t: int) -> Deal:
        """Round t with a cost and a value for each item; in some a cascade may end by itself."""
        items, payoffs, budget = cls.deal(t)
        return items, payoffs.priced(*_prices(t, len(items))).patient(_patience(t)), budget

    @staticmethod
    def happen(t: int, ranking: Ranking) -> Outcome:
        """Any outcome that the ranking can have: nothing tried, early stop, success, failure."""
        rng = np.random.default_rng([2022, t])
        tried = int(rng.integers(0, len(ranking) + 1))
        return Outcome(tried, bool(tried and rng.random() < 0.5))

    @classmethod
    def rank(cls, policy: Policy, rounds: Iterable[int]) -> list[Pair]:
        """Rank rounds without learning; return the receipts and outcomes."""
        rankings = [(t, policy.rank(*cls.deal(t), **cls.given(t))) for t in rounds]
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


def _prices(t: int, size: int) -> tuple[list[float], list[float]]:
    """Draw costs and values; all items have the same in every fourth round."""
    rng = np.random.default_rng([2024, t])
    size, times = (size, 1) if t % 4 else (1, size)
    return [*rng.uniform(0.0, 0.4, size)] * times, [*rng.normal(0.0, 0.5, size)] * times


def _patience(t: int) -> float:
    return 0.7 if t % 3 == 1 else 1.0


class RecordRounds(Rounds):
    """The same with records: fields of every kind, some missing, some that appear late."""

    items: ClassVar[Any] = [
        {"id": "b", "region": "eu", "fee": 0.3},
        {"id": "a", "region": "us"},
        {"id": "d", "fee": 2.5},
        {"id": "c", "region": "eu", "fee": 0.1},
        {"id": "e", "region": "eu", "fee": 0.3},
    ]
    empty: ClassVar[list[Any]] = [[], ()]

    @staticmethod
    def candidates(t: int, rng: np.random.Generator) -> Any:
        found = []
        for route in rng.permutation(12)[: rng.integers(0, 9)]:
            record: dict[str, Any] = {"id": f"route-{route}"}
            if rng.random() < 0.8:
                record["region"] = str(rng.choice(["eu", "us", "asia"]))
            record["fee"] = float(rng.lognormal()) if rng.random() < 0.9 else None
            if t % 4 == 1:
                record["tags"] = rng.choice(["fast", "cheap", "new"], 2, replace=False).tolist()
            if t >= 6:
                record["embedding"] = rng.normal(size=3).tolist()
                record["live"] = bool(rng.random() < 0.5)
            found.append(record)
        return found

    @staticmethod
    def given(t: int) -> dict[str, Any]:
        """Return the context of round t: now and then none."""
        rng = np.random.default_rng([2023, t])
        if t % 7 == 3:
            return {}
        context = {
            "brand": f"brand-{rng.integers(4)}",
            "amount": float(rng.lognormal(3.0, 2.0)),
            "note": str(rng.choice(["one word", "a word or two", ""])),
        }
        return {"context": context | ({"words": ["a", "b"][: t % 3]} if t > 9 else {})}

    @classmethod
    def deal_priced(cls, t: int) -> Deal:
        """The same with the fields cost and value, which some records lack."""
        items, payoffs, budget = cls.deal(t)
        for record, cost, value in zip(items, *_prices(t, len(items)), strict=True):
            record["cost"] = cost if cost > 0.05 else None
            if t % 5:
                record["value"] = value
        return items, payoffs.patient(_patience(t)), budget

    @staticmethod
    def broken(bad: float) -> tuple[Any, str]:
        message = "(candidates must be an array of numbers, a list of|items must hold numbers)"
        return [{"id": "a"}, bad], message
