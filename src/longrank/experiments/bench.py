"""Benchmarks that need no other library: what ``longrank bench`` runs."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from longrank import Outcome, Payoffs, kernels, named, recommended
from longrank.experiments import measure
from longrank.experiments.measure import ROUNDS, B, D, K, Measure, alternate, ratio, through
from longrank.policies.learning import LearningPolicy

WIDE = 64  # numbers per item, with very many items
SETTLING = 400  # rounds until the features have settled
SIZES = (10_000, 10, 6.0), (1_000_000, 10, 8.0), (1_000_000, 64, 8.0)  # candidates, numbers, aim
NAMES = ("default", "Ind")
Items = NDArray[np.float32]


def ind(dim: int) -> LearningPolicy:
    """Ind with the settings of every comparison."""
    policy = named("ind", dim=dim, max_budget=B, exploration=0.1, rate=5.0, radius=3.0)
    assert isinstance(policy, LearningPolicy)
    return policy


def measure_round() -> list[Measure]:
    """Rank and learn through the public interface, with every check."""
    dealt, payoffs = measure.rounds(), Payoffs.exponential(B)
    times = alternate(
        {
            "longrank": through(measure.playing(ind(D), payoffs), dealt),
            "numpy": through(measure.playing_numpy(measure.NumpyInd(D, B), payoffs), dealt),
        },
        blocks=15,
    )
    taken = {name: taken.per(ROUNDS) for name, taken in times.items()}
    what = f"a round of Ind, k = {K}, d = {D}, b = {B}, against Ind in numpy"
    return [ratio(what, taken["longrank"], taken["numpy"], None, "numpy")]


def many(count: int, dim: int = WIDE) -> Items:
    """Rows on the unit sphere in float32."""
    items = np.random.default_rng(1).standard_normal((count, dim), np.float32)
    items /= 1.000001 * np.linalg.norm(items, axis=1, keepdims=True)
    return items


def policies() -> dict[str, LearningPolicy]:
    """A policy after 1,000 rounds, and one that has learned nothing."""
    made = {"warm": ind(WIDE), "cold": ind(WIDE)}
    through(
        measure.playing(made["warm"], Payoffs.exponential(B)), measure.rounds(WIDE, 100, 1_000)
    )()
    return made


def checked(policy: LearningPolicy, items: Items, payoffs: Payoffs) -> str:
    """Report whether the ranking equals that of scoring every item exactly."""
    learner = policy.learner
    order, _, _, scores = kernels.greedy_plain(
        items, learner.weights, learner.inverse, policy.bonus, learner.link.ceiling, B
    )
    ranking = policy.rank(items, payoffs)
    probabilities = kernels.probabilities(learner.link.code, scores)[: len(ranking)]
    same = np.array_equal(ranking.order, order[: len(ranking)]) and np.array_equal(
        ranking.probabilities, probabilities
    )
    return f"result {'as' if same else 'NOT as'} exhaustive"


def measure_many(sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)) -> list[Measure]:
    """Rank very many candidates against one matrix-vector product over the same array."""
    rows, payoffs, made = [], Payoffs.exponential(B), policies()
    for size in sizes:
        items = many(size)
        plays = _plays(made, items, payoffs)
        by_clock = alternate(plays, 15, threads=True)
        by_processor = alternate(plays, 15)
        for name, limit in (("warm", 1.5), ("cold", 6.0)):
            remark = checked(made[name], items, payoffs)
            what = f"rank {size:,} items x {WIDE}, {name}, against items @ w"
            for clock, times in (("clock", by_clock), ("processor", by_processor)):
                aim = limit if size == 1_000_000 and times is by_clock else None
                title = f"{what}, by the {clock}"
                rows.append(ratio(title, times[name], times["product"], aim, remark=remark))
    return rows


def _plays(
    made: dict[str, LearningPolicy], items: Items, payoffs: Payoffs
) -> dict[str, measure.Play]:
    weights = made["warm"].learner.weights.astype(np.float32)
    return {
        "warm": lambda: made["warm"].rank(items, payoffs),
        "cold": lambda: made["cold"].rank(items, payoffs),
        "product": lambda: items @ weights,
    }


def settled(dim: int) -> dict[str, LearningPolicy]:
    """Let both learn from the same rounds."""
    dealt, payoffs = measure.rounds(dim, count=SETTLING), Payoffs.exponential(B)
    made = dict(zip(NAMES, (recommended(dim=dim, max_budget=B), ind(dim)), strict=True))
    for policy in made.values():
        through(measure.playing(policy, payoffs), dealt)()
    return made


def measure_default() -> list[Measure]:
    """A settled default against Ind, by processor time: the ratio of the minima."""
    dealt, payoffs = measure.rounds(), Payoffs.exponential(B)

    def round_of(policy: LearningPolicy) -> Callable[[], object]:
        return through(measure.playing(policy, payoffs), dealt)

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

        what = f"rank {size:,} x {dim}, by the default"
        rows.append(_against_ind(what, made[dim], ranking_of, aim))
    return rows


def _against_ind(
    what: str,
    made: dict[str, LearningPolicy],
    play: Callable[[LearningPolicy], Callable[[], object]],
    aim: float,
    calls: int = 1,
) -> Measure:
    times = alternate({name: play(policy) for name, policy in made.items()}, blocks=9)
    ours, other = (times[name].per(calls) for name in NAMES)
    raw = f"default {ours}, Ind {other}; of the medians {ours.median / other.median:.3g}"
    return Measure(f"{what}, against Ind", ours.minimum / other.minimum, aim, raw)


BENCHMARKS: dict[str, Callable[[], list[Measure]]] = {
    "round": measure_round,
    "default": measure_default,
    "many": measure_many,
}
