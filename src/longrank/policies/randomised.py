"""Randomised policies, with the exact probability of every sequence they may play.

A sequence is a chain of choices: an item, another one, ..., and STOP, which is also an action.
When the budget or the items are used up, STOP is certain.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks
from longrank.arrays import Order
from longrank.payoffs import Payoffs
from longrank.schema import positions

Choices = NDArray[np.float64]


class Randomised(ABC):
    """Propensities of a randomised policy under its current belief."""

    @abstractmethod
    def choices(
        self,
        items: Any,
        payoffs: Payoffs,
        order: ArrayLike,
        budget: int | None = None,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> Choices:
        """Return the probability of every next action after each prefix of ``order``.

        Row i is for the first i items of ``order``, all of which failed; column j is item j, and
        the last column is STOP. Shape (len(order) + 1, k + 1); a row is zero if the prefix cannot
        be played.
        """

    def draw(
        self,
        items: Any,
        payoffs: Payoffs,
        budget: int | None = None,
        *,
        rng: np.random.Generator,
        context: Mapping[str, Any] | None = None,
    ) -> Order:
        """Draw a sequence without a receipt, the same as ``propose`` with this generator."""
        given = {} if context is None else {"context": context}
        ranking = self.propose(items, payoffs, budget, rng=rng, probe=False, **given)  # type: ignore[attr-defined]
        return ranking.order  # type: ignore[no-any-return]

    def propensities(
        self,
        items: Any,
        payoffs: Payoffs,
        order: ArrayLike,
        budget: int | None = None,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> NDArray[np.float64]:
        """Return the probability of each prefix of ``order``, and of exactly this sequence.

        For n items there are n + 1 numbers. The i-th of the first n is the probability that the
        first i items played are these, whatever follows; the last one is the probability that
        exactly these are played, including STOP. Shape (len(order) + 1,).
        """
        given = {} if context is None else {"context": context}
        choices = self.choices(items, payoffs, order, budget, **given)
        return prefix_propensities(
            choices, checks.sequence("order", positions(items, order), choices.shape[1] - 1)
        )

    def propensity(
        self,
        items: Any,
        payoffs: Payoffs,
        order: ArrayLike,
        budget: int | None = None,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> float:
        """Return the probability of playing exactly these items in this order, then stopping."""
        return float(self.propensities(items, payoffs, order, budget, context=context)[-1])


def prefix_propensities(choices: Choices, order: Order) -> NDArray[np.float64]:
    """What each action of the sequence, STOP at last, multiplies up to. Shape (len(order) + 1,)."""
    actions = np.append(order, choices.shape[1] - 1)
    return np.asarray(np.cumprod(choices[np.arange(len(actions)), actions]))


def certain_choices(played: Order, size: int, order: Order) -> Choices:
    """Return the choices of a policy that always plays exactly ``played``."""
    choices = np.zeros((len(order) + 1, size + 1))
    for i in range(len(order) + 1):
        choices[i, played[i] if i < len(played) else size] = 1.0
        if i >= min(len(played), len(order)) or played[i] != order[i]:
            break
    return choices


def uniform_choices(size: int, count: int, order: Order) -> Choices:
    """Return the choices of a random order of ``count`` out of ``size`` items."""
    choices = np.zeros((len(order) + 1, size + 1))
    free = np.ones(size, np.bool_)
    for i in range(min(count, len(order)) + 1):
        if i == count:
            choices[i, size] = 1.0
            break
        choices[i, :size] = free / (size - i)
        if i < len(order):
            free[order[i]] = False
    return choices


def mixed_choices(share: float, one: Choices, other: Choices, order: Order) -> Choices:
    """Return the choices of playing ``one`` with probability ``share``, otherwise ``other``.

    The longer a prefix, the more it reveals which of the two is being played.
    """
    reached = [
        np.append(part, part * prefix_propensities(table, order)[:-1])
        for part, table in ((share, one), (1.0 - share, other))
    ]
    total = reached[0] + reached[1]
    weight = np.divide(reached[0], total, out=np.zeros(len(total)), where=total > 0.0)
    rest = np.divide(reached[1], total, out=np.zeros(len(total)), where=total > 0.0)
    return np.asarray(weight[:, np.newaxis] * one + rest[:, np.newaxis] * other)
