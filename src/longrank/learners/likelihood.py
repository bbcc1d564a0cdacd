"""Maximum likelihood, refitted after every cascade: the belief behind GL-CDCM."""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.contents import array, covariance, numbers, one_of
from longrank.learners.base import SAVED_PENALTY, Learner, checked_penalty
from longrank.links import LINKS, LOGISTIC, Link, sigmoid
from longrank.packing import Tree


class MaximumLikelihood(Learner):
    """The generalised linear model with L2 penalty, fitted to every item ever observed.

    GL-CDCM (Liu, Li, Zhang 2018) in the cascade: weights solve
    sum (y - sigma(x.w)) x = penalty * w, widths come from V = penalty * I + sum x x'. Each fit
    starts from the previous one and reuses its curvature, so a round costs a few passes over the
    history, O(n dim), instead of a cold fit.

    Parameters
    ----------
    dim
        The length of a row.
    penalty
        The weight of the squared norm, the paper's lambda, at least 1e-12.
    link
        ``"logistic"`` or ``"probit"``.
    """

    settings: ClassVar = {"penalty": SAVED_PENALTY, "link": one_of(LINKS)}
    contents: ClassVar = (
        Learner.contents
        | settings
        | {
            "curvature": covariance("dim"),
            "rows": numbers("updates", "dim"),
            "successes": array(np.bool_, "updates"),
        }
    )
    append_only = frozenset({"_rows", "_successes"})  # the history

    def __init__(self, dim: int, *, penalty: float = 1.0, link: Link | str = LOGISTIC) -> None:
        self.penalty = checked_penalty(penalty)
        super().__init__(dim, self.penalty, sigmoid("link", link))
        self._penalties = np.full(self.dim, self.penalty)
        self._curvature = self.inverse.copy()  # the inverse Hessian of some recent weights
        self._rows = np.empty((64, self.dim))
        self._successes = np.empty(64, np.bool_)

    def observe(self, rows: NDArray[np.float64], succeeded: bool) -> None:
        if len(rows) == 0:
            return
        first, self.updates = self.updates, self.updates + len(rows)
        while len(self._rows) < self.updates:  # doubling: the copies stay linear in all
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            self._successes = np.concatenate([self._successes, np.empty_like(self._successes)])
        self._rows[first : self.updates] = rows
        self._successes[first : self.updates] = False
        self._successes[self.updates - 1] = succeeded
        history = self._rows[: self.updates], self._successes[: self.updates], first
        fitted = self.weights, self.inverse, self._curvature
        kernels.grow_and_fit(*history, self._penalties, self.link.code, *fitted)

    def state(self) -> Tree:
        return super().state() | {
            "curvature": self._curvature.copy(),
            "rows": self._rows[: self.updates].copy(),
            "successes": self._successes[: self.updates].copy(),
        }

    @classmethod
    def from_state(cls, state: Tree) -> Self:
        learner = super().from_state(state)
        learner._curvature[:] = state["curvature"]
        if state["updates"]:
            learner._rows, learner._successes = state["rows"], state["successes"]
        return learner
