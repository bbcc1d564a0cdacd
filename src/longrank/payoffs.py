"""Payoffs: what success and giving up are worth, and the best sequence or length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels, notebook
from longrank.arrays import Flags, Indices, Vector
from longrank.errors import InvalidInput, plural

MAX_PRICE = 1e12  # of a cost, value, reward or loss, so that sums of them stay finite
MAX_BUDGET = 1_000_000
_SHOWN = 100  # numbers of a kind that a repr lists


class Cascade(Protocol):
    """The part of an outcome that :meth:`Payoffs.reward` uses."""

    @property
    def tried(self) -> int: ...
    @property
    def succeeded(self) -> bool: ...
    @property
    def costs(self) -> tuple[float, ...] | None: ...


class PlannedSequence(NamedTuple):
    """Result of :meth:`Payoffs.best_sequence`: a sequence, its value and a bound on its loss."""

    order: Indices
    """The candidates to try, in this order."""
    value: float
    """The expected reward."""
    loss_bound: float
    """No other sequence is worth more than this above ``value``; 0 where the plan is optimal."""

    def _repr_html_(self) -> str:
        """Show the sequence in a notebook."""
        limit = notebook.MAX_ROWS
        rows = [(place + 1, candidate) for place, candidate in enumerate(self.order[:limit])]
        more = [f"and {len(self.order) - limit} more tries"] if len(self.order) > limit else []
        loss = "optimal" if self.loss_bound == 0.0 else f"at most {self.loss_bound:.4g} too little"
        caption = f"Planned sequence: worth {self.value:z.4f}, {loss}"
        return notebook.table(caption, ["try", "candidate"], rows, more)


class Payoffs:
    """The payoffs of one round.

    Any scale up to 10^12 works. The arrays are copied and read-only. Use :meth:`best_sequence` to
    plan with costs and values, and :meth:`along` to turn them into payoffs by position for one
    sequence.

    Parameters
    ----------
    rewards
        ``rewards[i]`` is earned by a success at attempt i + 1 (the paper's r_(i+1)): b numbers,
        non-increasing and at least 0.
    losses
        ``losses[i]`` is earned by giving up after i attempts (the paper's l_i): b + 1 numbers,
        non-increasing and at most 0.
    costs
        ``costs[i]`` is paid for each attempt with candidate i, whether it succeeds or not: k
        non-negative numbers, if candidates have individual prices. Give all or none. If some are
        unknown, use records and omit ``cost`` for those.
    values
        ``values[i]`` is what a success of candidate i earns on top of the reward of its position:
        k numbers of any sign, stored as ``success_values``. If only costs or only values are
        given, the others are 0.
    patience
        The probability that a cascade continues after a failure, above 0 and at most 1: less than
        1 if a decline can be final or a reader can leave. A cascade that ends this way earns the
        same as giving up at that point.

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

    __slots__ = ("_spent", "budget", "costs", "losses", "patience", "rewards", "success_values")
    budget: int  # the maximum number of attempts, b
    rewards: NDArray[np.float64]
    losses: NDArray[np.float64]
    costs: NDArray[np.float64] | None
    success_values: NDArray[np.float64] | None
    patience: float
    _spent: NDArray[np.float64] | None  # by the costs of 0, 1, ... tries along one sequence

    def __init__(
        self,
        rewards: ArrayLike,
        losses: ArrayLike,
        costs: ArrayLike | None = None,
        values: ArrayLike | None = None,
        *,
        patience: float = 1.0,
    ) -> None:
        r = checks.vector("rewards", rewards)
        loss = checks.vector("losses", losses)
        if len(r) > MAX_BUDGET:
            raise InvalidInput("rewards", f"have at most {MAX_BUDGET} numbers", len(r))
        if len(loss) != len(r) + 1:
            rule = f"have {plural(len(r) + 1, 'number')}, one more than rewards"
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
            _check_size(name, array)
        _freeze(r, loss)
        self._keep(r, loss, *_prices(costs, values), _patience(patience), None)

    def _keep(
        self,
        rewards: NDArray[np.float64],
        losses: NDArray[np.float64],
        costs: NDArray[np.float64] | None,
        values: NDArray[np.float64] | None,
        patience: float,
        spent: NDArray[np.float64] | None,
    ) -> Payoffs:
        keep = object.__setattr__
        keep(self, "budget", len(rewards))
        keep(self, "rewards", rewards)
        keep(self, "losses", losses)
        keep(self, "costs", costs)
        keep(self, "success_values", values)
        keep(self, "patience", patience)
        keep(self, "_spent", spent)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Payoffs cannot be changed; make a new one to set {name}")

    @classmethod
    def vanilla(cls, budget: int) -> Payoffs:
        """Return the paper's Vanilla scenario: 1 for a success at any position, 0 otherwise."""
        b = _budget(budget)
        return cls(np.ones(b), np.zeros(b + 1))

    @classmethod
    def exponential(cls, budget: int) -> Payoffs:
        """Return the paper's Exponential scenario: r_j = 2^(1-j), l_j = 0.8 * 2^-j - 1."""
        b = _budget(budget)
        return cls(0.5 ** np.arange(b), 0.8 * 0.5 ** np.arange(b + 1) - 1.0)

    @classmethod
    def linear(
        cls, budget: int, *, success: float = 1.0, attempt_cost: float, give_up: float = 0.0
    ) -> Payoffs:
        """Make payoffs in which every attempt costs the same, so that the length matters.

        A success at attempt j is worth ``success - j * attempt_cost``, giving up after j attempts
        ``give_up - j * attempt_cost``.

        Parameters
        ----------
        budget
            The maximum number of attempts, b.
        success
            What a success is worth before the cost of the attempts; at least 0.
        attempt_cost
            What every attempt costs, whether it succeeds or not; at least 0, and in total over the
            budget at most ``success``. Use 0 if candidates have a ``cost`` of their own.
        give_up
            What a round without a success is worth before the cost of the attempts; at most 0.
        """
        b = _budget(budget)
        worth = checks.real("success", success, minimum=0.0)
        cost = checks.real("attempt_cost", attempt_cost, minimum=0.0)
        stop = checks.real("give_up", give_up, maximum=0.0)
        tries = np.arange(b + 1)
        rewards = worth - cost * tries[1:]
        if b and rewards[-1] < -1e-12 * worth:
            most = int(worth * (1.0 + 1e-12) / cost)
            own = f"with attempt_cost {cost:g} and success {worth:g}"
            rule = f"be at most {most} {own}, so that a success still pays for its tries"
            raise InvalidInput("budget", rule, b)
        return cls(np.maximum(rewards, 0.0), stop - cost * tries)

    def priced(self, costs: ArrayLike | None = None, values: ArrayLike | None = None) -> Payoffs:
        """Return these payoffs with per-candidate costs of an attempt and values of a success."""
        self._need_candidates()
        own = _prices(costs, values)
        return Payoffs.__new__(Payoffs)._keep(self.rewards, self.losses, *own, self.patience, None)

    def patient(self, patience: float) -> Payoffs:
        """Return these payoffs with a different patience."""
        own = self.rewards, self.losses, self.costs, self.success_values
        return Payoffs.__new__(Payoffs)._keep(*own, _patience(patience), self._spent)

    def after(self, tried: int, candidates: Indices) -> Payoffs:
        """Return the payoffs of the rest of the round after some failures, for these candidates."""
        c, v = self.costs, self.success_values
        if c is not None and v is not None:
            c, v = c[candidates], v[candidates]
            _freeze(c, v)
        return Payoffs.__new__(Payoffs)._keep(
            self.rewards[tried:], self.losses[tried:], c, v, self.patience, None
        )

    @property
    def has_prices(self) -> bool:
        """Whether the candidates of the round have individual costs and values."""
        return self.costs is not None

    def check_prices(self, size: int) -> None:
        """Check that there are as many costs and values as candidates."""
        if self.costs is not None and len(self.costs) != size:
            rule = f"have {plural(size, 'number')}, one for each candidate of the round"
            raise InvalidInput("payoffs.costs", rule, len(self.costs))

    def prices(self, size: int) -> tuple[Vector, Vector, Vector, Vector, float]:
        """Return a plan's input: costs and values of ``size`` candidates, and the payoffs.

        Costs and values are 0 if candidates have no individual ones.
        """
        c, v = self.costs, self.success_values
        if c is None or v is None:
            c = v = np.zeros(size)
            c.flags.writeable = False  # as those of priced payoffs: one compiled plan
        return c, v, self.rewards, self.losses, self.patience

    def along(self, order: ArrayLike) -> Payoffs:
        """Return the payoffs by position for one sequence of candidates.

        A success at attempt j earns its reward and value minus the costs of the j attempts; giving
        up after j attempts earns the loss minus their costs. The results can be negative and can
        rise. Without prices they are the first ``len(order)`` positions.

        >>> payoffs = Payoffs.vanilla(2).priced(costs=[0.1, 0.3], values=[0.0, 1.0])
        >>> payoffs.along([1, 0]).rewards
        array([1.7, 0.6])
        """
        k = np.iinfo(np.int64).max if self.costs is None else len(self.costs)
        chosen = checks.sequence("order", order, k)
        n = self._fits("order", len(chosen))
        rewards, losses = self.rewards[:n], self.losses[: n + 1]
        if self.costs is None or self.success_values is None:
            spent = None if self._spent is None else self._spent[: n + 1]
            return Payoffs.__new__(Payoffs)._keep(rewards, losses, None, None, self.patience, spent)
        spent = np.zeros(n + 1)
        np.cumsum(self.costs[chosen], out=spent[1:])
        rewards = rewards + self.success_values[chosen] - spent[1:]
        return _rebuild(rewards, losses - spent, None, None, self.patience, spent)

    def best_sequence(
        self, probabilities: ArrayLike, budget: int | None = None, *, patience: float | None = None
    ) -> PlannedSequence:
        """Return the best order and length for candidates that succeed independently.

        Parameters
        ----------
        probabilities
            Success probability of each candidate: k numbers, as many as costs and values.
        budget
            The maximum number of attempts, by default the budget of the payoffs.
        patience
            Overrides the patience of the payoffs.
        """
        tries, p = self.tries(budget), _chances(probabilities)
        costs, values, rewards, losses, _ = self.prices(len(p))
        if len(p) != len(costs):
            rule = f"have {plural(len(costs), 'number')}, as many as costs and values"
            raise InvalidInput("probabilities", rule, len(p))
        order, length, value, bound = kernels.plan(
            p, costs, values, rewards, losses, self._patience(patience), tries
        )
        return PlannedSequence(order[:length], value, bound)

    def values(
        self, probabilities: ArrayLike, *, patience: float | None = None
    ) -> NDArray[np.float64]:
        """Return the expected reward E of every length 0..n along the sequence.

        ``probabilities[i]`` is the probability that item i succeeds, given that those above it
        failed; at most ``budget`` of them. ``patience`` is as for :meth:`best_sequence`.
        Shape (n + 1,).
        """
        p, q = self._checked(probabilities), self._patience(patience)
        return kernels.sequence_values(p, self.rewards, self.losses, q)

    def best_length(self, probabilities: ArrayLike, *, patience: float | None = None) -> int:
        """Return the length with the largest expected reward; ties go to the longest."""
        p, q = self._checked(probabilities), self._patience(patience)
        return int(kernels.best_length(p, self.rewards, self.losses, q))

    def reward(self, outcome: Cascade) -> float:
        """Return what this outcome earned, the paper's R(J, Y).

        If the outcome reports actual costs, they replace the planned ones.
        """
        self._need_positions()
        tried = outcome.tried
        if tried > self.budget:
            raise InvalidInput("outcome.tried", f"be at most {self.budget}", tried)
        earned = float(self.rewards[tried - 1] if outcome.succeeded else self.losses[tried])
        if outcome.costs is None:
            return earned
        planned = 0.0 if self._spent is None else float(self._spent[tried])
        return earned + planned - sum(outcome.costs)

    def tries(self, budget: int | None) -> int:
        """Return the maximum number of attempts: ``budget``, or that of the payoffs."""
        self._need_candidates()
        if budget is None:
            return self.budget
        if type(budget) is not int or budget < 0:
            if isinstance(budget, Mapping):
                rule = "be a whole number (context is given by keyword: context=...)"
                raise InvalidInput("budget", rule, repr(budget))
            budget = checks.whole("budget", budget)
        if budget > self.budget:
            raise InvalidInput("budget", f"be at most the payoffs' {self.budget}", budget)
        return budget

    def _checked(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        self._need_positions()
        p = _chances(probabilities)
        self._fits("probabilities", len(p))
        return p

    def _fits(self, parameter: str, length: int) -> int:
        if length > self.budget:
            raise InvalidInput(parameter, f"have at most {plural(self.budget, 'number')}", length)
        return length

    def _patience(self, given: float | None) -> float:
        return self.patience if given is None else _patience(given)

    def _need_candidates(self) -> None:
        if self._spent is not None:
            raise InvalidInput("payoffs", "not be those along a sequence", self)

    def _need_positions(self) -> None:
        if self.costs is not None:
            rule = "be by position: those of a sequence are payoffs.along(order), and "
            rule += "payoffs.best_sequence(probabilities) finds the best one"
            raise InvalidInput("payoffs", rule, f"costs of {len(self.costs)} candidates")

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.rewards, self.losses, self.costs, self.success_values
        return _rebuild, (*own, self.patience, self._spent)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Payoffs):
            return NotImplemented
        pairs = (
            (self.rewards, other.rewards),
            (self.losses, other.losses),
            (self.costs, other.costs),
            (self.success_values, other.success_values),
            (self._spent, other._spent),
        )
        return self.patience == other.patience and all(
            one is another if one is None or another is None else np.array_equal(one, another)
            for one, another in pairs
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = f"rewards={_shown(self.rewards)}, losses={_shown(self.losses)}"
        if self.costs is not None and self.success_values is not None:
            shown += f", costs={_shown(self.costs)}, values={_shown(self.success_values)}"
        more = "" if self.patience == 1.0 else f", patience={self.patience}"
        if self._spent is not None:
            return f"<Payoffs along a sequence: {shown}, spent={_shown(self._spent)}{more}>"
        return f"Payoffs({shown}{more})"

    def _repr_html_(self) -> str:
        """Show them in a notebook: a try in each row, then the candidates' costs and values."""
        budget, limit = self.budget, notebook.MAX_ROWS
        rows = [
            (tried, "" if tried == 0 else f"{self.rewards[tried - 1]:z.6g}", f"{loss:z.6g}")
            for tried, loss in enumerate(self.losses[: limit + 1])
        ]
        notes = [f"and {budget - limit} more tries"] if budget > limit else []
        if self.patience != 1.0:
            notes.append(f"patience: {self.patience:.4g} go on after a failure")
        head = ["tries", "success at this try", "give up after it"]
        shown = notebook.table(f"Payoffs of at most {budget} tries", head, rows, notes)
        if self.costs is None or self.success_values is None:
            return shown
        prices = list(zip(self.costs, self.success_values, strict=True))
        lines = [(i, f"{cost:z.6g}", f"{x:+z.6g}") for i, (cost, x) in enumerate(prices[:limit])]
        more = [f"and {len(prices) - limit} more candidates"] if len(prices) > limit else []
        head = ["candidate", "cost of a try", "on success"]
        return shown + notebook.table("Costs and values", head, lines, more)


def max_tries(payoffs: Payoffs, budget: int | None) -> int:
    """Return ``payoffs.tries(budget)`` for a policy, which refuses anything but payoffs."""
    if not isinstance(payoffs, Payoffs):
        raise InvalidInput("payoffs", "be a longrank.Payoffs", type(payoffs).__name__)
    return payoffs.budget if budget is None and payoffs._spent is None else payoffs.tries(budget)


def _rebuild(*parts: Any) -> Payoffs:
    """Make payoffs of parts that were checked; along a sequence they may be negative or rise."""
    _freeze(*(part for part in parts if isinstance(part, np.ndarray)))
    return Payoffs.__new__(Payoffs)._keep(*parts)


def _budget(value: int) -> int:
    budget = checks.whole("budget", value)
    if budget > MAX_BUDGET:
        raise InvalidInput("budget", f"be at most {MAX_BUDGET}", budget)
    return budget


def _shown(numbers: Vector) -> str:
    """Return numbers as a list; of very many the first ones, and how many more there are."""
    if len(numbers) <= _SHOWN:
        return repr(numbers.tolist())
    first = ", ".join(map(repr, numbers[:5].tolist()))
    return f"[{first}, and {len(numbers) - 5} more]"


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
        rule = f"have {plural(len(c), 'number')}, as many as costs"
        raise InvalidInput("values", rule, len(v))
    if (c < 0.0).any():
        raise InvalidInput("costs", "be at least 0", _first(c, c < 0.0))
    _check_size("costs", c)
    _check_size("values", v)
    _freeze(c, v)
    return c, v


def _check_size(name: str, array: NDArray[np.float64]) -> None:
    large = np.abs(array) > MAX_PRICE
    if large.any():
        i = int(np.flatnonzero(large)[0])
        rule = f"have an absolute value of at most {MAX_PRICE:g}"
        raise InvalidInput(f"{name}[{i}]", rule, float(array[i]))


def _freeze(*arrays: NDArray[np.float64]) -> None:
    for array in arrays:
        array.flags.writeable = False


def _chances(probabilities: ArrayLike) -> NDArray[np.float64]:
    p = checks.vector("probabilities", probabilities)
    outside = (p < 0.0) | (p > 1.0)
    if outside.any():
        raise InvalidInput("probabilities", "be between 0 and 1", _first(p, outside))
    return p


def _patience(patience: float) -> float:
    if type(patience) is float and 0.0 < patience <= 1.0:
        return patience
    return checks.real("patience", patience, above=0.0, maximum=1.0)


def _first(array: NDArray[np.float64], broken: Flags) -> str:
    index = int(np.flatnonzero(broken)[0])
    return f"{array[index]} at index {index}"
