"""A finite world as arrays, and a fast way for a policy to live through it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.errors import InvalidInput
from longrank.features import Coverage, Features, Plain
from longrank.learners import Laplace, MaximumLikelihood, OnlineNewton, Ridge
from longrank.payoffs import Payoffs
from longrank.policies import UCB, EpsilonGreedy, Policy, Random
from longrank.policies.base import Believer
from longrank.simulation.worlds import TableWorld


@dataclass(frozen=True)
class Stream:
    """All rounds of a :class:`TableWorld`, one after the other.

    Attributes
    ----------
    items
        In the order in which they are dealt, shape (n, d): as items, or as topics where
        ``coverage``.
    starts
        Round t has the items from ``starts[t]`` to ``starts[t + 1]``; shape (rounds + 1,).
    wins
        Whether each item succeeds, shape (n,).
    coverage
        Whether ``items`` are what a :class:`~longrank.Coverage` made of them.
    """

    items: NDArray[np.float64]
    starts: NDArray[np.int64]
    wins: NDArray[np.bool_]
    coverage: bool = False

    @classmethod
    def of(cls, world: TableWorld) -> Stream:
        rows = np.concatenate(world.shuffles)
        per_pass = world.rounds // len(world.shuffles)
        steps = np.minimum(np.arange(per_pass + 1) * world.size, len(world.items))
        passes = np.arange(len(world.shuffles))[:, np.newaxis] * len(world.items)
        starts = np.append((passes + steps[:-1]).ravel(), len(rows))
        return cls(world.items[rows], starts, (world.draws < world.chances)[rows])

    @property
    def rounds(self) -> int:
        return len(self.starts) - 1

    def seen_through(self, features: Features) -> Stream:
        """The same rounds as these features prepare them, which is done only once."""
        if isinstance(features, Plain):
            return self
        if getattr(features, "gain", None) is not None:
            raise InvalidInput("features", "use the probabilistic gain", "a gain of their own")
        prepared = features.prepare(self.items, None)
        return Stream(prepared, self.starts, self.wins, isinstance(features, Coverage))

    def hindsight(self, payoffs: Payoffs) -> NDArray[np.float64]:
        """What a clairvoyant earns in every round: CR_max is the sum."""
        some = np.logical_or.reduceat(self.wins, self.starts[:-1])
        first = payoffs.rewards[0] if payoffs.budget else payoffs.losses[0]
        return np.asarray(np.where(some, first, payoffs.losses[0]), np.float64)

    def random_reward(self, payoffs: Payoffs) -> float:
        """The expected cumulative reward of a random order at full budget: CR_rand without luck.

        Of k items of which m succeed, the next one does with probability m / k, then
        m / (k - 1), ...
        """
        total = 0.0
        sizes = np.diff(self.starts)
        winners = np.add.reduceat(self.wins.astype(np.int64), self.starts[:-1])
        for (size, some), rounds in Counter(
            zip(sizes.tolist(), winners.tolist(), strict=True)
        ).items():
            chances = np.minimum(some / (size - np.arange(min(payoffs.budget, size))), 1.0)
            total += rounds * float(payoffs.values(chances)[-1])
        return total


_COMPILED = (UCB, EpsilonGreedy, Random, OnlineNewton, Ridge, MaximumLikelihood, Laplace)


def _believer(policy: Policy) -> Believer:
    """The policy; for one without a belief a stand-in, whose belief is never asked."""
    return policy if isinstance(policy, Believer) else UCB(Ridge(1), exploration=0.0)


@dataclass(frozen=True)
class Life:
    """What a policy earned, committed to and tried in every round."""

    rewards: NDArray[np.float64]
    lengths: NDArray[np.int64]
    tried: NDArray[np.int64]


def live(policy: Policy, stream: Stream, payoffs: Payoffs) -> Life:
    """Let a policy that has learned nothing yet live through a stream.

    The same run, to the last bit, as :func:`simulate` in the world that the stream was made of,
    but compiled as a whole. The policy only says what it is; its learner stays as it was.
    """
    if type(policy) not in _COMPILED or type(_believer(policy).learner) not in _COMPILED:
        raise InvalidInput("policy", "be of a kind that is compiled (use simulate)", repr(policy))
    at_random, keys = policy.chance(np.diff(stream.starts).tolist())
    believer = _believer(policy)
    learner = believer.learner
    items = stream.items if policy is believer else np.zeros((len(stream.items), 1))
    if items.shape[1] != learner.dim:
        rule = f"have {learner.dim} columns (Stream.seen_through prepares them)"
        raise InvalidInput("stream", rule, items.shape[1])
    count = stream.rounds
    life = Life(np.empty(count), np.empty(count, np.int64), np.empty(count, np.int64))
    kernels.live(
        items,
        stream.starts,
        stream.wins,
        payoffs.rewards,
        payoffs.losses,
        stream.coverage,
        at_random,
        keys,
        believer.bonus,
        learner.prior,
        learner.radius,
        learner.rate,
        learner.link.code,
        learner.link.ceiling,
        learner.method,
        learner.forgetting,
        believer.probing,
        believer.foresight,
        life.rewards,
        life.lengths,
        life.tried,
    )
    return life
