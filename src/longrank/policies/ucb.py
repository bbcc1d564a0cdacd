"""Optimism in the face of uncertainty: the paper's Algorithms 1 and 2."""

import math
import sys
from typing import ClassVar

import numpy as np

from longrank import checks
from longrank.arrays import Flags
from longrank.contents import flag, optional, real, whole
from longrank.errors import InvalidInput
from longrank.features import Features, Records
from longrank.learners import Learner
from longrank.planning import Optimism, Round
from longrank.policies.base import saved_generator
from longrank.policies.learning import LearningPolicy

_LOOKS = 3  # candidates of a round that are looked at
_RARE = 1.6448536269514722  # one normal number in ten is larger
_TAIL = 6.0  # times as wide is the draw of such a candidate
_DRAWN = ", by scores drawn at random"
_WIDE = 1.5  # standard deviations that are added to one of them, if little is known of it


def _look(rng: np.random.Generator, size: int) -> Flags:
    """Draw which candidates of a round are looked at."""
    looks, drawn = np.zeros(size, np.bool_), rng.random(_LOOKS)
    for share in drawn.tolist() if size else ():  # one by one: so few are slower as an array
        looks[int(share * size)] = True
    return looks


class ConfidenceBound(LearningPolicy):
    """Rank by means plus ``bonus`` standard deviations, with or without foresight."""

    def __init__(
        self, learner: Learner, features: Features | None, foresight: int, patient: bool
    ) -> None:
        super().__init__(learner, features, patient)
        self.foresight = checks.whole("foresight", foresight)
        if self.foresight and not self.features.sparse:
            raise InvalidInput("features", "be Records, to foresee failures", repr(self.features))


class UCB(ConfidenceBound):
    """Rank by upper confidence bounds: as if each item were as good as is still plausible.

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
        How an item is represented, given those above it.
    exploration
        The paper's alpha, at least 0. :func:`longrank.theory.exploration` gives the theorem's
        value; tuned runs use 1e-9 to 10.
    probing
        Whether to escape the give-up trap: with constant exploration, once giving up immediately
        looks best, nothing is observed any more, so nothing changes. With probing, it plays
        anyway after 1 to 16, 18, 20, ..., 32, 36, ... give-ups, and from 256 on after every 32,
        without end: as many items, at least one, as would be best if every item were half a
        standard deviation better than expected. So probes are long where little is known, and
        short where giving up is known to be right.
    foresight
        How many failures to foresee, 0 for none. The item at a position is tried only if all
        items above it failed, so it is chosen by what would be believed then: items similar to a
        failed one look worse, the next attempt is something different, and the length is chosen
        accordingly. Items beyond that depth are chosen by the belief after that many failures. A
        ranking's probabilities and estimates are conditional on their position being reached.
        Needs :class:`Records`: what is foreseen is what the dense block believes.
    patient
        Whether to learn from early stops (final declines, readers who leave) how likely a cascade
        is to continue after a failure, and to plan with that.
    draws
        For :class:`Records`: how many standard deviations of the sparse part (names, categories,
        crosses) are added, times the absolute value of a standard normal draw for each candidate,
        and six times that for one candidate in ten, so that rare, large effects are found. 0 adds
        what ``exploration`` says.
    rng
        A random generator, or its seed, for draws and for looks: they keep a candidate from being
        locked out by a bad start. In every round three candidates, drawn at random, get a bonus of
        1.5 standard deviations if far less is known about the indicator that marks them (a level
        of a number, say) than about the leader's. Needs :class:`Records`.

    Examples
    --------
    >>> from longrank import OnlineNewton, Outcome, Payoffs
    >>> policy = UCB(OnlineNewton(dim=2, max_budget=5), exploration=0.1)
    >>> ranking = policy.rank([[1.0, 0.0], [0.0, 0.5]], Payoffs.exponential(5))
    >>> policy.learn(ranking, Outcome(tried=1, succeeded=True))
    """

    settings: ClassVar = {
        "exploration": real(0.0, sys.float_info.max),
        "probing": flag,
        "foresight": whole(),
        "draws": real(0.0, sys.float_info.max),
        "rng": optional(saved_generator),
    }

    def __init__(
        self,
        learner: Learner,
        *,
        features: Features | None = None,
        exploration: float,
        probing: bool = False,
        foresight: int = 0,
        patient: bool = False,
        draws: float = 0.0,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(learner, features, foresight, patient)
        self.exploration = exploration
        self.probing = bool(probing)
        self.rng = None if rng is None else checks.generator(rng)
        if self.rng is not None and not isinstance(self.features, Records):
            raise InvalidInput("rng", "be None unless features are Records", repr(self.features))
        self.draws = checks.real("draws", draws, minimum=0.0)
        if self.draws and self.rng is None:
            raise InvalidInput("rng", "be given for draws", None)

    @property
    def exploration(self) -> float:
        """The paper's alpha; can be changed at any time."""
        return self._exploration

    @exploration.setter
    def exploration(self, value: float) -> None:
        self._exploration = checks.real("exploration", value, minimum=0.0)
        self.bonus = math.sqrt(self._exploration)

    def optimism(self, dealt: Round, rng: np.random.Generator | None) -> Optimism:
        if rng is None:
            return Optimism(self.bonus, foresight=self.foresight)
        size, dense = dealt.candidates.size, dealt.candidates.numbers is not None
        looks = _look(rng, size) if dense else None
        if not self.draws or not len(dealt.candidates.rows.plan.left):
            return Optimism(self.bonus, None, None, looks, _WIDE, self.foresight)
        drawn, other = np.abs(rng.standard_normal((size, 2))).T
        draws = self.draws * np.where(other > _RARE, _TAIL * drawn, drawn)
        return Optimism(self.bonus, draws, None, looks, _WIDE, self.foresight, _DRAWN)
