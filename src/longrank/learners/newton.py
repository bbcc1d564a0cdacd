"""The paper's learner: an online Newton step on the logistic loss."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from longrank import checks, kernels
from longrank.contents import one_of, real, whole
from longrank.errors import InvalidInput
from longrank.learners.base import Learner
from longrank.links import LINKS, LOGISTIC, Link, sigmoid

MAX_RATE = 1e100  # beyond it weights could overflow


class OnlineNewton(Learner):
    """Step 5 of Algorithms 1 and 2, in O(dim^2) per observed item.

    Starts with M = max_budget * I and w = 0. For each observed row x (s = +1 success, -1
    failure): project w onto -radius <= w.x <= radius in the norm of M, add x x' to M, and step
    w += rate * M^-1 x * s sigma(-s w.x).

    Parameters
    ----------
    dim
        The length of a row.
    max_budget
        The paper's b: an upper bound on every round's budget.
    radius
        The paper's D: an upper bound on all true scores.
    rate
        The factor of the Newton step, at most 1e100. None is the paper's 1 / c_sigma', about
        e^radius, so a radius above 230 needs a rate; tuned runs use 1 to 100.
    link
        ``"logistic"`` (the paper's) or ``"probit"``.

    Examples
    --------
    >>> learner = OnlineNewton(dim=2, max_budget=1)
    >>> learner.update([1.0, 0.0], True)
    >>> learner.weights
    array([1.27154032, 0.        ])
    """

    settings: ClassVar = {
        "max_budget": whole(1),
        "radius": real(above=0.0),
        "rate": real(above=0.0, maximum=MAX_RATE),
        "link": one_of(LINKS),
    }

    def __init__(
        self,
        dim: int,
        *,
        max_budget: int,
        radius: float = 1.0,
        rate: float | None = None,
        link: Link | str = LOGISTIC,
    ) -> None:
        self.max_budget: int = checks.whole("max_budget", max_budget, minimum=1)
        super().__init__(dim, self.max_budget, sigmoid("link", link))
        self.radius = checks.real("radius", radius, above=0.0)
        self.rate = rate

    @property
    def rate(self) -> float:
        """The factor in front of the Newton step; can be changed at any time."""
        return self._rate

    @rate.setter
    def rate(self, value: float | None) -> None:
        if value is None:
            slope = float(self.link.slope(self.radius))
            if slope * MAX_RATE < 1.0:
                limit = f"the paper's rate, 1 / c_sigma', to be at most {MAX_RATE:g}"
                rule = f"be small enough for {limit} (or pass a rate)"
                raise InvalidInput("radius", rule, self.radius)
            value = 1.0 / slope
        self._rate = checks.real("rate", value, above=0.0, maximum=MAX_RATE)

    def observe(self, rows: NDArray[np.float64], succeeded: bool) -> None:
        kernels.observe_cascade(
            self.weights, self.inverse, rows, succeeded, self.radius, self._rate, self.link.code
        )
        self.updates += len(rows)
