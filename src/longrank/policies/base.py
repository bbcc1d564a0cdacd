"""The interface of a policy, and the one routine that ranks."""

from __future__ import annotations

import copy
import math
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels, learners, notebook, packing
from longrank.cascade import Outcome, Ranking
from longrank.contents import COUNT, PART, Contents, listed, optional, tree
from longrank.errors import BadFile, InvalidInput
from longrank.features import Features, Plain, Records, Tabular
from longrank.features.base import Greedy, Prepared
from longrank.learners import Costs, Learner
from longrank.packing import Tree
from longrank.parts import Part
from longrank.payoffs import Payoffs
from longrank.planners import find_contenders, plan_independent, plan_rolling
from longrank.policies.patience import Patience
from longrank.schema import Schema, positions

Candidates = Any  # records, names or a frame of them; an array, or what becomes one
Context = Mapping[str, Any]
Chance = tuple[NDArray[np.bool_], NDArray[np.float64]]
Seed = np.random.Generator | int
_PART = 1 << 12  # candidates whose costs are expected at once
PAIRS = (
    "hold pairs of a Ranking and an Outcome, or be a longrank.logs.History "
    "(longrank.logs.learn_from reads files and frames)"
)


@runtime_checkable
class Log(Protocol):
    """A log of decisions, which can be read with the features of a policy."""

    def pairs(self, policy: Policy) -> Iterable[tuple[Ranking, Outcome]]:
        """Return rankings and outcomes with the features of ``policy``."""


