"""The default for arrays against Ind: a round, a cascade, and very many candidates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from longrank import Outcome, Payoffs, named, recommended
from longrank.experiments.bench.measure import Measure, alternate
from longrank.experiments.bench.ranking import Items, allocated, many
from longrank.experiments.bench.rounds import ROUNDS, B, D, K, playing, rounds, through
from longrank.policies.learning import LearningPolicy

SETTLING = 400  # rounds, after which the features have settled
SIZES = (10_000, D, 6.0), (1_000_000, D, 8.0), (1_000_000, 64, 8.0)  # candidates, numbers, aim
LARGE = 1_000_000  # candidates from which on memory counts
NAMES = ("default", "Ind")


def settled(dim: int) -> dict[str, LearningPolicy]:
    """Let both learn from the same rounds."""
    dealt, payoffs = rounds(dim, count=SETTLING), Payoffs.exponential(B)
    ind = named("ind", dim=dim, max_budget=B, exploration=0.1, rate=5.0, radius=3.0)
    assert isinstance(ind, LearningPolicy)
    made = dict(zip(NAMES, (recommended(dim=dim, max_budget=B), ind), strict=True))
    for policy in made.values():
        through(playing(policy, payoffs), dealt)()
    return made


def measure_default() -> list[Measure]:
    """A settled default against Ind, by processor time: the ratio of the minima."""
    dealt, payoffs = rounds(), Payoffs.exponential(B)

    def round_of(policy: LearningPolicy) -> Callable[[], object]:
        return through(playing(policy, payoffs), dealt)

    def failures_of(policy: LearningPolicy) -> Callable[[], object]:
        receipts = [policy.receipt(items, payoffs, np.arange(B)) for items, _ in dealt]

        def learn() -> None:
            for ranking in receipts:
                policy.learn(ranking, Outcome(B, False))

        return learn

    setting = f"k = {K}, d = {D}, b = {B}"
    rows = [
        _against_ind(f"a round of the default, {setting}", settled(D), round_of, 3.0, ROUNDS),
        _against_ind(f"learning from {B} failures", settled(D), failures_of, 4.0, ROUNDS),
    ]
    made = {dim: settled(dim) for _, dim, _ in SIZES}
    for size, dim, aim in SIZES:
        items = many(size, dim)

        def ranking_of(policy: LearningPolicy, items: Items = items) -> Callable[[], object]:
            return lambda: policy.rank(items, payoffs)

        what = f"x {dim}, by the default"
        rows.append(_against_ind(f"rank {size:,} {what}", made[dim], ranking_of, aim))
        if size >= LARGE:
            rows.append(allocated(what, made[dim]["default"], items))
    return rows


def _against_ind(
    what: str,
    made: dict[str, LearningPolicy],
    play: Callable[[LearningPolicy], Callable[[], object]],
    aim: float,
    calls: int = 1,
) -> Measure:
    times = alternate({name: play(policy) for name, policy in made.items()}, blocks=9)
    ours, ind = (times[name].per(calls) for name in NAMES)
    raw = f"default {ours}, Ind {ind}; of the medians {ours.median / ind.median:.3g}"
    return Measure(f"{what}, against Ind", ours.minimum / ind.minimum, aim, raw)
