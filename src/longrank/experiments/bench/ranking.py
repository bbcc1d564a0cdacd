"""Ranking: dependent items, and very many candidates."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from longrank import Outcome, Payoffs, kernels, named, recommended
from longrank.experiments.bench import measure
from longrank.experiments.bench.measure import (
    Matrix,
    Measure,
    Order,
    Play,
    Vector,
    alternate,
    greedy,
    playing,
    ratio,
    rounds,
    through,
)
from longrank.planning.contenders import PART, THREADS
from longrank.policies.learning import LearningPolicy

K, LENGTH, TOPICS = 1_000, 100, 30  # of dependent rankings
D, B = 64, 10  # of many candidates
Case = tuple[Matrix, Vector, Matrix, float]  # topics, weights, M^-1, bonus
Items = NDArray[np.float32]


def usual(items: int = K, topics: int = TOPICS) -> Case:
    """Topics of a mixture, and a belief after a thousand observations."""
    rng = np.random.default_rng(0)
    seen = 2.0 * rng.dirichlet(np.full(topics, 0.3), 1_000) - 1.0
    inverse = np.asarray(np.linalg.inv(10.0 * np.eye(topics) + seen.T @ seen / topics), np.float64)
    return rng.dirichlet(np.full(topics, 0.3), items), rng.normal(size=topics), inverse, 0.3


def adversarial(items: int = K) -> dict[str, Case]:
    """Cases where bounds help little: similar items, flat topics, widths that dominate."""
    rng = np.random.default_rng(1)
    some, weights, inverse, _ = usual(items)
    flat = rng.dirichlet(np.full(TOPICS, 50.0), items)
    half = rng.normal(size=(TOPICS, TOPICS))
    wild = half @ half.T  # far from diagonal: the bound on a width is loose
    sizes = rng.random((items, 1))
    return {
        "all items equal": (np.repeat(some[:1], items, axis=0), weights, inverse, 0.3),
        "flat topics, no weights": (flat, np.zeros(TOPICS), inverse, 0.3),
        "flat topics, wild widths": (flat, 0.01 * weights, wild, 10.0),
        "wild widths": (some, np.zeros(TOPICS), wild, 10.0),
        "one direction": (sizes * some, np.zeros(TOPICS), np.ones((TOPICS, TOPICS)), 1.0),
    }


def against_plain(what: str, case: Case, aim: float, count: int, blocks: int = 25) -> Measure:
    """Time a dependent ranking and compare its sequence with that of plain greedy."""

    def ours() -> Order:
        return kernels.greedy_coverage(*case, np.inf, count)[0]

    def theirs() -> Order:
        return greedy(*case, count)

    same = np.array_equal(ours(), theirs())
    times = alternate({"ours": ours, "plain": theirs}, blocks)
    row = ratio(what, times["ours"], times["plain"], aim, "plain greedy")
    told = "same sequence" if same else "ANOTHER sequence"
    return Measure(row.what, row.value, row.aim, f"{row.raw}; {told}")


def measure_dependent(items: int = K, length: int = LENGTH) -> list[Measure]:
    """Dependent rankings against plain greedy, on usual and on adversarial cases."""
    what = f"dependent ranking, k = {items}, b = {length}, d' = {TOPICS}, against plain greedy"
    rows = [against_plain(what, usual(items), 0.1, length)]
    for name, case in adversarial(items).items():
        what = f"dependent ranking, adversarial: {name}"
        rows.append(against_plain(what, case, 1.3, length, blocks=5))
    return rows


def many(count: int, dim: int = D) -> Items:
    """Rows on the unit sphere in float32, made in place."""
    rng = np.random.default_rng(1)
    items = np.empty((count, dim), np.float32)
    for start in range(0, count, 4096):
        part = rng.standard_normal((min(4096, count - start), dim), np.float32)
        items[start : start + 4096] = part / (
            1.000001 * np.linalg.norm(part, axis=1, keepdims=True)
        )
    return items


def policies() -> dict[str, LearningPolicy]:
    """A policy after 1,000 rounds, and one that has learned nothing."""
    made: dict[str, LearningPolicy] = {}
    for name in ("warm", "cold"):
        policy = named("ind", dim=D, max_budget=B, exploration=0.1, rate=5.0, radius=3.0)
        assert isinstance(policy, LearningPolicy)
        made[name] = policy
    through(playing(made["warm"], Payoffs.exponential(B)), rounds(D, 100, 1_000))()
    return made


def same_as_all(policy: LearningPolicy, items: Items, payoffs: Payoffs) -> bool:
    """Whether the ranking is that of scoring every item exactly."""
    learner = policy.learner
    order, _, _, scores = kernels.greedy_plain(
        items, learner.weights, learner.inverse, policy.bonus, learner.link.ceiling, B
    )
    ranking = policy.rank(items, payoffs)
    chances = kernels.probabilities(learner.link.code, scores)[: len(ranking)]
    return bool(
        np.array_equal(ranking.order, order[: len(ranking)])
        and np.array_equal(ranking.probabilities, chances)
    )


def measure_many(sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)) -> list[Measure]:
    """Rank very many candidates against one matrix-vector product over the same array."""
    rows, payoffs, made = [], Payoffs.exponential(B), policies()
    for size in sizes:
        items = many(size)
        plays = _plays(made, items, payoffs)
        by_clock = alternate(plays, 15, threads=True)
        by_processor = alternate(plays, 15)
        for name, limit in (("warm", 1.5), ("cold", 6.0)):
            same = same_as_all(made[name], items, payoffs)
            told = f"result {'as' if same else 'NOT as'} exhaustive"
            what = f"rank {size:,} items x {D}, {name}, against items @ w"
            for clock, times in (("clock", by_clock), ("processor", by_processor)):
                aim = limit if size == 1_000_000 and times is by_clock else None
                row = ratio(f"{what}, by the {clock}", times[name], times["product"], aim)
                rows.append(replace(row, raw=f"{row.raw}; {told}"))
    return [*rows, tied(made["cold"], one_hot(size)), *memory(items), *memory(one_hot(size))]


def one_hot(count: int) -> Items:
    """Items that tie as long as nothing is learned, so that no bound tells them apart."""
    items = np.zeros((count, D), np.float32)
    items[np.arange(count), np.arange(count) % D] = 1.0
    return items


def tied(policy: LearningPolicy, items: Items) -> Measure:
    """Rank items that all tie."""
    payoffs, weights = Payoffs.exponential(B), np.ones(D, np.float32)
    plays: dict[str, Play] = {
        "ours": lambda: policy.rank(items, payoffs),
        "product": lambda: items @ weights,
    }
    times = alternate(plays, 5, threads=True)
    what = f"rank {len(items):,} one-hot items x {D}, cold, all tied, by the clock"
    row = ratio(what, times["ours"], times["product"], 6.0)
    same = same_as_all(policy, items, payoffs)
    return replace(row, raw=f"{row.raw}; result {'as' if same else 'NOT as'} exhaustive")


def _plays(made: dict[str, LearningPolicy], items: Items, payoffs: Payoffs) -> dict[str, Play]:
    weights = made["warm"].learner.weights.astype(np.float32)
    return {
        "warm": lambda: made["warm"].rank(items, payoffs),
        "cold": lambda: made["cold"].rank(items, payoffs),
        "product": lambda: items @ weights,
    }


def memory(items: Items) -> list[Measure]:
    """What ranking items allocates, with a policy that has learned and one that has not."""
    kind = "" if np.count_nonzero(items[0]) > 1 else "one-hot "
    return [allocated(f"{kind}items, {name}", policy, items) for name, policy in policies().items()]


def allocated(what: str, policy: LearningPolicy, items: Items) -> Measure:
    """The items and all that ranking them allocates, over the items alone.

    numpy's arrays are traced. Those inside kernels are not, so the long ones among them are added:
    the contenders of a part, at most 32 bytes for each item and thread.
    """
    inside, payoffs = 32 * PART * THREADS, Payoffs.exponential(B)
    policy.rank(items, payoffs)
    tracemalloc.start()
    policy.rank(items, payoffs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    raw = (
        f"items {items.nbytes / 1e6:.0f} MB, traced {peak / 1e6:.1f} MB, "
        f"kernels at most {inside / 1e6:.1f} MB"
    )
    value = 1.0 + (peak + inside) / items.nbytes
    return Measure(f"memory to rank {len(items):,} {what}", value, 1.2, raw)


SETTLING = 400  # rounds, after which the features have settled
SIZES = (10_000, 10, 6.0), (1_000_000, 10, 8.0), (1_000_000, 64, 8.0)  # candidates, numbers, aim
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

    setting = f"k = {measure.K}, d = {measure.D}, b = {B}"
    rows = [
        _against_ind(
            f"a round of the default, {setting}", settled(measure.D), round_of, 3.0, measure.ROUNDS
        ),
        _against_ind(
            f"learning from {B} failures", settled(measure.D), failures_of, 4.0, measure.ROUNDS
        ),
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
