"""Thompson sampling: acts on a draw from the belief."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from longrank import checks, kernels, learners
from longrank.cascade import Ranking
from longrank.features import Features
from longrank.features.base import Prepared
from longrank.learners import Learner
from longrank.packing import Tree
from longrank.payoffs import Payoffs
from longrank.policies.base import Believer, Chance
from longrank.policies.random import generator_from_state, generator_state


class Thompson(Believer):
    """Draws weights from a normal distribution around the learner's, and ranks with those.

    An item is thus tried about as often as it is likely to be the best. The spread falls as the
    belief sharpens, so there is nothing to tune; ``scale`` widens or narrows it.

    Parameters
    ----------
    learner
        The belief: weights w, covariance M^-1.
    features
        How an item looks, given those above it.
    scale
        Of the standard deviation.
    rng
        The generator of random numbers, or its seed.
    """

    draws = True

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
        self.rng = checks.generator(rng)

    @property
    def scale(self) -> float:
        """Of the standard deviation; can be changed at any time."""
        return self._scale

    @scale.setter
    def scale(self, value: float) -> None:
        self._scale = checks.real("scale", value, least=0.0)

    def _choose(self, prepared: Prepared, count: int, payoffs: Payoffs) -> Ranking:
        learner = self.learner
        spread, axes = np.linalg.eigh(learner.inverse)
        deviations = np.sqrt(np.maximum(spread, 0.0)) * self.rng.standard_normal(learner.dim)
        drawn = learner.weights + self.scale * (axes @ deviations)
        order, rows, _, scores = self.features.greedy(
            prepared, drawn, np.zeros_like(learner.inverse), 0.0, learner.link.ceiling, count
        )
        means, _ = kernels.score_rows(rows, learner.weights, learner.inverse)
        return self._decide((order, rows, means, scores), payoffs)

    def chance(self, sizes: Sequence[int]) -> Chance:
        self.rng.standard_normal((len(sizes), self.learner.dim))
        return super().chance(sizes)

    def state(self) -> Tree:
        return super().state() | {"scale": self.scale, "rng": generator_state(self.rng)}

    @classmethod
    def from_state(cls, state: Tree, features: Features) -> Thompson:
        return cls(
            learners.from_state(state["learner"]),
            features=features,
            scale=state["scale"],
            rng=generator_from_state(state["rng"]),
        )
