"""Target choices: what the policies to evaluate would do in each decision."""

import copy
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np

from longrank.arrays import Array, Indices
from longrank.logs.decision import Decision
from longrank.policies import Policy, Randomised
from longrank.policies.randomised import certain_choices


class TargetChoices(NamedTuple):
    """What a policy would do: its sequences, and its choices along those of the log.

    ``sequences`` has shape (n, draws, S), of which ``lengths``, shape (n, draws), are filled: one
    that is certain, or some that a ``random`` policy draws. ``choices``, shape (n, L, K + 1), are
    its probabilities of the next action after each prefix of the log, STOP in the last column.
    """

    random: bool
    sequences: Indices
    lengths: Indices
    choices: Array

    @property
    def draws(self) -> int:
        """The number of sequences of a decision."""
        return int(self.lengths.shape[1])


def choose(
    policy: Policy,
    decisions: Sequence[Decision],
    draws: int,
    places: Sequence[int],
    *,
    learn: bool = False,
) -> TargetChoices:
    """Ask a policy what it would do in each of these decisions.

    The draws of a randomised policy depend only on the decision's place in the log. With ``learn``
    the policy learns from each decision after it was asked; otherwise it does not change, and does
    not probe.
    """
    random = isinstance(policy, Randomised)
    draws = draws if random else 1
    sequences: list[list[Indices]] = []
    length = max((len(decision.order) for decision in decisions), default=0)
    size = max((decision.size or 1 for decision in decisions), default=1)
    choices = np.zeros((len(decisions), length + 1, size + 1))
    features, generators = getattr(policy, "features", None), _generators(policy, places)
    for decision, own, rng in zip(decisions, choices, generators, strict=True):
        items, payoffs, given = decision.offer(policy)
        budget, drawn = decision.budget, []
        for _ in range(draws):
            if learn:
                drawn.append(policy.rank(items, payoffs, budget, **given).order)
            elif isinstance(policy, Randomised) and rng is not None:
                drawn.append(policy.draw(items, payoffs, budget, rng=rng, **given))
            else:
                proposed = policy.propose(items, payoffs, budget, rng=rng, probe=False, **given)
                drawn.append(proposed.order)
        if isinstance(policy, Randomised):
            table = policy.choices(items, payoffs, decision.order, budget, **given)
        else:
            table = certain_choices(drawn[0], decision.size or 0, decision.order)
        own[: len(table), : table.shape[1] - 1] = table[:, :-1]
        own[: len(table), -1] = table[:, -1]
        sequences.append(drawn)
        if learn and decision.learned and decision.outcome is not None:
            policy.learn(*decision.observed_by(features))
    lengths = np.array([list(map(len, drawn)) for drawn in sequences], np.int64)
    lengths = lengths.reshape(len(decisions), draws)
    padded = np.zeros((*lengths.shape, int(lengths.max(initial=0))), np.int64)
    for row, drawn in zip(padded, sequences, strict=True):
        for i, order in enumerate(drawn):
            row[i, : len(order)] = order
    return TargetChoices(random, padded, lengths, choices)


def _generators(policy: Policy, places: Sequence[int]) -> Iterator[np.random.Generator | None]:
    """Yield a generator for each place in the log, always the same; None if the policy has none."""
    if policy.rng is None:
        yield from repeat(None, len(places))
        return
    bits = np.random.PCG64(int(copy.deepcopy(policy.rng).integers(2**63)))
    start, rng = bits.state, np.random.Generator(bits)
    for place in places:
        bits.state = start
        bits.advance(place << 32)
        yield rng
