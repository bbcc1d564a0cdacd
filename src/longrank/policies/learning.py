"""A policy with a belief: the one routine that ranks, and the one that learns."""

from __future__ import annotations

import copy
import inspect
import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels, learners
from longrank.contents import COUNT, PART, Contents, listed, optional, tree
from longrank.decision import Outcome, Ranking
from longrank.errors import BadFile, InvalidInput
from longrank.features import Features, Plain, Records, Tabular
from longrank.features.base import Greedy, Prepared
from longrank.learners import Costs, Learner
from longrank.packing import Tree
from longrank.payoffs import Payoffs
from longrank.planners import find_contenders, plan_independent, plan_rolling
from longrank.policies.base import Candidates, Context, Policy, Seed, without_context
from longrank.policies.patience import Patience
from longrank.schema import Schema, positions

_PART = 1 << 12  # candidates whose costs are expected at once


def unlearned(state: Tree) -> Tree:
    """Migrate a state that was saved before patience and costs were learned."""
    return {"patience": None, "costs": None} | state


class LearningPolicy(Policy):
    """A policy that ranks by what a learner believes, and lets it learn.

    Attributes
    ----------
    learner
        The belief about what succeeds.
    features
        How an item is represented, given the items above it.
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
        may = self.probing and self.given_up and probe and count  # seldom, and a kernel takes time
        due = bool(may) and kernels.probe_is_due(self.given_up)
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
    def uses_learned_costs(self) -> bool:
        """Whether early stops or costs that it learned of enter its plans."""
        return self.costs is not None or (self.patience is not None and self.patience.stopped > 0)

    @property
    def _thrift(self) -> float:
        """By how many deviations an expected cost is lowered, as long as it is uncertain."""
        return self.bonus

    def record_decision(self, ranking: Ranking) -> bool:
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
        chosen, numbers = Ranking.allocate(count, self.learner.dim)
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
        chosen, numbers = Ranking.allocate(len(order), learner.dim)
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
        parts = [repr(self.learner), f"features={self.features!r}"]
        parts += [f"{name}={value!r}" for name, value in self._settings().items()]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _settings(self) -> dict[str, object]:
        """Return the numbers and flags that the constructor was given, except defaults."""
        found: dict[str, object] = {}
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = self.patience is not None if name == "patient" else getattr(self, name, None)
            if isinstance(value, bool | int | float | str) and value != parameter.default:
                found[name] = value
        return found

    def _shown(self) -> list[tuple[str, object]]:
        rows: list[tuple[str, object]] = [
            ("learner", repr(self.learner)),
            ("features", repr(self.features)),
            *self._settings().items(),
            ("tries learned from", f"{self.learner.updates:,}"),
        ]
        if self.patience is not None:
            went_on, stopped = self.patience.went_on, self.patience.stopped
            rows.append(
                ("failures after which it went on", f"{went_on:,} of {went_on + stopped:,}")
            )
        return rows
