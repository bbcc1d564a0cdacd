"""Pessimism: optimism with the sign reversed, for learning from a fixed log."""

import sys
from typing import ClassVar

from longrank import checks
from longrank.contents import real, whole
from longrank.errors import InvalidInput
from longrank.features import Features
from longrank.learners import Learner
from longrank.policies.ucb import ConfidenceBound


class LCB(ConfidenceBound):
    """Rank by lower confidence bounds: as if each item were as bad as is still plausible.

    The score of a row x is x.w - caution * sqrt(x' M^-1 x), and uncertain costs are raised in the
    same way. A policy that learns from a fixed log should not be misled by what the log hardly
    shows: an item that succeeded once in two attempts looks as good as one that succeeded 500 times
    in a thousand, and among many such items one always looks best. The lower bound prefers what is
    known to be good (CLCB, arXiv 2501.19300, with this library's planner).

    It is for logs only. A policy that acts by lower bounds and learns from its own decisions never
    finds out that it was wrong about the rest, so the service rejects it (``online`` is False):
    continue with ``recommended`` or :class:`~longrank.PlackettLuce`.

    Parameters
    ----------
    learner
        The belief.
    features
        How an item looks. A row must not depend on the items above it.
    caution
        How many standard deviations are subtracted from a mean, at least 0; 0 is greedy.
    foresight, patient
        As for :class:`~longrank.UCB`.

    Examples
    --------
    >>> from longrank import Laplace, Outcome, Payoffs
    >>> policy = LCB(Laplace(2), caution=1.0)
    >>> rare, common = [[1.0, 0.0]], [[0.0, 1.0]]
    >>> for _ in range(2):
    ...     policy.learn(policy.receipt(rare, Payoffs.vanilla(1), [0]), Outcome(1, True))
    >>> for t in range(100):
    ...     policy.learn(policy.receipt(common, Payoffs.vanilla(1), [0]), Outcome(1, t % 4 > 0))
    >>> policy.rank(rare + common, Payoffs.vanilla(1)).order.tolist()
    [1]
    """

    online: ClassVar[bool] = False
    settings: ClassVar = {"caution": real(0.0, sys.float_info.max), "foresight": whole()}

    def __init__(
        self,
        learner: Learner,
        *,
        features: Features | None = None,
        caution: float,
        foresight: int = 0,
        patient: bool = False,
    ) -> None:
        super().__init__(learner, features, foresight, patient)
        self.caution = caution
        if not self.features.independent:
            rule = "not let a row depend on the items above it, for lower bounds"
            raise InvalidInput("features", rule, repr(self.features))

    @property
    def caution(self) -> float:
        """Multiplier of the standard deviation; can be changed at any time."""
        return self._caution

    @caution.setter
    def caution(self, value: float) -> None:
        self._caution = checks.real("caution", value, minimum=0.0)
        self.bonus = -self._caution