class Policy(Part, ABC):
    """Two verbs, `rank` and `learn`, and one receipt between them.

    A policy of your own implements :meth:`propose`, :meth:`learn`, :meth:`state` and
    :meth:`from_state`; ``longrank.testing`` checks that it keeps the promises made here.

    Attributes
    ----------
    rng
        The generator of random numbers; None if the policy does not draw.
    """

    rng: np.random.Generator | None = None

    @abstractmethod
    def propose(
        self,
        items: Candidates,
        payoffs: Payoffs,
        budget: int | None = None,
        *,
        context: Context | None = None,
        rng: Seed | None = None,
        probe: bool = True,
    ) -> Ranking:
        """Rank without any effect: the policy stays as it is, bit for bit.

        Takes what :meth:`rank` takes, and in addition:

        Parameters
        ----------
        rng
            The generator to draw from, or a seed. By default a copy of the policy's own, so that
            the answer is that of the next :meth:`rank`.
        probe
            Whether to probe where that is due; False for a policy that is not going to learn.
        """

    def rank(
        self,
        items: Candidates,
        payoffs: Payoffs,
        budget: int | None = None,
        *,
        context: Context | None = None,
    ) -> Ranking:
        """Decide which items to try, in which order, and how many; possibly none.

        :meth:`propose` with the policy's own generator, then :meth:`note`.

        Parameters
        ----------
        items
            The candidates of this round; their number may change from round to round. Records: a
            list of dictionaries or of plain names, or a pandas, polars or pyarrow frame with named
            columns. For a policy with ``dim``, numbers of shape (k, d): an array, a list of lists
            or a frame.
        payoffs
            What success and giving up are worth in this round.
        budget
            The maximum number of tries, at most ``payoffs.budget`` (the default).
        context
            What all candidates of the round share, as a dictionary; for records only.
        """
        given: dict[str, Any] = {} if context is None else {"context": context}
        ranking = self.propose(items, payoffs, budget, rng=self.rng, **given)
        self.note(ranking)
        return ranking

    def note(self, ranking: Ranking) -> bool:  # noqa: ARG002
        """Count a decision that is going to be played; return whether the policy changed.

        Does nothing unless the policy counts.
        """
        return False

    def count(self, ranking: Ranking) -> None:
        """Call :meth:`note`, under its former name."""
        warnings.warn("Policy.count is now called note", DeprecationWarning, stacklevel=2)
        self.note(ranking)

    @abstractmethod
    def learn(self, ranking: Ranking, outcome: Outcome) -> None:
        """Learn what became of a ranking: at once or much later, in any order.

        Only what was observed counts. After an error nothing has changed.
        """

    def learn_from(self, history: Iterable[tuple[Ranking, Outcome]] | Log) -> int:
        """Learn from rankings and their outcomes in the order given; return how many.

        The state is the same, bit for bit, as if it had learned from them one by one. Of a
        ``longrank.logs.History`` it learns what ``longrank.logs.learn_from`` does: the log is
        checked as a whole first, and its rows are made with this policy's features.
        """
        count = 0
        for pair in history.pairs(self) if isinstance(history, Log) else _iterate(history):
            if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], Ranking)):
                raise InvalidInput("history", PAIRS, f"a {type(pair).__name__} in it")
            self.learn(*pair)
            count += 1
        return count

    def receipt(
        self,
        items: Candidates,
        payoffs: Payoffs,
        order: ArrayLike,
        *,
        context: Context | None = None,
    ) -> Ranking:
        """Return the receipt of a sequence that somebody else chose, to learn from its outcome."""
        array = checks.items(without_context(items, context), None, unit=False)
        indices = checks.sequence("order", order, len(array))
        payoffs.check_prices(len(array))
        ranking = Ranking.blind(indices, array[indices], len(indices), float(payoffs.losses[0]))
        return ranking.at_prices(payoffs)

    def view(self) -> Self:
        """Return a copy to rank with, and to save, while this policy goes on learning.

        It shares nothing that :meth:`learn` writes. For policies with a learner it costs a copy of
        the belief, not of the history; for others a copy of everything. It must not learn.
        """
        return copy.deepcopy(self)

    def chance(self, sizes: Sequence[int]) -> Chance:
        """Draw the random choices of coming rounds with sets of these sizes, all at once.

        Which rounds are played at random, and for each item of all rounds the key by which it is
        ordered then. It draws from the policy's generator just as ranking the rounds would.
        """
        return np.zeros(len(sizes), np.bool_), np.zeros(sum(sizes))

    def compiled_rule(self) -> kernels.Rule | kernels.RecordRule | None:
        """How it decides in compiled runs, with :meth:`chance` for what is random.

        None where it is not compiled; subclasses do not inherit it.
        """
        return None

    @abstractmethod
    def state(self) -> Tree:
        """Return all of the policy, as a tree for :mod:`longrank.packing`."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Tree, features: Features) -> Self:
        """Rebuild the policy that :meth:`state` described, in the present layout."""

    def to_bytes(self) -> bytes:
        """Return the policy with all that it has learned; equal policies give equal bytes."""
        return packing.pack({"policy": self.saved()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file (all of it or nothing), for :func:`longrank.load`.

        The format is versioned and free of pickle. A policy that is saved, loaded and continued
        is equal bit for bit to one that never stopped.
        """
        packing.write(path, self.to_bytes())

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _repr_html_(self) -> str:
        """Show the policy in a notebook: its parts, and how much it has learned."""
        return notebook.table(type(self).__name__, [], self._shown())

    def _shown(self) -> list[tuple[str, object]]:
        return [("policy", repr(self))]

    def _generator(self, rng: Seed | None) -> np.random.Generator:
        """Return the generator to draw from: the given one, or a copy of our own."""
        return copy.deepcopy(self.rng) if rng is None else checks.generator(rng)  # type: ignore[return-value]

    @staticmethod
    def _tries(payoffs: Payoffs, budget: int | None, maximum: int | None = None) -> int:
        if not isinstance(payoffs, Payoffs):
            raise InvalidInput("payoffs", "be a longrank.Payoffs", type(payoffs).__name__)
        tries = payoffs.tries(budget)
        if maximum is not None and tries > maximum:
            raise InvalidInput("budget", f"be at most the learner's max_budget {maximum}", tries)
        return tries

    @staticmethod
    def _check(ranking: Ranking, outcome: Outcome, dims: range | None = None) -> None:
        if not isinstance(ranking, Ranking):
            raise InvalidInput("ranking", "be a longrank.Ranking", type(ranking).__name__)
        if not isinstance(outcome, Outcome):
            raise InvalidInput("outcome", "be a longrank.Outcome", type(outcome).__name__)
        outcome.check(len(ranking))
        if dims is not None and ranking.dim not in dims and len(ranking):
            made, given = (str(each or "0 (records)") for each in (dims[-1], ranking.dim))
            rule = f"have features of length {made}, as this policy makes them"
            raise InvalidInput("ranking", rule, given)


