"""Links: curves from a score to a probability of success."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import kernels
from longrank.errors import InvalidInput
from longrank.kernels import link as codes


@dataclass(frozen=True)
class Link:
    """A symmetric, increasing curve sigma with sigma(-x) = 1 - sigma(x).

    The paper uses the logistic curve and notes that others work as well: Algorithm 1 and its
    proof need sigma and bounds on it, not its formula. ``code`` identifies the curve to the
    kernels; scores above ``ceiling`` count as equal.

    >>> LOGISTIC.probability([0.0, 2.0])
    array([0.5       , 0.88079708])
    """

    name: str
    code: int
    ceiling: float = math.inf

    def probability(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Compute sigma(scores)."""
        array = np.asarray(scores, np.float64)
        return kernels.probabilities(self.code, array.ravel()).reshape(array.shape)

    def slope(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Compute sigma'(scores)."""
        array = np.asarray(scores, np.float64)
        return kernels.densities(self.code, array.ravel()).reshape(array.shape)


LOGISTIC = Link("logistic", codes.LOGISTIC)
PROBIT = Link("probit", codes.PROBIT)
LINEAR = Link("linear", codes.LINEAR, ceiling=1.0)  # the score itself, clipped to [0, 1]

LINKS = {link.name: link for link in (LOGISTIC, PROBIT, LINEAR)}


def sigmoid(parameter: str, value: Link | str) -> Link:
    """Return a link, given as an object or by name; it must be a sigmoid, not linear."""
    link = LINKS.get(value) if isinstance(value, str) else value
    if not isinstance(link, Link) or link.code == LINEAR.code:
        raise InvalidInput(parameter, "be 'logistic' or 'probit'", repr(value))
    return link
