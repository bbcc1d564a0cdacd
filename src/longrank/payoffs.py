"""Payoffs: what success and giving up are worth, and the best length of a sequence."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels
from longrank.errors import InvalidInput


class Cascade(Protocol):
    """What :meth:`Payoffs.reward` needs to know of an outcome."""

    @property
    def tried(self) -> int: ...
    @property
    def succeeded(self) -> bool: ...


class Payoffs:
    """The payoffs of one round.

    Parameters
    ----------
    rewards
        ``rewards[i]`` is earned by a success at try i + 1 (the paper's r_(i+1)): b numbers,
        non-increasing and at least 0.
    losses
        ``losses[i]`` is earned by giving up after i tries (the paper's l_i): b + 1 numbers,
        non-increasing and at most 0.

    The scale is up to you. The arrays are copied and read-only.

    Examples
    --------
    >>> payoffs = Payoffs(rewards=[1.0, 0.5], losses=[-0.2, -0.6, -0.8])
    >>> payoffs.values([0.5, 0.5])
    array([-0.2 ,  0.2 ,  0.425])
    >>> payoffs.best_length([0.5, 0.5])
    2
    """

    __slots__ = ("costs", "losses", "patience", "rewards", "success_values")
    rewards: NDArray[np.float64]
    losses: NDArray[np.float64]
    costs: NDArray[np.float64] | None
    success_values: NDArray[np.float64] | None
    patience: float

    def __init__(self, rewards: ArrayLike, losses: ArrayLike, costs=None, values=None, patience=1.0) -> None:
        object.__setattr__(self, "patience", patience)
        if costs is not None or values is not None:
            k = len(costs if costs is not None else values)
            costs = np.zeros(k) if costs is None else np.array(costs, float)
            values = np.zeros(k) if values is None else np.array(values, float)
        object.__setattr__(self, "costs", costs)
        object.__setattr__(self, "success_values", values)
        r = checks.vector("rewards", rewards)
        loss = checks.vector("losses", losses)
        if len(loss) != len(r) + 1:
            rule = f"have {len(r) + 1} numbers, one more than rewards"
            raise InvalidInput("losses", rule, len(loss))
        if r.size and r[-1] < 0.0:
            raise InvalidInput("rewards", "be at least 0", _first(r, r < 0.0))
        if loss[0] > 0.0:
            raise InvalidInput("losses", "be at most 0", f"{loss[0]} at index 0")
        for name, array in (("rewards", r), ("losses", loss)):
            rising = array[1:] > array[:-1]
            if rising.any():
                i = int(np.flatnonzero(rising)[0])
                shown = f"{array[i]} before {array[i + 1]} at index {i}"
                raise InvalidInput(name, "be non-increasing", shown)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Payoffs cannot be changed; make a new one to set {name}")

    @classmethod
    def vanilla(cls, budget: int) -> Payoffs:
        """The paper's Vanilla scenario: 1 for a success anywhere, 0 otherwise."""
        b = checks.whole("budget", budget)
        return cls(np.ones(b), np.zeros(b + 1))

    @classmethod
    def exponential(cls, budget: int) -> Payoffs:
        """The paper's Exponential scenario: r_j = 2^(1-j), l_j = 0.8 * 2^-j - 1."""
        b = checks.whole("budget", budget)
        return cls(0.5 ** np.arange(b), 0.8 * 0.5 ** np.arange(b + 1) - 1.0)

    @classmethod
    def linear(
        cls, budget: int, *, success: float = 1.0, attempt_cost: float, give_up: float = 0.0
    ) -> Payoffs:
        """Make payoffs where every try costs the same, so that the choice of length matters.

        A success at try j is worth ``success - j * attempt_cost``, giving up after j tries
        ``give_up - j * attempt_cost``. The budget must end before the costs exceed ``success``.
        """
        b = checks.whole("budget", budget)
        worth = checks.real("success", success, minimum=0.0)
        cost = checks.real("attempt_cost", attempt_cost, minimum=0.0)
        stop = checks.real("give_up", give_up, maximum=0.0)
        tries = np.arange(b + 1)
        rewards = worth - cost * tries[1:]
        if b and rewards[-1] < -1e-12 * worth:
            most = int(worth * (1.0 + 1e-12) / cost)
            rule = f"be at most {most}, so that a success still pays for its tries"
            raise InvalidInput("budget", rule, b)
        return cls(np.maximum(rewards, 0.0), stop - cost * tries)

    def priced(self, costs=None, values=None):
        return Payoffs(self.rewards, self.losses, costs, values, self.patience)

    def patient(self, patience):
        return self._with(patience=patience)

    def _with(self, **changes):
        made = object.__new__(Payoffs)
        for name in Payoffs.__slots__:
            object.__setattr__(made, name, changes.get(name, getattr(self, name)))
        return made

    @property
    def priced_each(self):
        return self.costs is not None

    def check_prices(self, size):
        if self.costs is not None and len(self.costs) != size:
            raise InvalidInput("payoffs.costs", f"have {size} numbers, one for each candidate", len(self.costs))

    def prices(self, size):
        if self.costs is None:
            return np.zeros(size), np.zeros(size), self.rewards, self.losses, self.patience
        return self.costs, self.success_values, self.rewards, self.losses, self.patience

    def after(self, tried, items):
        return self._with(rewards=self.rewards[tried:], losses=self.losses[tried:], costs=self.costs[items], success_values=self.success_values[items])

    def along(self, order):
        n = len(order)
        if self.costs is None:
            return self._with(rewards=self.rewards[:n], losses=self.losses[:n+1])
        paid = np.cumsum(self.costs[order])
        rewards = self.rewards[:n] + self.success_values[order] - paid
        losses = self.losses[:n+1].copy(); losses[1:] -= paid
        return self._with(rewards=rewards, losses=losses, costs=None, success_values=None)

    @property
    def budget(self) -> int:
        """The maximum number of tries, b."""
        return len(self.rewards)

    def values(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        """Return the expected reward E of every length 0..n along the sequence.

        ``probabilities[i]`` is the probability that item i succeeds, given that those above it
        failed; at most ``budget`` of them. Shape (n + 1,).
        """
        return kernels.sequence_values(self._checked(probabilities), self.rewards, self.losses)

    def best_length(self, probabilities: ArrayLike) -> int:
        """Return the length with the largest expected reward; ties go to the longest."""
        return int(kernels.best_length(self._checked(probabilities), self.rewards, self.losses))

    def reward(self, outcome: Cascade) -> float:
        """Return what this outcome earned, the paper's R(J, Y)."""
        if outcome.tried > self.budget:
            raise InvalidInput("outcome.tried", f"be at most {self.budget}", outcome.tried)
        if outcome.succeeded:
            return float(self.rewards[outcome.tried - 1])
        return float(self.losses[outcome.tried])

    def tries(self, budget: int | None) -> int:
        """Return the number of tries allowed: ``budget``, or all that the payoffs cover."""
        if budget is None:
            return self.budget
        b = checks.whole("budget", budget)
        if b > self.budget:
            raise InvalidInput("budget", f"be at most the payoffs' {self.budget}", b)
        return b

    def _checked(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        p = checks.vector("probabilities", probabilities)
        if len(p) > self.budget:
            raise InvalidInput("probabilities", f"have at most {self.budget} numbers", len(p))
        outside = (p < 0.0) | (p > 1.0)
        if outside.any():
            raise InvalidInput("probabilities", "be between 0 and 1", _first(p, outside))
        return p

    def __reduce__(self) -> tuple[type[Payoffs], tuple[NDArray[np.float64], ...]]:
        return Payoffs, (self.rewards, self.losses)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Payoffs):
            return NotImplemented
        return np.array_equal(self.rewards, other.rewards) and np.array_equal(
            self.losses, other.losses
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Payoffs(rewards={self.rewards.tolist()}, losses={self.losses.tolist()})"


def _first(array: NDArray[np.float64], broken: NDArray[np.bool_]) -> str:
    index = int(np.flatnonzero(broken)[0])
    return f"{array[index]} at index {index}"
