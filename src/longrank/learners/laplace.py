"""A normal belief about the weights of a logistic model, kept up to date item by item."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from longrank import checks, kernels
from longrank.contents import optional, real, whole
from longrank.learners.base import SAVED_PENALTY, Learner, checked_penalty
from longrank.links import LOGISTIC


class Laplace(Learner):
    """Logistic regression by the Laplace approximation, in O(dim^2) per observed item.

    :class:`~longrank.OnlineNewton` treats every observation as only as informative as the least
    informative one (its constant 1 / c_sigma'). This learner uses the actual curvature of each:
    the weights move to the mode of the posterior, and the covariance M^-1 shrinks by what was
    learned there. There is no rate and no radius to set.

    Parameters
    ----------
    dim
        The length of a row.
    penalty
        The precision of the prior, M = penalty * I, at least 1e-12.
    forgetting
        The share of what is known that is forgotten with every cascade, for use under drift: the
        covariance is mixed with the prior's in this proportion. 0 forgets nothing; 0.0003 adapts
        to a change within a few hundred rounds and costs little if nothing changes.
    max_budget
        If given, larger budgets are rejected; nothing else depends on it.

    Examples
    --------
    >>> learner = Laplace(dim=2, penalty=0.25)
    >>> learner.update([1.0, 0.0], True)
    >>> learner.weights.round(3)
    array([1.043, 0.   ])
    """

    settings: ClassVar = {
        "penalty": SAVED_PENALTY,
        "forgetting": real(0.0, 1.0),
        "max_budget": optional(whole(1)),
    }

    def __init__(
        self,
        dim: int,
        *,
        penalty: float = 1.0,
        forgetting: float = 0.0,
        max_budget: int | None = None,
    ) -> None:
        if max_budget is not None:
            self.max_budget = checks.whole("max_budget", max_budget, minimum=1)
        self.penalty = checked_penalty(penalty)
        super().__init__(dim, self.penalty, LOGISTIC)
        self.forgetting = forgetting

    @property
    def forgetting(self) -> float:
        """The share forgotten with every cascade; can be changed at any time."""
        return self._forgetting

    @forgetting.setter
    def forgetting(self, value: float) -> None:
        self._forgetting = checks.real("forgetting", value, minimum=0.0, maximum=1.0)

    def observe(self, rows: NDArray[np.float64], succeeded: bool) -> None:
        kernels.laplace_cascade(
            self.weights, self.inverse, rows, succeeded, self.penalty, self._forgetting
        )
        self.updates += len(rows)
