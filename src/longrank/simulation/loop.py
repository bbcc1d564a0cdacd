"""The loop: rank, play, learn."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from longrank import checks
from longrank.arrays import Indices, Vector
from longrank.errors import InvalidInput
from longrank.payoffs import Payoffs
from longrank.policies import Policy
from longrank.schema import priced
from longrank.simulation.worlds import World


@dataclass(frozen=True)
class Run:
    """What happened in every round, arrays of shape (rounds,).

    ``rewards`` were earned; ``expected`` is the true expected reward of the sequences played,
    ``optimum`` that of the benchmark, ``hindsight`` what a clairvoyant would have earned;
    ``lengths`` were committed to and ``tried`` of them were tried.
    """

    rewards: Vector
    expected: Vector
    optimum: Vector
    hindsight: Vector
    lengths: Indices
    tried: Indices


def simulate(
    policy: Policy,
    world: World,
    payoffs: Payoffs | Callable[[int], Payoffs],
    rounds: int | None = None,
    *,
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Run:
    """Run a policy in a world: rank, play and learn, round after round.

    Parameters
    ----------
    payoffs
        The payoffs of every round, or a function from t to them (and so to the budget).
    rounds
        The number of rounds; by default all that the world has.
    progress
        Wraps the sequence of rounds: ``tqdm.tqdm``, ``rich.progress.track``, ...
    """
    limit = world.rounds
    if rounds is None and limit is None:
        raise InvalidInput("rounds", "be given for an endless world", rounds)
    count = limit if rounds is None else checks.whole("rounds", rounds)
    assert count is not None
    if limit is not None and count > limit:
        raise InvalidInput("rounds", f"be at most {limit}, the rounds of this world", count)
    run = Run(*np.empty((4, count)), *np.empty((2, count), np.int64))
    for t in progress(range(count)):
        now = payoffs(t) if callable(payoffs) else payoffs
        dealt = world.deal(t)
        context: dict[str, Any] = {} if dealt.context is None else {"context": dealt.context}
        ranking = policy.rank(dealt.items, now, **context)
        outcome = dealt.play(ranking.order)
        policy.learn(ranking, outcome)
        now = priced(now, dealt.items)
        run.rewards[t] = now.along(ranking.order).reward(outcome)
        run.expected[t] = dealt.value(ranking.order, now)
        run.optimum[t] = dealt.optimum(now)
        run.hindsight[t] = dealt.hindsight(now)
        run.lengths[t], run.tried[t] = len(ranking), outcome.tried
    return run