def without_context(items: Candidates, context: Context | None) -> Any:
    """Return candidates that are arrays, for a policy that takes no records."""
    if context is not None:
        rule = "be None for candidates that are arrays of numbers (recommended() takes records)"
        raise InvalidInput("context", rule, type(context).__name__)
    if isinstance(items, list | tuple) and items and isinstance(items[0], Mapping | str):
        rule = "be an array of numbers, as this policy was made for (recommended() takes records)"
        raise InvalidInput("items", rule, f"a list of {type(items[0]).__name__}")
    return items


def _iterate(history: Any) -> Iterator[Any]:
    if isinstance(history, str | bytes | os.PathLike) or not isinstance(history, Iterable):
        raise InvalidInput("history", PAIRS, type(history).__name__)
    return iter(history)


def unlearned(state: Tree) -> Tree:
    """Migrate a state that was saved before patience and costs were learned."""
    return {"patience": None, "costs": None} | state


class Believer(Policy):
    """A policy with a belief: the one routine that ranks, and the one that learns.

    Attributes
    ----------
    learner
        The belief about what succeeds.
    features
        How an item looks, given the items above it.
    """

    # Before versions: given_up came with probing; the first policies had neither.
    migrations: ClassVar = {0: lambda state: {"given_up": 0} | state}
    contents: ClassVar[Contents] = {
        "learner": PART,
        "given_up": COUNT,
        "patience": optional(listed(COUNT, exactly=2)),
        "costs": optional(tree(Costs.contents)),
    }

    bonus: float = 0.0  # how many standard deviations are added to a mean
    probing: bool = False  # whether it tries an item now and then where it would give up
    foresight: int = 0  # how many failures it foresees when it ranks
    given_up: int = 0
    patience: Patience | None = None  # of cascades, where it is learned
    costs: Costs | None = None  # of tries, where outcomes told them

    def __init__(self, learner: Learner, features: Features | None, patient: bool = False) -> None:
        self.learner = learner
        self.patience = Patience() if patient else None
        if features is None:
            features = Records() if learner.sparse else Plain()
        self.features = features
        if learner.sparse and not features.sparse:
            raise InvalidInput(
                "features", "be Records for a learner of sparse rows", repr(features)
            )
        if isinstance(features, Tabular) and features.length != learner.dim:
            rule = f"have a dim of {features.length}, the length of a row of {features!r}"
            raise InvalidInput("learner", rule, learner.dim)
        if features.sparse and not learner.sparse:
            raise InvalidInput(
                "learner", "be one of sparse rows (SparseLaplace) for records", learner
            )

    @property
    def schema(self) -> Schema:
        """How records become rows; only where candidates are records."""
        if not isinstance(self.features, Records):
            raise AttributeError("this policy takes arrays of numbers, and has no schema")
        return self.features.schema

    def propose(
        self,
        items: Candidates,
        payoffs: Payoffs,
        budget: int | None = None,
        *,
        context: Context | None = None,
        rng: Seed | None = None,
        probe: bool = True,
    ) -> Ranking:
        tries, draws = self._tries(payoffs, budget, self.learner.max_budget), self.rng is not None
        # A refusal must come before a draw, and neither foresight nor a plan scans as it checks.
        plans = payoffs.costs is not None or self.costs is not None
        lazy = not (draws or self.foresight or plans)
        prepared = self._prepare(items, context, lazy)
        count = min(tries, len(prepared))
        payoffs = self._payoffs(prepared, payoffs)
        due = self.probing and probe and count > 0 and kernels.probe_is_due(self.given_up)
        if draws:
            return self._draw(prepared, count, payoffs, int(due), self._generator(rng))
        return self._choose(prepared, count, payoffs, int(due))

    def _prepare(self, items: Candidates, context: Context | None, lazy: bool = False) -> Prepared:
        if self.features.sparse:
            return self.features.prepare(items, None, lazy, context=context)  # type: ignore[call-arg]
        return self.features.prepare(without_context(items, context), self.learner.dim, lazy)

    def _payoffs(self, prepared: Prepared, payoffs: Payoffs) -> Payoffs:
        """Return what the round pays, with the prices of records and the patience learned."""
        given, payoffs = payoffs, self.features.price(payoffs, prepared)
        if self.costs is not None and self.costs.count and len(prepared):
            unknown = self.features.without_cost(prepared, given)
            if unknown.any():
                expected = self._expected_costs(self.costs, prepared)
                costs, values = payoffs.prices(len(prepared))[:2]
                payoffs = payoffs.priced(np.where(unknown, expected, costs), values)
        if self.patience is not None and self.patience.stopped and payoffs.patience == 1.0:
            payoffs = payoffs.patient(self.patience.now)
        return payoffs

    def _expected_costs(self, costs: Costs, prepared: Prepared) -> NDArray[np.float64]:
        """Return what a try of each candidate is expected to cost, of very many part by part."""
        features, size = self.features, len(prepared)
        if features.sparse or not features.independent or size <= _PART:
            return costs.expect(features.next_rows(prepared, []), self._thrift)
        parts = np.split(np.arange(size), range(_PART, size, _PART))
        return np.concatenate(
            [costs.expect(features.along(prepared, part), self._thrift) for part in parts]
        )

    @property
    def plans_otherwise(self) -> bool:
        """Whether early stops or costs that it learned of enter its plans."""
        return self.costs is not None or (self.patience is not None and self.patience.stopped > 0)

    @property
    def _thrift(self) -> float:
        """By how many deviations an expected cost is lowered, as long as it is uncertain."""
        return self.bonus

    def note(self, ranking: Ranking) -> bool:
        """Count how often the policy gave up although it might have tried, for probing.

        A probe counts as well: without it the policy would have given up.
        """
        if not self.probing or len(ranking) > 1 or len(ranking.values) == 1:
            return False
        gave_up = bool(ranking.value <= ranking.values[0])
        self.given_up += gave_up
        return gave_up

    def learn(self, ranking: Ranking, outcome: Outcome) -> None:
        self._check(ranking, outcome, self._dims)
        if outcome.tried:
            rows = self.features.recall(ranking, outcome.tried)
            if ranking.from_elsewhere:
                self._check_rows(rows)
            self.learner.observe(rows, outcome.succeeded)
            if outcome.costs is not None:
                self._observe_costs(rows, np.array(outcome.costs))
            self.features.observe(rows)
            if self.patience is not None:
                self.patience.observe(len(ranking), outcome)
            if self.features.grows:
                self._grow(ranking)

    def _check_rows(self, rows: Any) -> None:
        """Refuse rows that the features cannot have made; sparse ones were checked when read."""
        if isinstance(rows, np.ndarray):
            square, limit = kernels.worst_row(rows)[1], self.features.max_square
            if not square <= limit:
                rule = f"have rows of a squared norm of at most {limit:.6g}, as this policy's are"
                raise InvalidInput("ranking", rule, f"{square:.6g}")

    @property
    def _dims(self) -> range:
        """The lengths of rows that it can learn from: also of those before the last growth."""
        dim = self.learner.dim
        return range(self.features.first_length if self.features.grows else dim, dim + 1)

    def _grow(self, ranking: Ranking) -> None:
        """Let the features see what a receipt carries, and the belief follow their rows."""
        length = self.features.adapt(ranking)
        if length > self.learner.dim:
            self.learner.extend(length)
            if self.costs is not None:
                self.costs.extend(length)

    def _observe_costs(self, rows: Any, costs: NDArray[np.float64]) -> None:
        if self.costs is None:
            self.costs = Costs(self.learner.dim, getattr(self.learner, "columns", 0))
        self.costs.observe(rows, costs)

    def receipt(
        self,
        items: Candidates,
        payoffs: Payoffs,
        order: ArrayLike,
        *,
        context: Context | None = None,
    ) -> Ranking:
        prepared = self._prepare(items, context)
        indices = checks.sequence("order", positions(items, order), len(prepared))
        if len(indices) > payoffs.budget:
            raise InvalidInput("order", f"have at most {payoffs.budget} numbers", len(indices))
        return self._along(prepared, indices, self._payoffs(prepared, payoffs), len(indices))

    def view(self) -> Self:
        viewed = object.__new__(type(self))
        viewed.__dict__.update(self.__dict__)  # copy.copy does the same, five times as slowly
        viewed.learner, viewed.features = self.learner.view(), self.features.view()
        if self.patience is not None:
            viewed.patience = self.patience.copy()
        if self.costs is not None:
            viewed.costs = self.costs.view()
        if self.rng is not None:
            viewed.rng = copy.deepcopy(self.rng)
        return viewed

    def _choose(self, prepared: Prepared, count: int, payoffs: Payoffs, minimum: int) -> Ranking:
        """Choose which items to try: at most ``count``, at least ``minimum``."""
        return self._best(prepared, count, payoffs, minimum)

    def _draw(
        self,
        prepared: Prepared,
        count: int,
        payoffs: Payoffs,
        minimum: int,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Ranking:
        """Choose by chance which items to try, as in :meth:`_choose`: for policies that draw."""
        return self._choose(prepared, count, payoffs, minimum)

    def _best(
        self,
        prepared: Prepared,
        count: int,
        payoffs: Payoffs,
        minimum: int = 0,
        belief: Any = None,
    ) -> Ranking:
        """Play the best by the belief for as long as that pays (at least ``minimum`` items)."""
        if belief is None:
            belief = self.learner.belief(self.bonus)
        if payoffs.costs is not None:
            return self._planned(prepared, count, payoffs, minimum, belief)
        chosen, numbers = Ranking.blank(count, self.learner.dim)
        length = self.features.decide(prepared, belief, payoffs, minimum, chosen, numbers)
        return self.features.receipt(prepared, chosen[:length], numbers, belief)

    def _planned(
        self,
        prepared: Prepared,
        count: int,
        payoffs: Payoffs,
        minimum: int,
        belief: Any,
        some: NDArray[np.int64] | None = None,
    ) -> Ranking:
        """Plan a round in which candidates have costs and values of their own.

        Where contenders were found already, ``some`` are they, and the belief is about them.
        """
        if minimum:  # no probe where not even a certain success would pay
            costs, values, rewards, losses, _ = payoffs.prices(len(prepared))
            minimum = int((rewards[0] + values - costs > losses[0]).any())
        greedy, bound = self._plan(prepared, count, payoffs, belief, some)
        return self._decide(prepared, greedy, payoffs, minimum, bound)

    def _plan(
        self,
        prepared: Prepared,
        count: int,
        payoffs: Payoffs,
        belief: Any,
        some: NDArray[np.int64] | None = None,
    ) -> tuple[Greedy, float]:
        """Plan by a belief; also return what the plan may miss, NaN where that is not known."""
        features, bound = self.features, math.nan
        if some is None and not features.sparse:
            some = self._contenders(prepared, count, payoffs, belief)
            belief = belief if some is None else belief.take(some)
        left, paid = prepared, payoffs
        if some is not None:
            left, paid = features.some(prepared, some), payoffs.after(0, some)
        if features.independent and not self.foresight:
            greedy, bound = plan_independent(features, left, belief, paid, count)
        else:
            greedy = plan_rolling(features, left, belief, paid, count, self.foresight, self.learner)
        if some is not None:
            greedy = (some[greedy[0]], *greedy[1:])
        return greedy, bound

    def _contenders(
        self,
        prepared: Prepared,
        count: int,
        payoffs: Payoffs,
        belief: Any,
        widest: NDArray[np.float64] | None = None,
    ) -> NDArray[np.int64] | None:
        """Find the few of very many candidates that a plan can contain; None for all."""
        few = kernels.count_contenders(count) if self.foresight else count
        return find_contenders(self.features, prepared, belief, payoffs, count, few, widest)

    def _along(
        self,
        prepared: Prepared,
        order: NDArray[np.int64],
        payoffs: Payoffs,
        minimum: int = 0,
        bound: float = math.nan,
    ) -> Ranking:
        """Play a given order for as long as that pays by its means (at least ``minimum`` items)."""
        rows = self.features.along(prepared, order)
        means, _ = self.learner.belief().score(rows)
        dense = np.empty((len(order), 0)) if self.features.sparse else rows
        return self._decide(prepared, (order, dense, means, means), payoffs, minimum, bound)

    def _decide(
        self,
        prepared: Prepared,
        greedy: Greedy,
        payoffs: Payoffs,
        minimum: int = 0,
        bound: float = math.nan,
    ) -> Ranking:
        """Truncate an order at the best length by its scores (at least ``minimum`` items).

        ``bound`` is what the best length of this order may miss of the optimum.
        """
        learner, order = self.learner, greedy[0]
        chosen, numbers = Ranking.blank(len(order), learner.dim)
        paid = payoffs.along(order) if payoffs.has_prices else payoffs
        rewards, losses, link = paid.rewards, paid.losses, learner.link.code
        length = kernels.decide(
            *greedy, rewards, losses, link, minimum, chosen, numbers, payoffs.patience
        )
        ranking = self.features.receipt(prepared, chosen[:length], numbers, learner.belief())
        if minimum and payoffs.has_prices:
            bound += float(ranking.values.max()) - ranking.value
        return ranking.at_prices(payoffs, bound)

    def state(self) -> Tree:
        return {
            "learner": self.learner.saved(),
            "features": self.features.saved(),
            "given_up": self.given_up,
            "patience": None if self.patience is None else self.patience.state(),
            "costs": None if self.costs is None else self.costs.state(),
        }

    def _resumed(self, state: Tree) -> Self:
        """Take over what was learned of early stops and of costs."""
        patience, costs = state["patience"], state["costs"]
        self.patience = None if patience is None else Patience.from_state(patience)
        if costs is not None:
            self.costs = Costs.from_state(costs)
            if (self.costs.dim, self.costs.columns > 0) != (self.learner.dim, self.learner.sparse):
                raise BadFile("the learner and what it expects of costs do not fit together")
        return self

    @staticmethod
    def _learner(state: Tree) -> Learner:
        return learners.from_state(state["learner"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.learner!r}, features={self.features!r})"

    def _shown(self) -> list[tuple[str, object]]:
        rows: list[tuple[str, object]] = [
            ("learner", repr(self.learner)),
            ("features", repr(self.features)),
            ("tries learned from", f"{self.learner.updates:,}"),
        ]
        if self.patience is not None:
            went_on, stopped = self.patience.went_on, self.patience.stopped
            rows.append(
                ("failures after which it went on", f"{went_on:,} of {went_on + stopped:,}")
            )
        return rows
