"""Benchmarks that need no other library: what ``longrank bench`` runs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from longrank import OnlineNewton, Outcome, Payoffs, kernels, named, recommended, unit_rows
from longrank.experiments import measure
from longrank.experiments.measure import ROUNDS, B, D, K, Measure, Times, alternate, ratio, through
from longrank.planning.contenders import PART, THREADS
from longrank.policies.learning import LearningPolicy

STARTS = 5  # processes with cached kernels
N, LENGTHS = 10_000, 1_000_000  # observed items, and lengths to choose from
FIRST, LAST, BLOCKS = 490, 510, 7  # rounds of GL-CDCM that are timed, and how often
ITEMS, LENGTH, TOPICS = 1_000, 100, 30  # of dependent rankings
WIDE = 64  # numbers of an item, where there are very many
SETTLING = 400  # rounds, after which the features have settled
SIZES = (10_000, 10, 6.0), (1_000_000, 10, 8.0), (1_000_000, 64, 8.0)  # candidates, numbers, aim
LARGE = 1_000_000  # candidates from which on memory counts
NAMES = ("default", "Ind")
Case = tuple[measure.Matrix, measure.Vector, measure.Matrix, float]  # topics, weights, M^-1, bonus
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


def measure_long() -> list[Measure]:
    """Learn from 10,000 observed items, and find the best of a million lengths."""
    rng = np.random.default_rng(0)
    rows = unit_rows(rng.normal(size=(2 * N, WIDE)))
    ours = OnlineNewton(WIDE, max_budget=2 * N, radius=3.0, rate=5.0)
    theirs = measure.NumpyInd(WIDE, 2 * N)
    times = alternate(
        {
            "n": lambda: ours.observe(rows[:N], True),
            "2n": lambda: ours.observe(rows, True),
            "numpy": lambda: theirs.learn(rows[:N], True),
        },
        blocks=7,
    )
    what = f"learning from {N:,} observed items, d = {WIDE}"
    p = rng.random(LENGTHS) * 1e-5
    payoffs = Payoffs.linear(LENGTHS, success=1.0, attempt_cost=1e-6)
    length = alternate({"best": lambda: payoffs.best_length(p), "sum": p.sum}, blocks=31)
    return [
        ratio(f"{what}, against numpy", times["n"], times["numpy"], 0.1, "numpy"),
        ratio(f"{what}: twice as many, against once", times["2n"], times["n"], 2.2, "once"),
        ratio(
            f"best of {LENGTHS:,} lengths, against a sum", length["best"], length["sum"], 20, "sum"
        ),
    ]


def measure_likelihood() -> list[Measure]:
    """GL-CDCM at round 500 against Ind, and how far its fit is from a cold one."""
    dealt, payoffs = measure.rounds(count=LAST), Payoffs.exponential(B)
    taken: dict[str, list[float]] = {"ind": [], "gl-cdcm": []}
    for _ in range(BLOCKS):
        for name, blocks in taken.items():
            more = {"max_budget": B} if name == "ind" else {}
            policy = named(name, dim=D, **more)
            play = measure.playing(policy, payoffs)
            for one in dealt[:FIRST]:
                play(*one)
            for one in dealt[FIRST:]:
                start = time.process_time()
                play(*one)
                blocks.append(time.process_time() - start)
    ours, other = (Times(tuple(taken[name])) for name in ("gl-cdcm", "ind"))
    assert isinstance(policy, LearningPolicy)
    learner = policy.learner
    state = learner.state()
    cold = measure.cold_fit(state["rows"], state["successes"].astype(np.float64), learner.prior)
    off = float(np.abs(cold - learner.weights).max() / max(1.0, np.abs(cold).max()))
    told = f"{learner.updates:,} observed items, d = {D}"
    return [
        ratio("a round of GL-CDCM at t = 500, against Ind", ours, other, 30.0, "Ind"),
        Measure("GL-CDCM's weights from those of a cold fit", off, 1e-8, told, "relative"),
    ]


CODE = """
import time
start, used = time.perf_counter(), time.process_time()
import numpy as np
import longrank
policy = longrank.recommended(dim=10)
ranking = policy.rank(np.full((100, 10), 0.1), longrank.Payoffs.exponential(10))
print(time.process_time() - used, time.perf_counter() - start)
policy.learn(ranking, longrank.Outcome(1, True))
"""


def _start(folder: str) -> tuple[float, float, str]:
    """Processor seconds, wall-clock seconds and standard error of a new process."""
    told = subprocess.run(
        [sys.executable, "-c", CODE],
        env=os.environ | {"NUMBA_CACHE_DIR": folder},
        capture_output=True,
        text=True,
        check=True,
    )
    used, passed = map(float, told.stdout.split())
    return used, passed, told.stderr.strip()


def measure_start() -> list[Measure]:
    """Import and the first ranking of a new process, with and without cached kernels."""
    with tempfile.TemporaryDirectory() as folder:
        first, passed, said = _start(folder)
        cached = [_start(folder) for _ in range(STARTS)]
    quiet = not any(words for _, _, words in cached)
    used = Times(tuple(one[0] for one in cached))
    clock = Times(tuple(one[1] for one in cached))
    told = f"processor {used}, clock {clock}; it says {'nothing' if quiet else 'SOMETHING'}"
    words = f"processor {first:.3g} s, clock {passed:.3g} s; it says: {said or 'NOTHING'}"
    return [
        Measure("import and first rank, kernels cached", used.median, 2.0, told, "s"),
        Measure("import and first rank ever, nothing cached", first, 15.0, words, "s"),
    ]


def usual(items: int = ITEMS, topics: int = TOPICS) -> Case:
    """Topics of a mixture, and a belief after a thousand observations."""
    rng = np.random.default_rng(0)
    seen = 2.0 * rng.dirichlet(np.full(topics, 0.3), 1_000) - 1.0
    inverse = np.asarray(np.linalg.inv(10.0 * np.eye(topics) + seen.T @ seen / topics), np.float64)
    return rng.dirichlet(np.full(topics, 0.3), items), rng.normal(size=topics), inverse, 0.3


def adversarial(items: int = ITEMS) -> dict[str, Case]:
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

    def ours() -> measure.Order:
        return kernels.greedy_coverage(*case, np.inf, count)[0]

    def theirs() -> measure.Order:
        return measure.greedy(*case, count)

    same = np.array_equal(ours(), theirs())
    times = alternate({"ours": ours, "plain": theirs}, blocks)
    remark = "same sequence" if same else "ANOTHER sequence"
    return ratio(what, times["ours"], times["plain"], aim, "plain greedy", remark)


def measure_dependent(items: int = ITEMS, length: int = LENGTH) -> list[Measure]:
    """Dependent rankings against plain greedy, on usual and on adversarial cases."""
    what = f"dependent ranking, k = {items}, b = {length}, d' = {TOPICS}, against plain greedy"
    rows = [against_plain(what, usual(items), 0.1, length)]
    for name, case in adversarial(items).items():
        what = f"dependent ranking, adversarial: {name}"
        rows.append(against_plain(what, case, 1.3, length, blocks=5))
    return rows


def many(count: int, dim: int = WIDE) -> Items:
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
    made = {"warm": ind(WIDE), "cold": ind(WIDE)}
    through(
        measure.playing(made["warm"], Payoffs.exponential(B)), measure.rounds(WIDE, 100, 1_000)
    )()
    return made


def checked(policy: LearningPolicy, items: Items, payoffs: Payoffs) -> str:
    """Say whether the ranking is that of scoring every item exactly."""
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
    return [*rows, tied(made["cold"], one_hot(size)), *memory(items), *memory(one_hot(size))]


def one_hot(count: int) -> Items:
    """Items that tie as long as nothing is learned, so that no bound tells them apart."""
    items = np.zeros((count, WIDE), np.float32)
    items[np.arange(count), np.arange(count) % WIDE] = 1.0
    return items


def tied(policy: LearningPolicy, items: Items) -> Measure:
    """Rank items that all tie."""
    payoffs, weights = Payoffs.exponential(B), np.ones(WIDE, np.float32)
    plays: dict[str, measure.Play] = {
        "ours": lambda: policy.rank(items, payoffs),
        "product": lambda: items @ weights,
    }
    times = alternate(plays, 5, threads=True)
    what = f"rank {len(items):,} one-hot items x {WIDE}, cold, all tied, by the clock"
    remark = checked(policy, items, payoffs)
    return ratio(what, times["ours"], times["product"], 6.0, remark=remark)


def _plays(
    made: dict[str, LearningPolicy], items: Items, payoffs: Payoffs
) -> dict[str, measure.Play]:
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

    setting = f"k = {K}, d = {measure.D}, b = {B}"
    rows = [
        _against_ind(
            f"a round of the default, {setting}", settled(measure.D), round_of, 3.0, ROUNDS
        ),
        _against_ind(f"learning from {B} failures", settled(measure.D), failures_of, 4.0, ROUNDS),
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
    ours, other = (times[name].per(calls) for name in NAMES)
    raw = f"default {ours}, Ind {other}; of the medians {ours.median / other.median:.3g}"
    return Measure(f"{what}, against Ind", ours.minimum / other.minimum, aim, raw)


BENCHMARKS: dict[str, Callable[[], list[Measure]]] = {
    "round": measure_round,
    "default": measure_default,
    "many": measure_many,
    "dependent": measure_dependent,
    "long": measure_long,
    "likelihood": measure_likelihood,
    "start": measure_start,
}
