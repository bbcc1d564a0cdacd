"""The oracle: ranks with the true weights."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks
from longrank.contents import COUNT, PART, flag
from longrank.decision import Ranking
from longrank.features import Coverage, Features
from longrank.learners import Learner
from longrank.links import LINKS, LOGISTIC, Link, sigmoid
from longrank.packing import Tree
from longrank.planning import Round, best_dependent, follow
from longrank.policies.learning import LearningPolicy


class Truth(Learner):
    """A belief that is true and never changes."""

    def __init__(self, weights: ArrayLike, link: Link | str = LOGISTIC) -> None:
        true = checks.vector("weights", weights)
        super().__init__(len(true), 1.0, sigmoid("link", link))
        self.weights = true
        self.inverse = np.zeros((self.dim, self.dim))

    def observe(self, rows: NDArray[np.float64], succeeded: bool) -> None:
        """Do nothing: the truth is known."""

    @classmethod
    def from_state(cls, state: Tree) -> Self:
        return cls(state["weights"], LINKS[state["link"]])

    def __repr__(self) -> str:
        return f"Truth(dim={self.dim}, link={self.link.name!r})"


class Oracle(LearningPolicy):
    """Rank with the true weights: the benchmark of the paper.

    With independent outcomes (:class:`~longrank.Plain`) it is Bayes optimal (Lemma 1). With
    dependent ones (:class:`~longrank.Coverage`) it is the paper's Greedy, or with ``exact`` the
    true optimum, found by a search that is feasible for small sets.

    Parameters
    ----------
    weights
        The true weights u, shape (dim,).
    features
        How an item is represented, given those above it.
    link
        The true curve.
    exact
        Search all sequences. (With :class:`~longrank.Plain` features sorting is exact already.)
    """

    contents: ClassVar = {"learner": PART, "given_up": COUNT, "exact": flag}

    def __init__(
        self,
        weights: ArrayLike,
        *,
        features: Features | None = None,
        link: Link | str = LOGISTIC,
        exact: bool = False,
    ) -> None:
        super().__init__(Truth(weights, link), features)
        self.exact = bool(exact)

    def _decide(self, dealt: Round, rng: np.random.Generator | None) -> Ranking:
        if not (self.exact and isinstance(self.features, Coverage)):
            return super()._decide(dealt, rng)
        return follow(self.learner, dealt, best_dependent(dealt, self.learner), bound=0.0)

    def _observe_costs(self, rows: Any, costs: NDArray[np.float64]) -> None:
        """Do nothing: what tries cost is known."""

    def state(self) -> Tree:
        state = super().state() | {"exact": self.exact}
        del state["patience"], state["costs"]  # it knows, and learns nothing
        return state

    @classmethod
    def from_state(cls, state: Tree, features: Features) -> Self:
        truth = Truth.from_state(Truth.migrate(state["learner"]))
        return cls(truth.weights, features=features, link=truth.link, exact=state["exact"])
