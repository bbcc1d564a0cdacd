"""A policy with a belief: how it ranks, learns and is saved."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels, learners
from longrank.contents import COUNT, PART, Contents, listed, optional, tree
from longrank.decision import PROBE, Outcome, Ranking, check_pair
from longrank.errors import BadFile, InvalidInput, plural
from longrank.features import Features, Plain, Records
from longrank.features.base import Encoded
from longrank.learners import Costs, Learner
from longrank.packing import Tree
from longrank.payoffs import Payoffs, max_tries
from longrank.planning import Optimism, Round, decide, follow
from longrank.policies.base import (
    Candidates,
    Context,
    Policy,
    Seed,
    generator_from_state,
    generator_state,
    without_context,
)
from longrank.schema import Schema, positions

_PART = 1 << 12  # candidates whose costs are expected at once
_HOPE = 0.5  # deviations above the means at which a probe has its best length
_GOING = 10.0  # failures after which every cascade went on, counted in advance


class LearningPolicy(Policy):
    """A policy that ranks by what a learner believes, and lets it learn.

    A subclass says in :meth:`optimism` what it adds to a mean, or draws; everything else is here
    and in :mod:`longrank.planning`.

    Attributes
    ----------
    learner
        The belief about what succeeds.
    features
        How an item is represented, given the items above it.
    """

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
            raise InvalidInput("features", "be Records for a learner in blocks", repr(features))
        if features.sparse and not learner.sparse:
            raise InvalidInput("learner", "be Blocks for Records", learner)
        if isinstance(features, Records) and learner.dim not in (0, features.block):
            rule = f"be new, or have a dense block of {features.block} columns, as its features do"
            raise InvalidInput("learner", rule, learner.dim)

    @property
    def schema(self) -> Schema:
        """How records become rows; only where candidates are records."""
        if not isinstance(self.features, Records):
            raise AttributeError("this policy has no schema, since its features are not Records")
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
        dealt = self._deal(items, payoffs, budget, context)
        drawn_by = None
        if self.rng is not None:
            drawn_by = rng if isinstance(rng, np.random.Generator) else self._generator(rng)
        if not (probe and self.probing and self.given_up and kernels.probe_is_due(self.given_up)):
            return self._decide(dealt, drawn_by)
        optimism = self.optimism(dealt, drawn_by)
        ranking = decide(self.learner, dealt, optimism)
        if len(ranking):
            return ranking
        hopeful = decide(self.learner, dealt, Optimism(_HOPE, foresight=self.foresight))
        minimum = min(max(len(hopeful), 1), dealt.tries)
        played = decide(self.learner, dealt._replace(minimum=minimum), optimism)
        return played.planned(played.patience, PROBE) if len(played) else played

    def _deal(
        self, items: Candidates, payoffs: Payoffs, budget: int | None, context: Context | None
    ) -> Round:
        """Encode the candidates of a round, and find out what it pays."""
        tries, max_budget = max_tries(payoffs, budget), self.learner.max_budget
        if max_budget is not None and tries > max_budget:
            raise InvalidInput("budget", f"be at most the learner's max_budget {max_budget}", tries)
        # A refusal must come before a draw, and neither foresight nor a plan scans and checks.
        plans = payoffs.costs is not None or self.costs is not None
        candidates = self._encode(items, context, not (plans or self.rng or self.foresight))
        size = len(candidates)
        paid = self._price(candidates, size, payoffs)
        return Round(self.features, candidates, paid, tries if tries < size else size)

    def _encode(self, items: Candidates, context: Context | None, lazy: bool = False) -> Encoded:
        if self.features.sparse:
            return self.features.encode(items, context=context)  # type: ignore[call-arg]
        if context is not None or not isinstance(items, np.ndarray):
            items = without_context(items, context)
        return self.features.encode(items, self.learner.dim, lazy)

    def _price(self, candidates: Encoded, size: int, payoffs: Payoffs) -> Payoffs:
        """Return what the round pays, with the prices of records and the patience learned."""
        features, given = self.features, payoffs.costs is not None
        if features.sparse:
            assert isinstance(features, Records)
            payoffs = features.price(candidates, payoffs)
        if payoffs.costs is not None:
            payoffs.check_prices(size)
        if self.costs is not None and self.costs.count and not given and size:
            unknown = np.ones(size, np.bool_)
            if isinstance(features, Records):
                unknown = features.without_cost(candidates)
            if unknown.any():
                expected = self._expected_costs(self.costs, candidates)
                costs, values = payoffs.prices(size)[:2]
                payoffs = payoffs.priced(np.where(unknown, expected, costs), values)
        if self.patience is not None and self.patience.stopped and payoffs.patience == 1.0:
            payoffs = payoffs.patient(self.patience.now)
        return payoffs

    def _expected_costs(self, costs: Costs, candidates: Encoded) -> NDArray[np.float64]:
        """Return what a try of each candidate is expected to cost, of very many part by part."""
        features, size = self.features, len(candidates)
        if not features.independent or size <= _PART:
            return costs.expect(features.next_rows(candidates, []), self._thrift)
        parts = np.split(np.arange(size), range(_PART, size, _PART))
        return np.concatenate(
            [costs.expect(features.along(candidates, part), self._thrift) for part in parts]
        )

    def _decide(self, dealt: Round, rng: np.random.Generator | None) -> Ranking:
        """Decide about an encoded round; ``rng`` is None for policies that draw nothing."""
        return decide(self.learner, dealt, self.optimism(dealt, rng))

    def optimism(self, dealt: Round, rng: np.random.Generator | None) -> Optimism:  # noqa: ARG002
        """Return what is added to the means of the candidates of a round."""
        return Optimism(self.bonus, foresight=self.foresight)

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
        if not self.probing or len(ranking.values) == 1:
            return False
        gave_up = not len(ranking) or bool(ranking.value < ranking.values[0])
        self.given_up += gave_up
        return gave_up

    def learn(self, ranking: Ranking, outcome: Outcome) -> None:
        check_pair(ranking, outcome, None if self.features.sparse else self.learner.dim)
        if outcome.tried:
            rows = self.features.recall(ranking, outcome.tried)
            if ranking.from_elsewhere:
                self._check_rows(rows)
            self.learner.observe(rows, outcome.succeeded)
            if outcome.costs is not None:
                self._observe_costs(rows, np.array(outcome.costs))
            if self.patience is not None:
                self.patience.observe(len(ranking), outcome)
            width = self.features.observe(rows, ranking.sample)
            if width > self.learner.dim:
                self.learner.extend(width)

    def _check_rows(self, rows: Any) -> None:
        """Refuse rows that the features cannot have made; sparse parts were checked when read."""
        rows = rows if isinstance(rows, np.ndarray) else rows.dense
        if rows is not None:
            square, limit = kernels.worst_row(rows)[1], self.features.max_square
            if not square <= limit:
                rule = f"have rows of a squared norm of at most {limit:.6g}, as this policy's are"
                raise InvalidInput("ranking", rule, f"{square:.6g}")

    def _observe_costs(self, rows: Any, costs: NDArray[np.float64]) -> None:
        if self.costs is None:
            dim = 0 if self.learner.sparse else self.learner.dim
            self.costs = Costs(dim, getattr(self.learner, "columns", 0))
        self.costs.observe(rows, costs)

    def receipt(
        self,
        items: Candidates,
        payoffs: Payoffs,
        order: ArrayLike,
        *,
        context: Context | None = None,
    ) -> Ranking:
        candidates = self._encode(items, context)
        indices = checks.sequence("order", positions(items, order), len(candidates))
        count = len(indices)
        if count > payoffs.budget:
            raise InvalidInput("order", f"have at most {plural(payoffs.budget, 'number')}", count)
        paid = self._price(candidates, len(candidates), payoffs)
        return follow(self.learner, Round(self.features, candidates, paid, count, count), indices)

    def view(self) -> Self:
        viewed = object.__new__(type(self))
        viewed.__dict__.update(self.__dict__)  # copy.copy does the same, five times as slowly
        viewed.learner, viewed.features = self.learner.view(), self.features.view()
        if self.patience is not None:
            viewed.patience = self.patience.copy()
        if self.costs is not None:
            viewed.costs = self.costs.view()
        if self.rng is not None:
            viewed.rng = generator_from_state(generator_state(self.rng))
        return viewed

    def state(self) -> Tree:
        state = {
            "learner": self.learner.saved(),
            "features": self.features.saved(),
            "given_up": self.given_up,
            "patience": None if self.patience is None else self.patience.state(),
            "costs": None if self.costs is None else self.costs.state(),
        }
        state |= super().state()
        if self.rng is not None:
            state["rng"] = generator_state(self.rng)
        return state

    @classmethod
    def from_state(cls, state: Tree, features: Features) -> Self:
        settings = {name: state[name] for name in cls.settings}
        if settings.get("rng") is not None:
            settings["rng"] = generator_from_state(settings["rng"])
        policy = cls(learners.from_state(state["learner"]), features=features, **settings)
        policy._restore(state)
        return policy

    def _restore(self, state: Tree) -> None:
        """Take over what was learned of giving up, of early stops and of costs."""
        patience, costs = state["patience"], state["costs"]
        self.given_up = state["given_up"]
        self.patience = None if patience is None else Patience(*patience)
        if costs is not None:
            self.costs = Costs.from_state(costs)
            dim = 0 if self.learner.sparse else self.learner.dim
            if (self.costs.dim, self.costs.columns > 0) != (dim, self.learner.sparse):
                raise BadFile("the learner and what it expects of costs do not fit together")

    def __repr__(self) -> str:
        parts = [repr(self.learner), f"features={self.features!r}"]
        parts += [f"{name}={value!r}" for name, value in self._given().items()]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _given(self) -> dict[str, object]:
        """Return the numbers and flags that the constructor was given, except defaults."""
        given: dict[str, object] = {}
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = self.patience is not None if name == "patient" else getattr(self, name, None)
            if isinstance(value, bool | int | float | str) and value != parameter.default:
                given[name] = value
        return given

    def _shown(self) -> list[tuple[str, object]]:
        rows: list[tuple[str, object]] = [
            ("learner", repr(self.learner)),
            ("features", repr(self.features)),
            *self._given().items(),
            ("tries learned from", f"{self.learner.updates:,}"),
        ]
        if self.patience is not None:
            went_on, stopped = self.patience.went_on, self.patience.stopped
            rows.append(
                ("failures after which it went on", f"{went_on:,} of {went_on + stopped:,}")
            )
        return rows


class Patience:
    """Share of failures after which a cascade continued, if attempts were left.

    A final decline and a reader who leaves are early stops: the outcome reports fewer attempts
    than the sequence had, and no success. Until the first of them the patience is exactly 1.
    """

    __slots__ = ("stopped", "went_on")

    def __init__(self, went_on: int = 0, stopped: int = 0) -> None:
        self.went_on, self.stopped = went_on, stopped

    @property
    def now(self) -> float:
        """The current estimate, above 0 and at most 1: 1 until the first early stop."""
        going = self.went_on + _GOING
        return going / (going + self.stopped)

    def observe(self, length: int, outcome: Outcome) -> None:
        """Count the failures of a sequence of this length."""
        if outcome.tried:
            self.went_on += outcome.tried - 1
            self.stopped += not outcome.succeeded and outcome.tried < length

    def __repr__(self) -> str:
        return f"Patience({self.now:.4g}, went on {self.went_on} times, stopped {self.stopped})"

    def copy(self) -> Self:
        """Return an independent copy."""
        return type(self)(self.went_on, self.stopped)

    def state(self) -> Sequence[int]:
        """Return the counts."""
        return [self.went_on, self.stopped]
