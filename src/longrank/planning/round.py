"""What a decision depends on: the round, and what the policy adds to the means."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from longrank.arrays import Flags, Indices, Vector
from longrank.features import Features
from longrank.features.base import Encoded
from longrank.learners import Blocks, Learner
from longrank.payoffs import Payoffs

Greedy = tuple[Indices, Any, Vector, Vector]  # order, and rows, means and scores along it


class Round(NamedTuple):
    """An encoded round.

    Attributes
    ----------
    features, candidates
        The feature map, and what it made of the candidates.
    payoffs
        What the round pays, with the costs and values of the candidates.
    tries, minimum
        How many tries are allowed, and how many must be made.
    """

    features: Features
    candidates: Encoded
    payoffs: Payoffs
    tries: int
    minimum: int = 0


class Optimism(NamedTuple):
    """What a policy adds to the means of a round.

    Attributes
    ----------
    bonus
        How many standard deviations: one number, or one for each candidate.
    draws
        How many of the sparse part, for each candidate, where ``bonus`` is for the dense block
        alone; None if it is for both.
    weights
        Weights that were drawn, to score by in place of the belief's; nothing is added then.
    looks
        Which candidates get at least ``wide`` deviations if far less is known of them than of the
        leader; None for no looks.
    foresight
        How many failures are foreseen.
    words
        How the receipt tells that chance had a part in it.
    """

    bonus: Any = 0.0
    draws: Vector | None = None
    weights: Vector | None = None
    looks: Flags | None = None
    wide: float = 0.0
    foresight: int = 0
    words: str = ""

    def subset(self, some: Indices) -> Optimism:
        """Return that of some candidates."""
        bonus, draws, looks = self.bonus, self.draws, self.looks
        return self._replace(
            bonus=bonus[some] if isinstance(bonus, np.ndarray) else bonus,
            draws=None if draws is None else draws[some],
            looks=None if looks is None else looks[some],
        )

    def score(
        self, belief: Any, rows: Any, parts: tuple[Vector, Vector, Vector] | None = None
    ) -> tuple[Vector, Vector]:
        """Return the means of rows, and their scores; ``parts`` are the belief's, if known."""
        if self.draws is None:
            means, widths = belief.score(rows)
            return means, scores_of(means, widths, self.bonus, belief.ceiling)
        means, squares, others = belief.parts(rows) if parts is None else parts
        widths = np.sqrt(self.bonus**2 * squares + self.draws**2 * others)
        return means, scores_of(means, widths, 1.0, belief.ceiling)


def scores_of(means: Vector, widths: Vector, bonus: Any, ceiling: float) -> Vector:
    """Compute scores of many rows, with the bits of :func:`longrank.kernels.optimistic`."""
    return np.asarray(np.minimum(means + bonus * widths, ceiling))


def belief_of(learner: Learner, dealt: Round) -> Any:
    """Return the belief about the candidates of a round."""
    if isinstance(learner, Blocks):
        return learner.belief(dealt.candidates.dim)
    return learner.belief()
