"""Epsilon-greedy: a random order now and then, otherwise the best estimate."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from longrank import checks
from longrank.contents import real
from longrank.decision import Ranking
from longrank.features import Features
from longrank.learners import Learner
from longrank.payoffs import Payoffs
from longrank.planning import Round, follow
from longrank.policies.base import Candidates, Context, saved_generator
from longrank.policies.learning import LearningPolicy
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

    settings: ClassVar = {"epsilon": real(0.0, 1.0), "rng": saved_generator}

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

    def _decide(self, dealt: Round, rng: np.random.Generator | None) -> Ranking:
        assert rng is not None
        if rng.random() < self.epsilon:
            order = random_order(rng, len(dealt.candidates), dealt.tries)
            return follow(self.learner, dealt._replace(minimum=dealt.tries), order)
        return super()._decide(dealt, rng)

    def choices(
        self,
        items: Candidates,
        payoffs: Payoffs,
        order: ArrayLike,
        budget: int | None = None,
        *,
        context: Context | None = None,
    ) -> Choices:
        dealt = self._deal(items, payoffs, budget, context)
        size, count = len(dealt.candidates), dealt.tries
        along = checks.sequence("order", positions(items, order), size)
        best = super()._decide(dealt, None).order
        greedy = certain_choices(best, size, along)
        return mixed_choices(self.epsilon, uniform_choices(size, count, along), greedy, along)
