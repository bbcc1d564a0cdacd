"""Bias and coverage of the verdict, in worlds whose truth is known exactly.

    python benchmarks/logs/worlds.py [--seeds 200] [--sizes 50,200,1000] [--only adaptive,missing]

Every world deals one of a few sets of candidates with known chances, so that the value of a policy
is a finite sum. Each cell has new logs. Columns: the share of logs in which a verdict is given, the
mean error of its value with the standard error, how often its 95 % interval covers the truth with
the standard error, and the mean width. In worlds marked * a log cannot tell the truth; refusing is
right there and counts as covered, a verdict counts as covered if its interval holds the truth.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa

from longrank import (
    UCB,
    EpsilonGreedy,
    OnlineNewton,
    Outcome,
    Payoffs,
    PlackettLuce,
    Policy,
    Random,
    unit_rows,
)
from longrank.logs import History, fit
from longrank.logs.evaluation.evidence import gather_all
from longrank.logs.evaluation.intervals import IntervalSettings
from longrank.logs.evaluation.judging import judge as verdict
from longrank.logs.evaluation.sample import Sample
from longrank.policies import Randomised

Rows = list[dict[str, Any]]
Played = tuple[tuple[int, ...], list[float], float]  # order, prefix propensities, propensity
Design = list[list[Played]]  # what a log may play in each deal
DEALS, SIZE, DIM = 6, 4, 3
FREE = Payoffs([1.0, 0.7, 0.4], [-0.2] * 4)  # full sequences
COSTLY = Payoffs.linear(3, attempt_cost=0.15, give_up=-0.1)
ONE = Payoffs([1.0], [0.0, -0.1])  # one try; not trying earns nothing
LOGGED, NEAR, FAR = [0.8, -0.4, 0.4], [1.2, -0.2, 0.4], [-0.8, 0.8, -0.4]

ITEMS = np.stack(
    [unit_rows(np.random.default_rng(70 + i).normal(size=(SIZE, DIM))) for i in range(DEALS)]
)
_ODD = np.random.default_rng(7).normal(size=(DEALS, SIZE))  # what no linear model can learn
LOGITS = ITEMS @ [1.2, -0.8, 0.6] + 0.5 * _ODD


def chances(rate: float) -> np.ndarray:
    """Chances of every candidate in every deal, of this mean: shape (deals, candidates)."""
    low, high = -20.0, 20.0
    for _ in range(80):
        middle = (low + high) / 2.0
        mean = (1.0 / (1.0 + np.exp(-LOGITS - middle))).mean()
        low, high = (middle, high) if mean < rate else (low, middle)
    return 1.0 / (1.0 + np.exp(-LOGITS - low))


COMMON, RARE, NEVER, USUAL = (chances(rate) for rate in (0.3, 0.02, 0.003, 0.9))


def believing(weights: Sequence[float]) -> OnlineNewton:
    """A learner with this belief."""
    learner = OnlineNewton(len(weights), max_budget=3)
    learner.weights[:] = weights
    return learner


def soft(weights: Sequence[float], temperature: float) -> PlackettLuce:
    """A policy that draws every order with some probability."""
    return PlackettLuce(believing(weights), temperature=temperature, rng=0)


def greedy(weights: Sequence[float]) -> UCB:
    """A policy that always plays what it believes best."""
    return UCB(believing(weights), exploration=0.0)


def mostly(weights: Sequence[float], epsilon: float) -> EpsilonGreedy:
    """A policy that plays what it believes best, and now and then anything."""
    return EpsilonGreedy(believing(weights), epsilon=epsilon, rng=0)


def orders(payoffs: Payoffs) -> list[tuple[int, ...]]:
    """Every sequence that can be played."""
    most = min(payoffs.budget, SIZE)
    return [order for n in range(most + 1) for order in permutations(range(SIZE), n)]


def by(policy: Randomised, payoffs: Payoffs) -> Design:
    """What a policy with a fixed belief plays."""
    deals: Design = []
    for items in ITEMS:
        played = [(o, policy.propensities(items, payoffs, o).tolist()) for o in orders(payoffs)]
        deals.append([(order, all_[:-1], all_[-1]) for order, all_ in played if all_[-1] > 0.0])
    return deals


def evenly(sequences: Callable[[int], Sequence[tuple[int, ...]]]) -> Design:
    """Any of some sequences in each deal, all with equal probability."""
    deals: Design = []
    for deal in range(DEALS):
        listed = list(sequences(deal))
        deals.append(
            [
                (
                    order,
                    [
                        sum(one[:n] == order[:n] for one in listed) / len(listed)
                        for n in range(1, len(order) + 1)
                    ],
                    1.0 / len(listed),
                )
                for order in listed
            ]
        )
    return deals


def own_choice(wanted: Callable[[int], int]) -> np.ndarray:
    """Items in which one candidate of each deal has far more of the first column than others."""
    items = ITEMS.copy()
    for deal in range(DEALS):
        items[deal, :, 0] = -0.5
        items[deal, wanted(deal), 0] = 1.0
    return unit_rows(items.reshape(-1, DIM)).reshape(items.shape)


@dataclass(frozen=True)
class World:
    """How a log comes about, and the policies that are judged by it."""

    chances: np.ndarray
    targets: dict[str, Callable[[], Policy]]
    payoffs: Payoffs = field(default_factory=lambda: FREE)
    log: Callable[[Payoffs], Design] | None = None
    learning: Callable[[int], Randomised] | None = None  # of the seed
    items: np.ndarray = field(default_factory=lambda: ITEMS)
    early: float = 0.0  # the chance that a cascade ends after a failure
    missing: Callable[[tuple[int, ...], bool], float] | None = None  # of order and success
    treatment: str = "refuse"  # of missing outcomes, as whoever knows the reason would choose it
    written: float = 1.0  # the part of a propensity that is written down
    hopeless: frozenset[str] = frozenset()  # targets of which the log cannot tell the truth

    def rows(self, size: int, seed: int) -> Rows:
        """A log."""
        rng = np.random.default_rng([seed, size])
        rows = []
        for t, (deal, played, learn) in enumerate(self._plays(size, seed, rng)):
            order, prefix, propensity = played
            outcome = self._outcome(order, self.chances[deal], rng)
            learn(outcome)
            gone = self.missing is not None and (
                rng.random() < self.missing(order, outcome.succeeded)
            )
            rows.append(
                {"id": t, "time": float(t), "items": self.items[deal].tolist()}
                | {"order": list(order)}
                | {"tried": None if gone else outcome.tried}
                | {"succeeded": None if gone else outcome.succeeded}
                | {"rewards": self.payoffs.rewards.tolist(), "losses": self.payoffs.losses.tolist()}
                | {"prefix_propensities": [min(1.0, p * self.written) for p in prefix]}
                | {"propensity": min(1.0, propensity * self.written)}
            )
        return rows

    @cached_property
    def design(self) -> Design:
        """What a log by a policy that does not learn may play."""
        assert self.log is not None
        return self.log(self.payoffs)

    def _plays(
        self, size: int, seed: int, rng: np.random.Generator
    ) -> Iterator[tuple[int, Played, Callable[[Outcome], Any]]]:
        deals = rng.integers(DEALS, size=size).tolist()
        if self.learning is None:
            design = self.design
            odds = [np.cumsum([p for *_, p in plays]) for plays in design]
            for deal in deals:
                found = int(np.searchsorted(odds[deal], rng.random() * odds[deal][-1]))
                yield deal, design[deal][found], lambda _: None
            return
        policy = self.learning(seed)
        for deal in deals:
            ranking = policy.rank(self.items[deal], self.payoffs)
            order = tuple(ranking.order.tolist())
            known = policy.propensities(self.items[deal], self.payoffs, order).tolist()

            def learn(outcome: Outcome, ranking: Any = ranking) -> None:
                policy.learn(ranking, outcome)

            yield deal, (order, known[:-1], known[-1]), learn

    def _outcome(
        self, order: tuple[int, ...], success: np.ndarray, rng: np.random.Generator
    ) -> Outcome:
        for i, item in enumerate(order):
            if i and rng.random() < self.early:
                return Outcome(i, False)
            if rng.random() < success[item]:
                return Outcome(i + 1, True)
        return Outcome(len(order), False)

    def truth(self, policy: Policy) -> float:
        """What a policy earns, exactly."""
        total = 0.0
        for items, success in zip(self.items, self.chances, strict=True):
            if isinstance(policy, Randomised):
                played = [
                    (o, policy.propensity(items, self.payoffs, o)) for o in orders(self.payoffs)
                ]
            else:
                played = [(tuple(policy.rank(items, self.payoffs).order.tolist()), 1.0)]
            total += sum(p * self._expected(order, success) for order, p in played)
        return total / DEALS

    def _expected(self, order: tuple[int, ...], success: np.ndarray) -> float:
        total, going = 0.0, 1.0
        for i, item in enumerate(order):
            if i:
                total += going * self.early * self.payoffs.reward(Outcome(i, False))
                going *= 1.0 - self.early
            total += going * success[item] * self.payoffs.reward(Outcome(i + 1, True))
            going *= 1.0 - success[item]
        return total + going * self.payoffs.reward(Outcome(len(order), False))


def _soft_log(payoffs: Payoffs) -> Design:
    return by(soft(LOGGED, 1.0), payoffs)


def _sharp_log(payoffs: Payoffs) -> Design:
    return by(soft(LOGGED, 0.3), payoffs)


def _mostly_log(payoffs: Payoffs) -> Design:
    return by(mostly(LOGGED, 0.3), payoffs)


BOTH: dict[str, Callable[[], Policy]] = {
    "near": lambda: greedy(NEAR),
    "far": lambda: greedy(FAR),
}
DRAWN: dict[str, Callable[[], Policy]] = {
    "near": lambda: soft(NEAR, 0.5),
    "far": lambda: soft(FAR, 0.5),
}
FIXED: dict[str, Callable[[], Policy]] = {
    "itself": lambda: greedy(LOGGED),
    "other": lambda: greedy(FAR),
}
FIRST: dict[str, Callable[[], Policy]] = {"first column": lambda: greedy([1.0, 0.0, 0.0])}


def _learns_softly(seed: int) -> Randomised:
    return PlackettLuce(OnlineNewton(DIM, max_budget=3), temperature=0.5, rng=seed)


def _learns_mostly(seed: int) -> Randomised:
    return EpsilonGreedy(OnlineNewton(DIM, max_budget=3), epsilon=0.2, rng=seed)


def _half_fixed(deal: int) -> list[tuple[int, ...]]:
    return [(0, 1, 2)] if deal % 2 else list(permutations(range(SIZE), 3))


def _two_of(deal: int) -> list[tuple[int, ...]]:
    return [(0,), (1,)] if deal % 2 else [(2,), (3,)]


WORLDS = {
    "random / common": World(COMMON, BOTH, log=_soft_log),
    "random / rare": World(RARE, BOTH, log=_soft_log),
    "random / nearly always": World(USUAL, BOTH, log=_soft_log),
    "random / targets that draw": World(COMMON, DRAWN, log=_soft_log),
    "random / lengths differ": World(COMMON, BOTH, COSTLY, log=_soft_log),
    "sharp / lengths differ": World(COMMON, DRAWN, COSTLY, log=_sharp_log),
    "epsilon / common": World(COMMON, FIXED, log=_mostly_log),
    "epsilon / rare": World(RARE, FIXED, log=_mostly_log),
    "adaptive random / common": World(COMMON, BOTH, learning=_learns_softly),
    "adaptive random / rare": World(RARE, BOTH, learning=_learns_softly),
    "adaptive epsilon / common": World(COMMON, FIXED, learning=_learns_mostly),
    "adaptive epsilon / rare": World(RARE, FIXED, learning=_learns_mostly),
    "early stops": World(COMMON, BOTH, log=_soft_log, early=0.3),
    "missing 20 % at random": World(
        COMMON, BOTH, log=_soft_log, missing=lambda *_: 0.2, treatment="at random"
    ),
    "missing by what was played": World(
        COMMON,
        BOTH,
        log=_soft_log,
        missing=lambda order, _: 0.4 if order[0] == 0 else 0.05,
        treatment="at random",
    ),
    "missing 0.6 % of failures": World(
        COMMON, BOTH, log=_soft_log, missing=lambda _, succeeded: 0.0 if succeeded else 0.006
    ),
    "missing 5 % of successes": World(
        COMMON,
        BOTH,
        log=_soft_log,
        missing=lambda _, succeeded: 0.05 * succeeded,
        treatment="bounds",
    ),
    "missing half the successes": World(
        COMMON,
        BOTH,
        log=_soft_log,
        missing=lambda _, succeeded: 0.5 if succeeded else 0.1,
        treatment="bounds",
    ),
    "length never played": World(
        COMMON,
        {"plays one": lambda: greedy([4.0, 0.0, 0.0])},
        Payoffs.linear(3, attempt_cost=0.3, give_up=-0.1),
        log=lambda _: evenly(lambda _: list(permutations(range(SIZE), 2))),
        items=own_choice(lambda deal: deal % SIZE),
        hopeless=frozenset({"plays one"}),
    ),
    "propensities halved": World(
        COMMON, BOTH, log=_soft_log, written=0.5, hopeless=frozenset(BOTH)
    ),
    "propensities a fifth too high": World(
        COMMON, BOTH, log=_soft_log, written=1.2, hopeless=frozenset(BOTH)
    ),
    "fixed in half the deals": World(
        COMMON,
        FIRST,
        log=lambda _: evenly(_half_fixed),
        items=own_choice(lambda _: 3),
        hopeless=frozenset(FIRST),
    ),
    "fixed where the target agrees": World(
        COMMON,
        FIRST,
        ONE,
        log=lambda _: evenly(lambda deal: [(0,)] if deal % 2 else [(i,) for i in range(SIZE)]),
        items=own_choice(lambda deal: 0 if deal % 2 else deal // 2 + 1),
    ),
    "others played in one deal of six": World(
        COMMON,
        FIRST,
        ONE,
        log=lambda _: evenly(lambda deal: [(1,), (2,)] if deal == 0 else [(0,), (1,)]),
        items=own_choice(lambda _: 0),
        hopeless=frozenset(FIRST),
    ),
    "half everywhere / others played": World(
        COMMON,
        FIRST,
        ONE,
        log=lambda _: evenly(_two_of),
        items=own_choice(lambda _: 0),
        hopeless=frozenset(FIRST),
    ),
    "half everywhere / the same played": World(
        COMMON,
        FIRST,
        ONE,
        log=lambda _: evenly(_two_of),
        items=own_choice(lambda deal: 0 if deal % 2 else 2),
    ),
    "failures only": World(
        NEVER,
        {"uniform": lambda: Random(rng=0), "first column": lambda: greedy([1.0, 0.0, 0.0])},
        ONE,
        log=lambda _: evenly(lambda _: [(i,) for i in range(SIZE)]),
        items=own_choice(lambda deal: deal % SIZE),
    ),
}


@dataclass(frozen=True)
class Judged:
    """A verdict, or why there is none."""

    value: float
    low: float
    high: float
    refused: str
    estimator: str


@cache
def judged_by(name: str) -> dict[str, Policy]:
    """The policies that are judged in a world, which remember what they do in each deal."""
    policies = {target: make() for target, make in WORLDS[name].targets.items()}
    for policy in policies.values():
        asked = "choices" if isinstance(policy, Randomised) else "propose"
        setattr(policy, asked, _remembering(getattr(policy, asked)))
    return policies


def _remembering(ask: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[tuple[Any, ...], Any] = {}

    def answer(items: np.ndarray, payoffs: Payoffs, *rest: Any, **given: Any) -> Any:
        key = items.tobytes(), *(tuple(np.ravel(one).tolist()) for one in rest)
        if key not in known:
            known[key] = ask(items, payoffs, *rest, **given)
        return known[key]

    return answer


def judge(name: str, size: int, seed: int) -> dict[str, Judged]:
    """The verdict of one log on each policy: that of `evaluate`, without the other estimators."""
    world = WORLDS[name]
    history = History(pa.Table.from_pylist(world.rows(size, seed))).keep()
    gathered = gather_all(judged_by(name), history, fit(history), draws=0)
    judged = {}
    for target, found in gathered.items():
        one = verdict(Sample(found[""], IntervalSettings(), world.treatment), target)
        how = f"{one.estimator}, {one.method}"
        judged[target] = Judged(one.value, one.low, one.high, one.refused, how)
    return judged


def line(name: str, size: int, truth: float, hopeless: bool, found: list[Judged]) -> str:
    """The row of a cell."""
    given = [one for one in found if not one.refused]
    off = np.array([one.value - truth for one in given if math.isfinite(one.value)])
    covers = [one.low - 1e-9 <= truth <= one.high + 1e-9 for one in given]
    if hopeless:
        covers += [True] * (len(found) - len(given))
    width = np.mean([one.high - one.low for one in given]) if given else math.nan
    bias = f"{off.mean():+.3f} ± {off.std() / max(1, len(off)) ** 0.5:.3f}" if len(off) else "–"
    if covers:
        share = float(np.mean(covers))
        coverage = f"{share:.1%} ± {math.sqrt(max(share * (1 - share), 1e-9) / len(covers)):.1%}"
    else:
        coverage = "–"
    marked = f"{name}{'*' if hopeless else ''}"
    return (
        f"| {marked} | {size:,} | {truth:.3f} | {len(given) / len(found):.0%} | {bias} | "
        f"{coverage} | {'–' if math.isnan(width) else f'{width:.3f}'} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200, help="logs per cell")
    parser.add_argument("--sizes", default="50,200,1000", help="decisions per log")
    parser.add_argument("--only", default="", help="worlds whose names contain one of these")
    parser.add_argument("--why", action="store_true", help="count estimators and refusals")
    chosen = parser.parse_args()
    wanted = [part.strip() for part in chosen.only.split(",")]
    print("| world: target | n | truth | given | bias | coverage | width |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, world in WORLDS.items():
        if not any(part in name for part in wanted):
            continue
        truths = {target: world.truth(make()) for target, make in world.targets.items()}
        for size in map(int, chosen.sizes.split(",")):
            began = time.perf_counter()
            runs = [judge(name, size, seed) for seed in range(chosen.seeds)]
            for target, truth in truths.items():
                found = [run[target] for run in runs]
                title = f"{name}: {target}"
                print(line(title, size, truth, target in world.hopeless, found), flush=True)
                if chosen.why:
                    reasons: dict[str, int] = {}
                    for one in found:
                        reason = one.refused or one.estimator
                        reasons[reason] = reasons.get(reason, 0) + 1
                    for reason, count in sorted(reasons.items(), key=lambda pair: -pair[1])[:4]:
                        print(f"    {count}: {reason}", file=sys.stderr)
            seconds = time.perf_counter() - began
            print(f"  {name}, n = {size}: {seconds:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
