"""A finite world as arrays, and compiled runs through it."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.cascade import Outcome
from longrank.checks import unit_rows
from longrank.errors import InvalidInput
from longrank.features import Features
from longrank.kernels import Rule, Selection, Step
from longrank.links import LOGISTIC, Link
from longrank.payoffs import Payoffs
from longrank.policies import Policy
from longrank.simulation.worlds import TableWorld


@dataclass(frozen=True)
class Stream:
    """All rounds of a :class:`TableWorld`, one after the other.

    Attributes
    ----------
    items
        In the order in which they are dealt, shape (n, d).
    starts
        Round t has the items from ``starts[t]`` to ``starts[t + 1]``; shape (rounds + 1,).
    wins
        Whether each item succeeds, shape (n,).
    choice
        What :meth:`seen_through` made of the items; None where each run prepares them itself.
    """

    items: NDArray[np.float64]
    starts: NDArray[np.int64]
    wins: NDArray[np.bool_]
    choice: Selection | None = None

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
        """Prepare the items by these features, once for several runs."""
        return replace(self, choice=kernels.declared(features, "compiled_selection", self.items))

    def hindsight(self, payoffs: Payoffs) -> NDArray[np.float64]:
        """The reward of a clairvoyant in every round; CR_max is the sum."""
        some = np.logical_or.reduceat(self.wins, self.starts[:-1])
        first = payoffs.rewards[0] if payoffs.budget else payoffs.losses[0]
        return np.asarray(np.where(some, first, payoffs.losses[0]), np.float64)

    def random_reward(self, payoffs: Payoffs) -> float:
        """The expected cumulative reward of a random order at full budget (CR_rand).

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


@dataclass(frozen=True)
class Life:
    """What a policy earned, committed to and tried in every round."""

    rewards: NDArray[np.float64]
    lengths: NDArray[np.int64]
    tried: NDArray[np.int64]


def live(policy: Policy, stream: Stream, payoffs: Payoffs) -> Life:
    """Let a policy live through a stream; the policy itself stays as it is.

    The same run, to the last bit, as :func:`simulate` in the world that the stream was made of.
    Where the policy, its features and its learner all say how they are compiled
    (``compiled_rule``, ``compiled_selection``, ``compiled_step``) it is compiled as a whole;
    otherwise each round is ranked and learned from as usual.
    """
    policy, count = copy.deepcopy(policy), stream.rounds
    life = Life(np.empty(count), np.empty(count, np.int64), np.empty(count, np.int64))
    parts = _compiled_parts(policy, stream, payoffs)
    if parts is None:
        _play(policy, stream, payoffs, life)
        return life
    rule, choice, step, link = parts
    weights, inverse = step.state[:2]
    if len(weights) not in (0, choice.items.shape[1]):
        columns = f"have {len(weights)} columns as the policy's features prepare it"
        raise InvalidInput("stream", columns, choice.items.shape[1])
    enough = kernels.enough_to_go_on(payoffs.rewards, payoffs.losses)
    kernels.compose_run(rule, choice, step)(
        (choice.items, stream.starts, stream.wins),
        policy.chance(np.diff(stream.starts).tolist()),
        (payoffs.rewards, payoffs.losses, enough),
        (weights, inverse, link.code, link.ceiling),
        step.state,
        rule.settings,
        choice.longest,
        (life.rewards, life.lengths, life.tried),
    )
    return life


def _compiled_parts(
    policy: Policy, stream: Stream, payoffs: Payoffs
) -> tuple[Rule, Selection, Step, Link] | None:
    """What the parts of a policy say of how they are compiled; None unless all of them do."""
    rule = kernels.declared(policy, "compiled_rule")
    if rule is None:
        return None
    learner, features = getattr(policy, "learner", None), getattr(policy, "features", None)
    if learner is None or features is None:  # it believes nothing, and takes the items as they are
        plain = Selection(stream.items, kernels.greedy_plain, kernels.rows_along, 0.0)
        return rule, plain, Step(kernels.learn_nothing, (np.zeros(0), np.zeros((0, 0)))), LOGISTIC
    if learner.max_budget is not None and payoffs.budget > learner.max_budget:
        return None  # ranking says what is wrong
    choice = stream.choice or stream.seen_through(features).choice
    step = kernels.declared(learner, "compiled_step", len(stream.items))
    return (rule, choice, step, learner.link) if choice and step else None


def _play(policy: Policy, stream: Stream, payoffs: Payoffs, life: Life) -> None:
    """Rank and learn round after round, for what is not compiled."""
    for t in range(stream.rounds):
        part = slice(stream.starts[t], stream.starts[t + 1])
        ranking = policy.rank(stream.items[part], payoffs)
        hits = np.flatnonzero(stream.wins[part][ranking.order])
        tried = int(hits[0]) + 1 if hits.size else len(ranking)
        outcome = Outcome(tried, bool(hits.size))
        policy.learn(ranking, outcome)
        life.rewards[t] = payoffs.reward(outcome)
        life.lengths[t], life.tried[t] = len(ranking), tried


def small_world(seed: int, rounds: int = 5_000) -> tuple[Stream, Payoffs, NDArray[np.bool_]]:
    """A random small world: up to eight items of two to five numbers, any budget, any payoffs.

    It shows whether a policy gives up where it should and only there. Returns the rounds, what
    they pay, and in which of them an oracle would try an item.
    """
    rng = np.random.default_rng(seed)
    k, d, b = int(rng.integers(1, 9)), int(rng.integers(2, 6)), int(rng.integers(1, 6))
    u = rng.normal(size=d)
    u *= rng.uniform(0.3, 4.0) / np.linalg.norm(u)
    items = unit_rows(rng.normal(size=(rounds * k, d))) * rng.uniform(0.3, 1.0)
    chances = LOGISTIC.probability(items @ u + rng.uniform(-5.0, 1.0))
    cost = float(rng.uniform(0.02, min(0.9, 1.0 / b)))
    payoffs = [
        Payoffs.exponential(b),
        Payoffs.linear(b, attempt_cost=cost, give_up=-float(rng.uniform(0.0, 0.5))),
        Payoffs.linear(b, attempt_cost=cost),
    ][seed % 3]
    best = np.sort(chances.reshape(rounds, k), axis=1)[:, ::-1][:, :b]
    plays = np.array([payoffs.best_length(row) > 0 for row in best])
    starts = np.arange(0, len(items) + 1, k)
    return Stream(items, starts, rng.random(len(items)) < chances), payoffs, plays
