"""Belief: what features and policies need to know of a learner in order to rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Belief(NamedTuple):
    """A normal belief about the weights, and how it is acted on.

    The score of a row x is min(x.weights + bonus * sqrt(x' inverse x), ceiling); the link turns it
    into a probability. The arrays are the learner's own: read them, do not write.

    Attributes
    ----------
    weights
        The mean, shape (dim,).
    inverse
        The covariance M^-1, shape (dim, dim), symmetric.
    bonus
        How many standard deviations are added to a mean.
    ceiling
        Scores above it count as equal.
    link
        The code of the curve, for the kernels.
    """

    weights: NDArray[np.float64]
    inverse: NDArray[np.float64]
    bonus: float
    ceiling: float
    link: int
