"""A random order at full budget: the baseline that every learner must beat."""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks
from longrank.arrays import Indices
from longrank.decision import Outcome, Ranking, check_pair
from longrank.errors import InvalidInput
from longrank.explanation import Names
from longrank.features import Features, Plain
from longrank.kernels.ranking import top
from longrank.packing import Tree
from longrank.payoffs import Payoffs, max_tries
from longrank.policies.base import (
    Candidates,
    Context,
    Policy,
    Seed,
    generator_from_state,
    generator_state,
    saved_generator,
)
from longrank.policies.randomised import Choices, Randomised, uniform_choices
from longrank.schema import ID, Record, as_records, check_ids, identities, positions, read_prices


class Random(Policy, Randomised):
    """Rank at random: the paper's Rand. Probabilities and values are NaN.

    Parameters
    ----------
    rng
        The random generator, or its seed.
    """

    contents: ClassVar = {"rng": saved_generator}

    def __init__(self, *, rng: Seed) -> None:
        self.rng: np.random.Generator = checks.generator(rng)

    def propose(
        self,
        items: Candidates,
        payoffs: Payoffs,
        budget: int | None = None,
        *,
        context: Context | None = None,  # noqa: ARG002
        rng: Seed | None = None,
        probe: bool = True,  # noqa: ARG002
    ) -> Ranking:
        names, rows = _read(items)
        count = min(max_tries(payoffs, budget), len(rows))
        payoffs = _price(payoffs, names, rows)
        order = random_order(self._generator(rng), len(rows), count)
        return _blind(order, names, rows, count, payoffs)

    def receipt(
        self,
        items: Candidates,
        payoffs: Payoffs,
        order: ArrayLike,
        *,
        context: Context | None = None,  # noqa: ARG002
    ) -> Ranking:
        names, rows = _read(items)
        indices = checks.sequence("order", positions(items, order), len(rows))
        return _blind(indices, names, rows, len(indices), _price(payoffs, names, rows))

    def learn(self, ranking: Ranking, outcome: Outcome) -> None:
        """Check the outcome; there is nothing to learn."""
        check_pair(ranking, outcome)

    def choices(
        self,
        items: Candidates,
        payoffs: Payoffs,
        order: ArrayLike,
        budget: int | None = None,
        *,
        context: Context | None = None,  # noqa: ARG002
    ) -> Choices:
        size = len(_read(items)[1])
        count = min(max_tries(payoffs, budget), size)
        return uniform_choices(size, count, checks.sequence("order", positions(items, order), size))

    def state(self) -> Tree:
        return {"features": Plain().saved(), "rng": generator_state(self.rng)}

    @classmethod
    def from_state(cls, state: Tree, features: Features) -> Self:  # noqa: ARG003
        return cls(rng=generator_from_state(state["rng"]))


def _read(items: Candidates) -> tuple[list[Record] | None, NDArray[np.floating]]:
    """Return candidates as records and rows without numbers, or as an array."""
    columns = getattr(items, "column_names", getattr(items, "columns", ()))
    records = as_records(items) if ID in columns else None
    if records is None:
        try:
            return None, checks.items(items, None, unit=False)
        except InvalidInput:
            records = as_records(items)
            if records is None:
                raise
    check_ids(records)
    return records, np.empty((len(records), 0))


def _price(payoffs: Payoffs, records: list[Record] | None, rows: NDArray[np.floating]) -> Payoffs:
    """Return what the round pays, with the prices of records."""
    if records is not None:
        payoffs = read_prices(payoffs, records)
    payoffs.check_prices(len(rows))
    return payoffs


def _blind(
    order: Indices,
    records: list[Record] | None,
    rows: NDArray[np.floating],
    count: int,
    payoffs: Payoffs,
) -> Ranking:
    names = None
    if records is not None:
        names = Names(identities(records, order.tolist()), None, [[] for _ in order])
    ranking = Ranking.without_belief(order, rows[order], count, float(payoffs.losses[0]), names)
    return ranking.at_prices(payoffs)


def random_order(rng: np.random.Generator, size: int, count: int) -> Indices:
    """Draw ``count`` of ``size`` items in random order: the top of random scores."""
    return top(rng.random(size), count)
