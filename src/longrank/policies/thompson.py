"""Thompson sampling: acts on a draw from the belief."""

from __future__ import annotations

import math
import sys
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from longrank import checks, kernels
from longrank.belief import Belief
from longrank.contents import flag, real, whole
from longrank.decision import Ranking
from longrank.errors import InvalidInput
from longrank.features import Features
from longrank.features.base import Prepared
from longrank.learners import Learner
from longrank.packing import Tree
from longrank.payoffs import Payoffs
from longrank.policies.generators import generator_from_state, generator_state, saved_generator
from longrank.policies.learning import LearningPolicy, unlearned

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

    # Version 1 knew neither optimism nor probing; in version 2 the tail was always 4; version 3
    # did not foresee.
    version = 4
    migrations: ClassVar = {
        1: lambda state: {"optimistic": False, "probing": False, "tail": 6.0} | state,
        2: lambda state: {"tail": 4.0} | unlearned(state),
        3: lambda state: {"foresight": 0} | state,
    }
    contents: ClassVar = LearningPolicy.contents | {
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
        if self.foresight and not (self.optimistic and learner.foresees and not learner.sparse):
            rule = (
                "be 0 unless draws are optimistic and the learner is one for arrays that foresees"
            )
            raise InvalidInput("foresight", rule, foresight)
        self.rng: np.random.Generator = checks.generator(rng)

    @property
    def scale(self) -> float:
        """Multiplier of the standard deviation; can be changed at any time."""
        return self._scale

    @scale.setter
    def scale(self, value: float) -> None:
        self._scale = checks.real("scale", value, minimum=0.0)

    def _draw(
        self,
        prepared: Prepared,
        count: int,
        payoffs: Payoffs,
        minimum: int,
        rng: np.random.Generator,
    ) -> Ranking:
        drawn = self._by_draws(prepared, count, payoffs, minimum, rng)
        return drawn.planned(payoffs.patience, ", by scores drawn at random")

    def _by_draws(
        self,
        prepared: Prepared,
        count: int,
        payoffs: Payoffs,
        minimum: int,
        rng: np.random.Generator,
    ) -> Ranking:
        if self.learner.sparse:
            belief: Any = self.learner.belief(self._bonus(self._deviates(rng, len(prepared))))  # type: ignore[arg-type]
            return self._best(prepared, count, payoffs, minimum, belief)
        if self.optimistic:
            bonus = self._bonus(self._deviates(rng, len(prepared)))
            belief = self.learner.belief()._replace(bonus=bonus)
            if payoffs.has_prices:
                return self._planned(prepared, count, payoffs, minimum, belief)
            rows, inverse = self.features.rows(prepared), belief.inverse
            means, widths = belief.score(rows)
            columns, exact = np.ascontiguousarray(rows.T), np.ones(len(rows), np.bool_)
            greedy = kernels.foresee(
                columns, means, widths**2, exact, inverse, bonus, count, self.foresight
            )
            return self._decide(prepared, greedy, payoffs, minimum)
        certain = self._draw_weights(rng)
        if payoffs.has_prices:
            greedy, bound = self._plan(prepared, count, payoffs, certain)
        else:
            greedy, bound = self.features.greedy(prepared, certain, count), math.nan
        order, rows, _, scores = greedy
        means, _ = self.learner.belief().score(rows)
        return self._decide(prepared, (order, rows, means, scores), payoffs, minimum, bound)

    @property
    def _each(self) -> bool:
        """Whether the score of each item is drawn by itself."""
        return self.optimistic or self.learner.sparse

    @property
    def _thrift(self) -> float:
        return self.scale

    def _draw_weights(self, rng: np.random.Generator) -> Belief:
        """Draw weights, and be certain of them."""
        learner = self.learner
        spread, axes = np.linalg.eigh(learner.inverse)
        deviations = np.sqrt(np.maximum(spread, 0.0)) * rng.standard_normal(learner.dim)
        drawn = learner.weights + self.scale * (axes @ deviations)
        return learner.belief()._replace(weights=drawn, inverse=np.zeros_like(learner.inverse))

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

    def state(self) -> Tree:
        return super().state() | {
            "scale": self.scale,
            "rng": generator_state(self.rng),
            "optimistic": self.optimistic,
            "probing": self.probing,
            "tail": self.tail,
            "foresight": self.foresight,
        }

    @classmethod
    def from_state(cls, state: Tree, features: Features) -> Self:
        return cls(
            cls._learner(state),
            features=features,
            scale=state["scale"],
            rng=generator_from_state(state["rng"]),
            optimistic=state["optimistic"],
            probing=state["probing"],
            tail=state["tail"],
            foresight=state["foresight"],
        )._resumed(state)
