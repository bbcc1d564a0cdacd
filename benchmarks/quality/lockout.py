"""Whether the recommended policy locks a good route out, and gives up where it should not.

    python benchmarks/quality/lockout.py [--starts 1000] [--seeds 0] [--rounds 600] [--only NAME]

A start is a world and a policy, both made from one seed. Payments: 8 or 100 routes, 600 rounds,
three tries at 0.1 each. One route succeeds with 83 %, the others with 10 to 70 %, drawn evenly:
always (``plain``: a row says which route it is), or with ``context`` for harmless payments on
another network at half load (:class:`longrank.simulation.PaymentWorld`). As arrays, and as records
that say the same.

The best route has its fair share if it is tried

- at least as often as an even split of all tries that were made among the routes would give, and
- at least once in the last 100 rounds.

A start in which it does not have that is locked out. Earned is the share of what somebody who
knows all chances earned by the same draws.

Give-ups: the data sets to choose on, each class at 0.1 a try, as they are and with successes left
out until 3 % of the rows are one. A class is learnable if a vote of the ten nearest rows puts a
success first in half of the rounds that hold one. A run fails that gives up in more than 5 % of
the rounds that hold a success. ``right``: random small worlds in which an oracle never tries
anything; a run fails that gives up in less than 95 % of 5,000 rounds, or of the last 1,000.

Seeds from 0 on are to be looked at once; develop on seeds from 100,000 on.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sets
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from tasks import CANDIDATES, Items, oracle_reward, standardised

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from giving_up import small_world
from longrank import Outcome, Payoffs, Policy, recommended
from longrank.experiments.settings import payoffs
from longrank.jobs import one_thread
from longrank.links import LOGISTIC
from longrank.simulation import PaymentWorld, Stream, run_stream

Chances = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDS, LAST, SMALL_ROUNDS = 600, 100, 5_000
THREE_TRIES = Payoffs.linear(3, attempt_cost=0.1)
BEST, WORST_OTHER, BEST_OTHER = 0.83, 0.1, 0.7
TASK_ROUNDS, RARE, FEWEST, NEIGHBOURS = 500, 0.03, 20, 10
LARGEST, VOTES = 2_000, 200  # rows and rounds by which a class is judged
WRONG, RIGHT = 0.05, 0.95  # shares of rounds given up


@dataclass(frozen=True)
class Payments:
    """Payments: what ranking takes in each round, the chances of all routes, and the best one."""

    rounds: list[tuple[Any, dict[str, Any]]]
    chances: Chances
    wins: Flags
    best: int

    @property
    def oracle_reward(self) -> float:
        """What somebody who knows all chances earned."""
        starts = np.arange(0, self.wins.size + 1, self.wins.shape[1])
        stream = Stream(np.empty((self.wins.size, 0)), starts, self.wins.ravel())
        return oracle_reward(stream, self.chances.ravel(), THREE_TRIES)


@dataclass(frozen=True)
class Start:
    """How a start went: a share, and whether that is a failure."""

    share: float
    failed: bool


def deal(routes: int, context: bool, named: bool, rounds: int, seed: int) -> Payments:
    rng = np.random.default_rng([seed, routes, context])
    best = int(rng.integers(routes))
    typical = rng.uniform(WORST_OTHER, BEST_OTHER, routes)
    typical[best] = BEST
    if context:
        world = PaymentWorld(routes, seed=seed)
        size = np.sqrt(5.0)  # what the rows of the world were divided by
        _, load, _, constant = (world.weights[routes:] / size).tolist()
        quality = np.log(typical / (1.0 - typical)) - 0.5 * load - constant
        world.weights[:routes] = quality * size
        rows = [world.deal(t).items for t in range(rounds)]
        chances = LOGISTIC.probability(np.stack(rows) @ world.weights)
        dealt = [as_records(size * each, world.homes) if named else (each, {}) for each in rows]
    else:
        names = [{"id": f"route-{i}"} for i in range(routes)]
        dealt = [(names if named else np.eye(routes), {})] * rounds
        chances = np.tile(typical, (rounds, 1))
    return Payments(dealt, chances, rng.random(chances.shape) < chances, best)


def as_records(rows: Items, homes: NDArray[np.int64]) -> tuple[Any, dict[str, Any]]:
    """What the rows of a payment say, as records with a context."""
    own, load, risk = rows[:, len(rows) : len(rows) + 3].T
    network = f"network-{homes[own.argmax()]}" if own.any() else "other"
    routes = [
        {"id": f"route-{i}", "home": f"network-{home}", "load": busy}
        for i, (home, busy) in enumerate(zip(homes.tolist(), load.tolist(), strict=True))
    ]
    return routes, {"context": {"network": network, "risk": float(risk[0])}}


def play(policy: Policy, payments: Payments) -> tuple[NDArray[np.int64], float]:
    """Return how often each route was tried in each round, and what was earned."""
    tries, reward = np.zeros(payments.wins.shape, np.int64), 0.0
    for t, (items, given) in enumerate(payments.rounds):
        ranking = policy.rank(items, THREE_TRIES, **given)
        hits = np.flatnonzero(payments.wins[t, ranking.order])
        tried = int(hits[0]) + 1 if hits.size else len(ranking.order)
        outcome = Outcome(tried, bool(hits.size))
        policy.learn(ranking, outcome)
        tries[t, ranking.order[:tried]] = 1
        reward += THREE_TRIES.reward(outcome)
    return tries, reward


def pay(routes: int, context: bool, named: bool, rounds: int, seed: int) -> Start:
    """Play payments: the share earned, and whether the best route was locked out."""
    payments = deal(routes, context, named, rounds, seed)
    dim = None if named else payments.rounds[0][0].shape[1]
    tries, reward = play(recommended(dim=dim, rng=seed), payments)
    own = tries[:, payments.best]
    failed = own.sum() < tries.sum() / routes or not own[-LAST:].any()
    return Start(reward / payments.oracle_reward, bool(failed))


def thinned(rows: Items, successes: Flags, rng: np.random.Generator) -> tuple[Items, Flags] | None:
    """Leave successes out until they are rare; None if too few are left, or they are rarer."""
    won = np.flatnonzero(successes)
    keep = round(RARE / (1.0 - RARE) * (len(rows) - len(won)))
    if not FEWEST <= keep <= len(won):
        return None
    kept = np.sort(np.append(np.flatnonzero(~successes), rng.choice(won, keep, replace=False)))
    return rows[kept], successes[kept]


def learnable(rows: Items, successes: Flags) -> bool:
    """Whether a vote of the nearest rows finds a success in half of the rounds that hold one."""
    rng = np.random.default_rng(0)
    kept = rng.permutation(len(rows))[:LARGEST]
    scores, successes = standardised(rows)[kept], successes[kept]
    squares = (scores**2).sum(axis=1)
    distances = squares[:, np.newaxis] + squares - 2.0 * scores @ scores.T
    np.fill_diagonal(distances, np.inf)
    near = np.argpartition(distances, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    votes = successes[near].mean(axis=1) + 1e-6 * rng.random(len(kept))
    drawn = [rng.choice(len(kept), CANDIDATES, replace=False) for _ in range(VOTES)]
    first = [successes[each[votes[each].argmax()]] for each in drawn if successes[each].any()]
    return bool(np.mean(first) >= 0.5)


@functools.cache
def tasks(rare: bool) -> list[tuple[Items, Flags]]:
    """The learnable classes, with their rows."""
    found = []
    for name in sets.names(sets.CHOOSE):
        rows, classes = sets.load(name)
        for pivot in sets.pivots(classes):
            task: tuple[Items, Flags] | None = rows, classes == pivot
            if rare:
                task = thinned(rows, classes == pivot, np.random.default_rng(pivot))
            if task is not None and learnable(*task):
                found.append(task)
    return found


def give_up(rare: bool, seed: int) -> Start:
    """Play a class of a data set: in what share of the rounds with a success it gives up."""
    known = tasks(rare)
    rows, successes = known[seed % len(known)]
    rng = np.random.default_rng([seed, rare])
    drawn = [rng.choice(len(rows), CANDIDATES, replace=False) for _ in range(TASK_ROUNDS)]
    chosen = np.concatenate(drawn)
    starts = np.arange(0, len(chosen) + 1, CANDIDATES)
    stream = Stream(rows[chosen], starts, successes[chosen])
    run = run_stream(recommended(dim=rows.shape[1], rng=seed), stream, payoffs("linear-0.1", 5))
    some = stream.wins.reshape(TASK_ROUNDS, CANDIDATES).any(axis=1)
    share = float(np.mean(run.lengths[some] == 0))
    return Start(share, share > WRONG)


def give_up_rightly(last: int, seed: int) -> Start:
    """Play a small world in which nothing is worth a try; its last rounds count."""
    for each in itertools.count(1_000 * seed):
        stream, paid, plays = small_world(each, SMALL_ROUNDS)
        if not plays.any():
            break
    run = run_stream(recommended(dim=stream.items.shape[1], rng=seed), stream, paid)
    share = float(np.mean(run.lengths[-last:] == 0))
    return Start(share, share < RIGHT)


def measurements(rounds: int) -> Iterator[tuple[str, Callable[[int], Start], bool]]:
    """What is measured: its name, how a seed is played, and whether much is good."""
    for routes, context, named in itertools.product((8, 100), (False, True), (False, True)):
        kind = f"{'records' if named else 'arrays'}, {'context' if context else 'plain'}, {routes}"
        yield f"lock-out: {kind}", functools.partial(pay, routes, context, named, rounds), True
    yield "give-ups: classes", functools.partial(give_up, False), False
    yield "give-ups: rare classes", functools.partial(give_up, True), False
    yield "give-ups: right", functools.partial(give_up_rightly, SMALL_ROUNDS), True
    yield "give-ups: right, last 1,000", functools.partial(give_up_rightly, 1_000), True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--starts", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, default=0, metavar="FIRST", help="the first seed")
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME", help="parts of names")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of payments")
    asked = parser.parse_args()
    print("| what | starts | failed | share, mean | worst | seeds that failed |")
    print("|---|--:|--:|--:|--:|---|")
    for name, start, high in measurements(asked.rounds):
        if not any(part in name for part in asked.only):
            continue
        seeds = range(asked.seeds, asked.seeds + asked.starts)
        with one_thread("playing"):
            bar = track(seeds, name, console=Console(stderr=True), transient=True)
            found = [start(seed) for seed in bar]
        shares = np.array([each.share for each in found])
        failed = [seed for seed, each in zip(seeds, found, strict=True) if each.failed]
        shown = ", ".join(map(str, failed[:10])) + (", ..." if len(failed) > 10 else "")
        worst = shares.min() if high else shares.max()
        print(
            f"| {name} | {len(found)} | {len(failed)} | {100 * shares.mean():.1f} % "
            f"| {100 * worst:.1f} % | {shown} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
