"""Epsilon-greedy: a random order now and then, otherwise the best estimate."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from longrank import checks
from longrank.contents import real
from longrank.decision import Ranking
from longrank.features import Features
from longrank.features.base import Prepared
from longrank.learners import Learner
from longrank.packing import Tree
from longrank.payoffs import Payoffs
from longrank.policies.base import Candidates, Context
from longrank.policies.generators import generator_from_state, generator_state, saved_generator
from longrank.policies.learning import LearningPolicy, unlearned
from longrank.policies.random import random_order
from longrank.policies.randomised import (
    Choices,
    Randomised,
    certain_choices,
    mixed_choices,
    uniform_choices,
)
from longrank.schema import positions


class EpsilonGreedy(LearningPolicy, Randomised):
    """Rank at random with probability epsilon, otherwise by the estimates: the paper's Eps.

    Parameters
    ----------
    learner
        The belief.
    features
        How an item is represented, given those above it.
    epsilon
        The share of random rounds, 0 to 1; the paper searches 0.01 to 0.5.
    rng
        The random generator, or its seed.
    patient
        Whether to learn from early stops (final declines, readers who leave) how likely a cascade
        is to continue after a failure, and to plan with that.
    """

    version = 2
    migrations: ClassVar = LearningPolicy.migrations | {1: unlearned}
    contents: ClassVar = LearningPolicy.contents | {
        "epsilon": real(0.0, 1.0),
        "rng": saved_generator,
    }

    def __init__(
        self,
        learner: Learner,
        *,
        features: Features | None = None,
        epsilon: float,
        rng: np.random.Generator | int,
        patient: bool = False,
    ) -> None:
        super().__init__(learner, features, patient)
        self.epsilon = epsilon
        self.rng: np.random.Generator = checks.generator(rng)

    @property
    def epsilon(self) -> float:
        """The share of random rounds; can be changed at any time."""
        return self._epsilon

    @epsilon.setter
    def epsilon(self, value: float) -> None:
        self._epsilon = checks.real("epsilon", value, minimum=0.0, maximum=1.0)

    def _draw(
        self,
        prepared: Prepared,
        count: int,
        payoffs: Payoffs,
        minimum: int,
        rng: np.random.Generator,
    ) -> Ranking:
        if rng.random() < self.epsilon:
            order = random_order(rng, len(prepared), count)
            return self._along(prepared, order, payoffs, count)
        best = self._best(prepared, count, payoffs, minimum)
        return best.planned(payoffs.patience)

    def choices(
        self,
        items: Candidates,
        payoffs: Payoffs,
        order: ArrayLike,
        budget: int | None = None,
        *,
        context: Context | None = None,
    ) -> Choices:
        prepared = self._prepare(items, context)
        count = min(self._tries(payoffs, budget, self.learner.max_budget), len(prepared))
        along = checks.sequence("order", positions(items, order), len(prepared))
        best = self._best(prepared, count, self._payoffs(prepared, payoffs)).order
        greedy = certain_choices(best, len(prepared), along)
        return mixed_choices(
            self.epsilon, uniform_choices(len(prepared), count, along), greedy, along
        )

    def state(self) -> Tree:
        return super().state() | {"epsilon": self.epsilon, "rng": generator_state(self.rng)}

    @classmethod
    def from_state(cls, state: Tree, features: Features) -> Self:
        return cls(
            cls._learner(state),
            features=features,
            epsilon=state["epsilon"],
            rng=generator_from_state(state["rng"]),
        )._resumed(state)
