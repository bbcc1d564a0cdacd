"""Thompson sampling: acts on a draw from the belief."""

import sys
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from longrank import checks
from longrank.contents import real
from longrank.features import Features
from longrank.learners import Learner
from longrank.planning import Optimism, Round
from longrank.policies.base import saved_generator
from longrank.policies.learning import LearningPolicy


class Thompson(LearningPolicy):
    """Rank with weights drawn from the belief, a normal distribution around the learner's.

    An item is tried about as often as it is likely to be the best. The spread shrinks as the
    belief sharpens; ``scale`` widens or narrows it. If candidates are records, the score of each
    is drawn independently.

    Parameters
    ----------
    learner
        The belief: weights w, covariance M^-1.
    features
        How an item is represented, given those above it.
    scale
        Multiplier of the standard deviation.
    rng
        The random generator, or its seed.
    patient
        Whether to learn from early stops (final declines, readers who leave) how likely a cascade
        is to continue after a failure, and to plan with that.
    """

    settings: ClassVar = {
        "scale": real(0.0, sys.float_info.max),
        "rng": saved_generator,
    }

    def __init__(
        self,
        learner: Learner,
        *,
        features: Features | None = None,
        scale: float = 1.0,
        rng: np.random.Generator | int,
        patient: bool = False,
    ) -> None:
        super().__init__(learner, features, patient)
        self.scale = scale
        self.rng: np.random.Generator = checks.generator(rng)

    @property
    def scale(self) -> float:
        """Multiplier of the standard deviation; can be changed at any time."""
        return self._scale

    @scale.setter
    def scale(self, value: float) -> None:
        self._scale = checks.real("scale", value, minimum=0.0)

    def optimism(self, dealt: Round, rng: np.random.Generator | None) -> Optimism:
        assert rng is not None
        words = ", by scores drawn at random"
        if self.learner.sparse:
            return Optimism(self.scale * rng.standard_normal(len(dealt.candidates)), words=words)
        return Optimism(weights=self._draw_weights(rng), words=words)

    @property
    def _thrift(self) -> float:
        return self.scale

    def _draw_weights(self, rng: np.random.Generator) -> NDArray[np.float64]:
        learner = self.learner
        spread, axes = np.linalg.eigh(learner.inverse)
        deviations = np.sqrt(np.maximum(spread, 0.0)) * rng.standard_normal(learner.dim)
        return np.asarray(learner.weights + self.scale * (axes @ deviations))
