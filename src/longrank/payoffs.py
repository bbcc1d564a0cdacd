"""Payoffs: what success and giving up are worth, and the best sequence or length."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

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


class PlannedSequence(NamedTuple):
    """What :meth:`Payoffs.best_sequence` found: a sequence, and how good it is."""

    order: NDArray[np.int64]
    """The candidates to try, in this order."""
    value: float
    """The expected reward."""
    loss_bound: float
    """No other sequence is worth more than this above ``value``; 0 where the plan is optimal."""


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
    costs
        ``costs[i]`` is paid for each try of candidate i, whether it succeeds or not: k numbers of
        at least 0, where the candidates of the round have prices of their own.
    values
        ``values[i]`` is what a success of candidate i earns besides the reward of its position:
        k numbers of any sign, kept as ``success_values``. Costs without values, or values
        without costs, leave the others at 0.

    The scale is up to you. The arrays are copied and read-only. With costs and values a round has
    a best sequence (:meth:`best_sequence`); along one sequence (:meth:`along`) they are payoffs by
    position again.

    Examples
    --------
    >>> payoffs = Payoffs(rewards=[1.0, 0.5], losses=[-0.2, -0.6, -0.8])
    >>> payoffs.values([0.5, 0.5])
    array([-0.2 ,  0.2 ,  0.425])
    >>> payoffs.best_length([0.5, 0.5])
    2
    >>> Payoffs.vanilla(2).priced(costs=[0.3, 0.05, 0.0]).best_sequence([0.8, 0.5, 0.1])
    PlannedSequence(order=array([1, 0]), value=0.7, loss_bound=0.0)
    """

    __slots__ = ("_along", "costs", "losses", "rewards", "success_values")
    rewards: NDArray[np.float64]
    losses: NDArray[np.float64]
    costs: NDArray[np.float64] | None
    success_values: NDArray[np.float64] | None
    _along: bool  # payoffs along one sequence may be negative and may rise

    def __init__(
        self,
        rewards: ArrayLike,
        losses: ArrayLike,
        costs: ArrayLike | None = None,
        values: ArrayLike | None = None,
    ) -> None:
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
        self._keep(r, loss, *_prices(costs, values), along=False)

    def _keep(
        self,
        rewards: NDArray[np.float64],
        losses: NDArray[np.float64],
        costs: NDArray[np.float64] | None,
        values: NDArray[np.float64] | None,
        *,
        along: bool,
    ) -> None:
        arrays = {"rewards": rewards, "losses": losses, "costs": costs, "success_values": values}
        for name, array in arrays.items():
            if array is not None:
                array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "_along", along)

    @classmethod
    def _by_position(cls, rewards: ArrayLike, losses: ArrayLike) -> Payoffs:
        """Make payoffs along one sequence, which may be negative and may rise."""
        made = cls.__new__(cls)
        r, loss = np.array(rewards, np.float64), np.array(losses, np.float64)
        made._keep(r, loss, None, None, along=True)
        return made

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

    @property
    def budget(self) -> int:
        """The maximum number of tries, b."""
        return len(self.rewards)

    def priced(self, costs: ArrayLike | None, values: ArrayLike | None = None) -> Payoffs:
        """Return these payoffs with costs of a try and values of a success for each candidate."""
        if self._along:
            raise InvalidInput("payoffs", "not be those along a sequence", self)
        return Payoffs(self.rewards, self.losses, costs, values)

    def along(self, order: ArrayLike) -> Payoffs:
        """Return the payoffs by position of one sequence of candidates.

        A success at try j earns its reward and value less the costs of the j tries, giving up
        after j tries its loss less their costs. So they can be negative, and can rise. Without
        prices they are the first ``len(order)`` positions.

        >>> payoffs = Payoffs.vanilla(2).priced(costs=[0.1, 0.3], values=[0.0, 1.0])
        >>> payoffs.along([1, 0]).rewards
        array([1.7, 0.6])
        """
        k = np.iinfo(np.int64).max if self.costs is None else len(self.costs)
        chosen = checks.sequence("order", order, k)
        n = self._fits("order", len(chosen))
        if self.costs is None or self.success_values is None:
            make = Payoffs._by_position if self._along else Payoffs
            return make(self.rewards[:n], self.losses[: n + 1])
        spent = np.cumsum(self.costs[chosen])
        losses = self.losses[: n + 1].copy()
        losses[1:] -= spent
        return Payoffs._by_position(self.rewards[:n] + self.success_values[chosen] - spent, losses)

    def best_sequence(
        self, probabilities: ArrayLike, budget: int | None = None, *, patience: float = 1.0
    ) -> PlannedSequence:
        """Return the best order and length for candidates that succeed independently.

        Parameters
        ----------
        probabilities
            Of success of each candidate: k numbers, as many as there are costs and values.
        budget
            The maximum number of tries, by default all that the payoffs cover.
        patience
            The probability that a cascade goes on after a failure. One that ends by itself earns
            what giving up at that point does.
        """
        if self._along:
            raise InvalidInput("payoffs", "not be those along a sequence", self)
        p = _chances(probabilities)
        costs, values = self.costs, self.success_values
        if costs is None or values is None:
            costs = values = np.zeros(len(p))
            costs.flags.writeable = False  # as those of priced payoffs: one compiled plan
        if len(p) != len(costs):
            rule = f"have {len(costs)} numbers, as many as costs and values"
            raise InvalidInput("probabilities", rule, len(p))
        order, length, value, bound = kernels.plan(
            p, costs, values, self.rewards, self.losses, _patience(patience), self.tries(budget)
        )
        return PlannedSequence(order[:length], value, bound)

    def values(self, probabilities: ArrayLike, *, patience: float = 1.0) -> NDArray[np.float64]:
        """Return the expected reward E of every length 0..n along the sequence.

        ``probabilities[i]`` is the probability that item i succeeds, given that those above it
        failed; at most ``budget`` of them. ``patience`` is that of :meth:`best_sequence`.
        Shape (n + 1,).
        """
        p = self._checked(probabilities)
        if patience == 1.0:
            return kernels.sequence_values(p, self.rewards, self.losses)
        return kernels.sequence_values(p, self.rewards, self.losses, _patience(patience))

    def best_length(self, probabilities: ArrayLike, *, patience: float = 1.0) -> int:
        """Return the length with the largest expected reward; ties go to the longest."""
        p = self._checked(probabilities)
        if patience == 1.0:
            return int(kernels.best_length(p, self.rewards, self.losses))
        return int(kernels.best_length(p, self.rewards, self.losses, _patience(patience)))

    def reward(self, outcome: Cascade) -> float:
        """Return what this outcome earned, the paper's R(J, Y)."""
        self._need_positions()
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
        self._need_positions()
        p = _chances(probabilities)
        self._fits("probabilities", len(p))
        return p

    def _fits(self, parameter: str, length: int) -> int:
        if length > self.budget:
            raise InvalidInput(parameter, f"have at most {self.budget} numbers", length)
        return length

    def _need_positions(self) -> None:
        if self.costs is not None:
            rule = "be by position: those of a sequence are payoffs.along(order), and "
            rule += "payoffs.best_sequence(probabilities) finds the best one"
            raise InvalidInput("payoffs", rule, f"costs of {len(self.costs)} candidates")

    def __reduce__(self) -> tuple[Any, ...]:
        if self._along:
            return Payoffs._by_position, (self.rewards, self.losses)
        if self.costs is None:
            return Payoffs, (self.rewards, self.losses)
        return Payoffs, (self.rewards, self.losses, self.costs, self.success_values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Payoffs):
            return NotImplemented
        pairs = (
            (self.rewards, other.rewards),
            (self.losses, other.losses),
            (self.costs, other.costs),
            (self.success_values, other.success_values),
        )
        return all(
            one is another if one is None or another is None else np.array_equal(one, another)
            for one, another in pairs
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        name = "Payoffs._by_position" if self._along else "Payoffs"
        shown = f"rewards={self.rewards.tolist()}, losses={self.losses.tolist()}"
        if self.costs is not None and self.success_values is not None:
            shown += f", costs={self.costs.tolist()}, values={self.success_values.tolist()}"
        return f"{name}({shown})"


def _prices(
    costs: ArrayLike | None, values: ArrayLike | None
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Check the costs and values of candidates; what is not given is 0, if the other is."""
    if costs is None and values is None:
        return None, None
    c = None if costs is None else checks.vector("costs", costs)
    v = np.zeros(0 if c is None else len(c)) if values is None else checks.vector("values", values)
    c = np.zeros(len(v)) if c is None else c
    if len(v) != len(c):
        raise InvalidInput("values", f"have {len(c)} numbers, as many as costs", len(v))
    if (c < 0.0).any():
        raise InvalidInput("costs", "be at least 0", _first(c, c < 0.0))
    return c, v


def _chances(probabilities: ArrayLike) -> NDArray[np.float64]:
    p = checks.vector("probabilities", probabilities)
    outside = (p < 0.0) | (p > 1.0)
    if outside.any():
        raise InvalidInput("probabilities", "be between 0 and 1", _first(p, outside))
    return p


def _patience(patience: float) -> float:
    return checks.real("patience", patience, above=0.0, maximum=1.0)


def _first(array: NDArray[np.float64], broken: NDArray[np.bool_]) -> str:
    index = int(np.flatnonzero(broken)[0])
    return f"{array[index]} at index {index}"
