"""Optimism: the paper's Algorithms 1 and 2."""

from __future__ import annotations

import math

from longrank import checks, kernels, learners
from longrank.cascade import Ranking
from longrank.features import Features
from longrank.features.base import Prepared
from longrank.learners import Learner
from longrank.packing import Tree
from longrank.payoffs import Payoffs
from longrank.policies.base import Believer


class UCB(Believer):
    """Acts as if every item were as good as it can still reasonably be.

    The score of a row x is x.w + sqrt(exploration * x' M^-1 x).

    ========  =============================  ==========
    paper     learner                        features
    ========  =============================  ==========
    Ind       :class:`OnlineNewton`          `Plain`
    Dep       :class:`OnlineNewton`          `Coverage`
    C-UCB1    :class:`Ridge`                 `Plain`
    GL-CDCM   :class:`MaximumLikelihood`     `Plain`
    ========  =============================  ==========

    Parameters
    ----------
    learner
        The belief.
    features
        How an item looks, given those above it.
    exploration
        The paper's alpha, at least 0. :func:`longrank.theory.exploration` gives the value of the
        theorem; tuned runs take 1e-9 to 10.
    probing
        A way out of the give-up trap: with a constant exploration, once giving up at once looks
        best nothing is observed any more, so nothing changes. With probing, the best-looking item
        is tried all the same after having given up 1 to 8, 10, 12, 14, 16, 20, ... times: at most
        n = 4 log2(T) + 1 times in T rounds, so that it costs at most n (losses[0] - losses[1])
        where giving up is right, and goes on for ever.

    Examples
    --------
    >>> from longrank import OnlineNewton, Outcome, Payoffs
    >>> policy = UCB(OnlineNewton(dim=2, max_budget=5), exploration=0.1)
    >>> ranking = policy.rank([[1.0, 0.0], [0.0, 0.5]], Payoffs.exponential(5))
    >>> policy.learn(ranking, Outcome(tried=1, succeeded=True))
    """

    def __init__(
        self,
        learner: Learner,
        *,
        features: Features | None = None,
        exploration: float,
        probing: bool = False,
    ) -> None:
        super().__init__(learner, features)
        self.exploration = exploration
        self.probing = bool(probing)

    @property
    def exploration(self) -> float:
        """The paper's alpha; can be changed at any time."""
        return self._exploration

    @exploration.setter
    def exploration(self, value: float) -> None:
        self._exploration = checks.real("exploration", value, least=0.0)
        self.bonus = math.sqrt(self._exploration)

    def _choose(self, prepared: Prepared, count: int, payoffs: Payoffs) -> Ranking:
        due = self.probing and count > 0 and kernels.probe_is_due(self.given_up)
        return self._best(prepared, count, payoffs, int(due))

    def state(self) -> Tree:
        return super().state() | {"exploration": self.exploration, "probing": self.probing}

    @classmethod
    def from_state(cls, state: Tree, features: Features) -> UCB:
        return cls(
            learners.from_state(state["learner"]),
            features=features,
            exploration=state["exploration"],
            probing=state["probing"],
        )
