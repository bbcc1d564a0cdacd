"""The interface of a learner."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks, kernels
from longrank.contents import COUNT, Contents, covariance, numbers, one_of, real, whole
from longrank.errors import InvalidInput
from longrank.links import LINKS, Link
from longrank.packing import Tree
from longrank.parts import Part

MIN_PENALTY = 1e-12  # below it rounding swamps what is learned


SAVED_PENALTY = real(MIN_PENALTY)


def checked_penalty(value: float) -> float:
    """Return a prior precision, checked to be large enough for stable updates of its inverse."""
    return checks.real("penalty", checks.real("penalty", value, above=0.0), minimum=MIN_PENALTY)


class Belief(NamedTuple):
    """A normal belief about the weights: what planning needs to know of a learner.

    The mean of a row x is x.weights, its width sqrt(x' inverse x), and the link turns a score into
    a probability. The arrays are the learner's own: read them, do not write.

    Attributes
    ----------
    weights
        The mean, shape (dim,).
    inverse
        The covariance M^-1, shape (dim, dim), symmetric.
    ceiling
        Scores above it count as equal.
    link
        The code of the curve, for the kernels.
    """

    weights: NDArray[np.float64]
    inverse: NDArray[np.float64]
    ceiling: float
    link: int

    def score(self, rows: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return means and widths of rows, shape (k, dim)."""
        return kernels.score_rows(rows, self.weights, self.inverse)


class Learner(Part, ABC):
    """A belief about a weight vector: the mean of a row x is x.w, its width sqrt(x' M^-1 x).

    Attributes
    ----------
    dim
        The length of a row.
    weights
        w, shape (dim,).
    inverse
        M^-1, shape (dim, dim), symmetric.
    updates
        Number of observed items it has learned from.
    link
        The curve from a score to a probability.
    max_budget
        The largest budget it supports; None for any.
    prior
        The initial M, as a multiple of the identity.
    radius, rate
        The bound on means and the step size, for learners that take steps.
    forgetting
        The share of what is known that is forgotten with every cascade.
    sparse
        Whether its rows are :class:`longrank.rows.SparseRows`.
    append_only
        Names of arrays whose used part is never overwritten, so copies can share them.
    """

    contents: ClassVar[Contents] = {
        "dim": whole(1),
        "link": one_of(LINKS),
        "updates": COUNT,
        "weights": numbers("dim"),
        "inverse": covariance("dim"),
    }
    sparse: bool = False
    append_only: ClassVar[frozenset[str]] = frozenset()
    max_budget: int | None = None
    radius: float = math.inf
    rate: float = 1.0
    forgetting: float = 0.0

    def __init__(self, dim: int, prior: float, link: Link) -> None:
        self.dim = checks.whole("dim", dim, minimum=1)
        self.prior = prior
        self.link = link
        self.weights = np.zeros(self.dim)
        self.inverse = np.eye(self.dim) / self.prior
        self.updates = 0

    def belief(self) -> Belief:
        """Return what ranking needs: the current belief."""
        return Belief(self.weights, self.inverse, self.link.ceiling, self.link.code)

    def extend(self, dim: int) -> None:
        """Accept longer rows from now on; nothing is known about the new columns."""
        self.weights, self.inverse = self._extended(dim)
        self.dim = dim

    def _extended(self, dim: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights and covariance with columns of which nothing is known."""
        weights, inverse = np.zeros(dim), np.eye(dim) / self.prior
        weights[: self.dim], inverse[: self.dim, : self.dim] = self.weights, self.inverse
        return weights, inverse

    def view(self) -> Self:
        """Return a copy to rank with, and to save, while this one keeps learning.

        It shares no array with this one, except those in ``append_only``. If :meth:`observe` writes
        anything else in place, override this to copy it too. The copy must not learn.
        """
        viewed = object.__new__(type(self))
        for name, value in self.__dict__.items():
            own = type(value) is np.ndarray and name not in self.append_only
            viewed.__dict__[name] = value.copy() if own else value
        return viewed

    def score(self, features: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return means and widths of rows, shape (k, dim) -> two of shape (k,)."""
        rows = checks.items(features, self.dim, unit=False, parameter="features")
        return kernels.score_rows(rows, self.weights, self.inverse)

    def update(self, row: ArrayLike, success: bool) -> None:
        """Learn from one observed item."""
        array = np.atleast_2d(np.asarray(row))
        rows = checks.items(array, self.dim, unit=True, parameter="row")
        if len(rows) != 1:
            raise InvalidInput("row", f"be one row of {self.dim} numbers", rows.shape)
        if not isinstance(success, bool | np.bool_):
            raise InvalidInput("success", "be True or False", repr(success))
        observed = np.array(rows, np.float64)
        observed.flags.writeable = False
        self.observe(observed, bool(success))

    @abstractmethod
    def observe(self, rows: NDArray[np.float64], succeeded: bool) -> None:
        """Learn from the observed items of a cascade, in order.

        All failed, except the last one if ``succeeded``. The rows come from a receipt: they are
        read-only and were validated at ranking time.
        """

    def state(self) -> Tree:
        """Return the complete belief, as a tree for :mod:`longrank.packing`."""
        return super().state() | {
            "dim": self.dim,
            "link": self.link.name,
            "updates": self.updates,
            "weights": self.weights.copy(),
            "inverse": self.inverse.copy(),
        }

    @classmethod
    def from_state(cls, state: Tree) -> Self:
        """Rebuild the learner from a :meth:`state` in the current layout."""
        learner = cls(state["dim"], **{name: state[name] for name in cls.settings})
        learner._restore(state)
        return learner

    def _restore(self, state: Tree) -> None:
        """Take over what every learner has."""
        self.weights[:] = state["weights"]
        self.inverse[:] = state["inverse"]
        self.updates = state["updates"]

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in ("dim", *self.settings)}
        if "link" in given:
            given["link"] = self.link.name
        parts = (
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value!r}"
            for name, value in given.items()
            if value is not None
        )
        return f"{type(self).__name__}({', '.join(parts)})"
