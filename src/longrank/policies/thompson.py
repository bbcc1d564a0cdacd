"""Thompson sampling: acts on a draw from the belief."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from longrank import checks, kernels
from longrank.cascade import Ranking
from longrank.features import Features
from longrank.features.base import Prepared
from longrank.learners import Learner
from longrank.packing import Tree
from longrank.payoffs import Payoffs
from longrank.policies.base import Believer, Chance
from longrank.policies.random import generator_from_state, generator_state


class Thompson(Believer):
    """Rank with weights drawn from the belief, a normal distribution around the learner's.

    An item is tried about as often as it is likely to be the best. The spread shrinks as the
    belief sharpens; ``scale`` widens or narrows it.

    Parameters
    ----------
    learner
        The belief: weights w, covariance M^-1.
    features
        How an item looks, given those above it.
    scale
        Multiplier of the standard deviation.
    rng
        The generator of random numbers, or its seed.
    """

    def __init__(
        self,
        learner: Learner,
        *,
        features: Features | None = None,
        scale: float = 1.0,
        rng: np.random.Generator | int,
    ) -> None:
        super().__init__(learner, features)
        self.scale = scale
        self.rng: np.random.Generator = checks.generator(rng)

    @property
    def scale(self) -> float:
        """Multiplier of the standard deviation; can be changed at any time."""
        return self._scale

    @scale.setter
    def scale(self, value: float) -> None:
        self._scale = checks.real("scale", value, minimum=0.0)

    def _draw(
        self, prepared: Prepared, count: int, payoffs: Payoffs, rng: np.random.Generator
    ) -> Ranking:
        learner = self.learner
        spread, axes = np.linalg.eigh(learner.inverse)
        deviations = np.sqrt(np.maximum(spread, 0.0)) * rng.standard_normal(learner.dim)
        drawn = learner.weights + self.scale * (axes @ deviations)
        certain = learner.belief()._replace(weights=drawn, inverse=np.zeros_like(learner.inverse))
        order, rows, _, scores = self.features.greedy(prepared, certain, count)
        means, _ = kernels.score_rows(rows, learner.weights, learner.inverse)
        return self._decide((order, rows, means, scores), payoffs)

    def chance(self, sizes: Sequence[int]) -> Chance:
        self.rng.standard_normal((len(sizes), self.learner.dim))
        return super().chance(sizes)

    def state(self) -> Tree:
        return super().state() | {"scale": self.scale, "rng": generator_state(self.rng)}

    @classmethod
    def from_state(cls, state: Tree, features: Features) -> Self:
        return cls(
            cls._learner(state),
            features=features,
            scale=state["scale"],
            rng=generator_from_state(state["rng"]),
        )
