"""Thompson sampling: acts on a draw from the belief."""

import sys
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from longrank import checks
from longrank.contents import flag, real, whole
from longrank.errors import InvalidInput
from longrank.features import Features
from longrank.learners import Learner
from longrank.planning import Optimism
from longrank.policies.base import saved_generator
from longrank.policies.learning import LearningPolicy

_RARE = 1.6448536269514722  # one normal number in ten is larger


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
    optimistic
        Whether to draw only upwards: the score of each item is drawn independently, a draw below
        the mean is mirrored above it, and one in ten is ``tail`` times as wide, so that rare, large
        effects are found. Needs features that do not depend on the items above.
    probing, foresight
        As for :class:`UCB`; foresight needs optimistic draws.
    tail
        How much wider one optimistic draw in ten is, at least 1.
    patient
        Whether to learn from early stops (final declines, readers who leave) how likely a cascade
        is to continue after a failure, and to plan with that.
    """

    settings: ClassVar = {
        "scale": real(0.0, sys.float_info.max),
        "rng": saved_generator,
        "optimistic": flag,
        "probing": flag,
        "tail": real(1.0, sys.float_info.max),
        "foresight": whole(),
    }

    def __init__(
        self,
        learner: Learner,
        *,
        features: Features | None = None,
        scale: float = 1.0,
        rng: np.random.Generator | int,
        optimistic: bool = False,
        probing: bool = False,
        tail: float = 6.0,
        patient: bool = False,
        foresight: int = 0,
    ) -> None:
        super().__init__(learner, features, patient)
        self.scale = scale
        self.tail = checks.real("tail", tail, minimum=1.0)
        self.optimistic, self.probing = bool(optimistic), bool(probing)
        if self.optimistic and not self.features.independent:
            rule = "not let a row depend on the items above it, for optimistic draws"
            raise InvalidInput("features", rule, repr(self.features))
        self.foresight = checks.whole("foresight", foresight)
        if self.foresight and not (self.optimistic and learner.foresees):
            rule = "be 0 unless draws are optimistic and the learner is one that foresees"
            raise InvalidInput("foresight", rule, foresight)
        self.rng: np.random.Generator = checks.generator(rng)

    @property
    def scale(self) -> float:
        """Multiplier of the standard deviation; can be changed at any time."""
        return self._scale

    @scale.setter
    def scale(self, value: float) -> None:
        self._scale = checks.real("scale", value, minimum=0.0)

    def optimism(self, size: int, rng: np.random.Generator | None) -> Optimism:
        assert rng is not None
        words = ", by scores drawn at random"
        if self._each:
            bonus = self._bonus(self._deviates(rng, size))
            return Optimism(bonus, foresight=self.foresight, words=words)
        return Optimism(weights=self._draw_weights(rng), words=words)

    @property
    def _each(self) -> bool:
        """Whether the score of each item is drawn by itself."""
        return self.optimistic or self.learner.sparse

    @property
    def _thrift(self) -> float:
        return self.scale

    def _draw_weights(self, rng: np.random.Generator) -> NDArray[np.float64]:
        learner = self.learner
        spread, axes = np.linalg.eigh(learner.inverse)
        deviations = np.sqrt(np.maximum(spread, 0.0)) * rng.standard_normal(learner.dim)
        return np.asarray(learner.weights + self.scale * (axes @ deviations))

    def _deviates(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Draw how far each score lies from its mean, in deviations before they are scaled."""
        if not self.optimistic:
            return rng.standard_normal(count)
        drawn, other = rng.standard_normal((count, 2)).T
        return np.asarray(np.where(np.abs(other) > _RARE, self.tail * drawn, drawn))

    def _bonus(self, drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        """How many standard deviations are added to each mean."""
        bonus = self.scale * drawn
        return np.abs(bonus) if self.optimistic else bonus
