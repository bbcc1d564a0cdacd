"""The default for arrays against Ind: a round, a cascade, and very many candidates."""

from __future__ import annotations

import time

import numpy as np

from longrank import Outcome, Payoffs, named, recommended
from longrank.experiments.bench.measure import Measure, Play, Times, alternate
from longrank.experiments.bench.ranking import Items, allocated, many
from longrank.experiments.bench.rounds import ROUNDS, B, D, playing, rounds, through
from longrank.policies.base import Believer

SETTLING = 400  # rounds of 100 candidates after which both are measured
WIDE = 64


def settled(dim: int) -> dict[str, Believer]:
    """The default and Ind after the same rounds."""
    dealt, payoffs = rounds(dim, count=SETTLING), Payoffs.exponential(B)
    ind = named("ind", dim=dim, max_budget=B, exploration=0.1, rate=5.0, radius=3.0)
    assert isinstance(ind, Believer)
    made: dict[str, Believer] = {"default": recommended(dim=dim, max_budget=B), "Ind": ind}
    for policy in made.values():
        through(playing(policy, payoffs), dealt)()
    return made


def measure_default() -> list[Measure]:
    """A settled default against Ind, by processor time: the ratios of the minima."""
    made, payoffs = settled(D), Payoffs.exponential(B)
    dealt = rounds(count=ROUNDS)
    plays: dict[str, Play] = {
        name: through(playing(policy, payoffs), dealt) for name, policy in made.items()
    }
    setting = f"k = 100, d = {D}, b = {B}"
    rows = [_against_ind(f"a round of the default, {setting}", plays, 3.0, 15, ROUNDS)]
    rows.append(_cascades(made, payoffs, dealt))
    for size, dim, aim in ((10_000, D, 6.0), (1_000_000, D, 8.0), (1_000_000, WIDE, 8.0)):
        if dim != D:
            made = settled(dim)
        items = many(size, dim)
        plays = {name: _ranking(policy, items, payoffs) for name, policy in made.items()}
        blocks = 25 if size < 100_000 else 5
        what = f"rank {size:,} x {dim} by the default"
        rows.append(_against_ind(what, plays, aim, blocks, 1))
        if size == 1_000_000:
            rows.append(allocated(f"x {dim} by the default", made["default"], items))
    return rows


def _ranking(policy: Believer, items: Items, payoffs: Payoffs) -> Play:
    return lambda: policy.rank(items, payoffs)


def _cascades(
    made: dict[str, Believer], payoffs: Payoffs, dealt: list[tuple[np.ndarray, np.ndarray]]
) -> Measure:
    """Learn that all of ten tries failed."""
    order = np.arange(B)
    taken: dict[str, list[float]] = {name: [] for name in made}
    receipts = {
        name: [policy.receipt(items, payoffs, order) for items, _ in dealt]
        for name, policy in made.items()
    }
    outcome = Outcome(B, False)
    for _ in range(15):
        for name, policy in made.items():
            saved = policy.learner.state()
            start = time.process_time()
            for ranking in receipts[name]:
                policy.learn(ranking, outcome)
            taken[name].append((time.process_time() - start) / len(dealt))
            policy.learner._restore(saved)
    ours, ind = (Times(tuple(taken[name])) for name in ("default", "Ind"))
    return _minima(f"learn a cascade of {B} tries", ours, ind, 4.0)


def _against_ind(what: str, plays: dict[str, Play], aim: float, blocks: int, calls: int) -> Measure:
    times = alternate(plays, blocks)
    return _minima(what, times["default"].per(calls), times["Ind"].per(calls), aim)


def _minima(what: str, ours: Times, ind: Times, aim: float) -> Measure:
    raw = f"default {ours}, Ind {ind}; of the medians {ours.median / ind.median:.3g}"
    return Measure(f"{what}, against Ind", ours.minimum / ind.minimum, aim, raw)
