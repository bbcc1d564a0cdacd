"""The target: what the policies to evaluate would do in place of the log's."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from longrank.kernels import Aims
from longrank.logs.decision import Decision
from longrank.policies import Policy, Randomised

Array = NDArray[np.float64]


def aim(
    policy: Policy,
    decisions: Sequence[Decision],
    draws: int,
    places: Sequence[int],
    *,
    learn: bool = False,
) -> Aims:
    """Ask a policy what it would do in place of decisions of the log.

    Of a randomised policy these are its choices along the log, and ``draws`` sequences; of any
    other the sequence that it plays. What it draws depends on the decision's place in the log
    alone. With ``learn`` it learns from each decision after it was asked; otherwise it does not
    change, and does not probe.
    """
    certain = not isinstance(policy, Randomised)
    sequences, choices = [np.empty(0, np.int64)], [np.empty(0)]
    features, chance = getattr(policy, "features", None), _Chance(policy)
    for decision, place in zip(decisions, places, strict=True):
        rng = chance.at(place)
        items, payoffs, given = decision.offer(policy)
        budget = decision.budget
        if isinstance(policy, Randomised):
            table = policy.choices(items, payoffs, decision.order, budget, **given)
            choices.append(table.ravel())
        for _ in range(1 if certain else draws):
            if learn:
                order = policy.rank(items, payoffs, budget, **given).order
            elif isinstance(policy, Randomised) and rng is not None:
                order = policy.draw(items, payoffs, budget, rng=rng, **given)
            else:
                own = policy.propose(items, payoffs, budget, rng=rng, probe=False, **given)
                order = own.order
            sequences.append(order)
        if learn and decision.learned and decision.outcome is not None:
            policy.learn(*decision.observed_by(features))
    lengths = list(map(len, sequences))
    reach = lengths[1:] if certain else [one.tries for one in decisions]
    return Aims(
        certain=certain,
        draws=1 if certain else draws,
        sequence_firsts=_firsts(lengths[1:]),
        sequences=np.concatenate(sequences),
        reach=np.array(reach, np.int64),
        choice_firsts=_firsts([len(one) for one in choices[1:]]),
        choices=np.concatenate(choices),
    )


def _firsts(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return where lists of these lengths begin, and the last one ends."""
    return np.cumsum(np.array([0, *lengths, *([] if lengths else [0])], np.int64))


class _Chance:
    """The random numbers of a policy that draws: for a place of the log always the same."""

    def __init__(self, policy: Policy) -> None:
        self._bits: np.random.PCG64 | None = None
        if policy.rng is not None:
            self._bits = np.random.PCG64(int(copy.deepcopy(policy.rng).integers(2**63)))
            self._start = self._bits.state
            self._rng = np.random.Generator(self._bits)

    def at(self, place: int) -> np.random.Generator | None:
        """Return the generator for the decision at a place; None if the policy does not draw."""
        if self._bits is None:
            return None
        self._bits.state = self._start
        self._bits.advance(place << 32)
        return self._rng
