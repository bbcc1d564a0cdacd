"""Targets that only who changes longrank needs: inner loops against plain ones, and the start.

``python benchmarks/targets.py [NAME...]`` prints a table like that of ``longrank bench``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from longrank import OnlineNewton, Payoffs, kernels, named, unit_rows
from longrank.cli.bench import show
from longrank.experiments import bench, measure
from longrank.experiments.bench import WIDE, Items, checked, many, policies
from longrank.experiments.measure import (
    B,
    D,
    Matrix,
    Measure,
    Order,
    Times,
    Vector,
    alternate,
    ratio,
)
from longrank.planning.contenders import PART, THREADS
from longrank.policies.learning import LearningPolicy

STARTS = 5  # processes with cached kernels
N, LENGTHS = 10_000, 1_000_000  # observed items, and lengths to choose from
FIRST, LAST, BLOCKS = 490, 510, 7  # rounds of GL-CDCM that are timed, and how often
ITEMS, LENGTH, TOPICS = 1_000, 100, 30  # of dependent rankings
LARGE = 1_000_000  # candidates that are ranked in little memory
Case = tuple[Matrix, Vector, Matrix, float]  # topics, weights, M^-1, bonus


def cold_fit(rows: Matrix, successes: Vector, penalty: float) -> Vector:
    """Penalised logistic regression by Newton steps from zero."""
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        p = measure.sigmoid(rows @ weights)
        hessian = (rows * (p * (1.0 - p))[:, np.newaxis]).T @ rows
        hessian += penalty * np.eye(len(weights))
        weights += np.linalg.solve(hessian, rows.T @ (successes - p) - penalty * weights)
    return weights


def greedy(topics: Matrix, weights: Vector, inverse: Matrix, bonus: float, count: int) -> Order:
    """Algorithm 2's order, with every item scored anew at every position."""
    remaining, free = np.ones(topics.shape[1]), np.ones(len(topics), np.bool_)
    order = np.empty(count, np.int64)
    for position in range(count):
        rows = (2.0 * topics * remaining - 1.0) / np.sqrt(topics.shape[1])
        squares = ((rows @ inverse) * rows).sum(axis=1)
        scores = rows @ weights + bonus * np.sqrt(np.maximum(squares, 0.0))
        best = int(np.argmax(np.where(free, scores, -np.inf)))
        order[position] = best
        free[best] = False
        remaining *= 1.0 - topics[best]
    return order


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
    cold = cold_fit(state["rows"], state["successes"].astype(np.float64), learner.prior)
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

    def ours() -> Order:
        return kernels.greedy_coverage(*case, np.inf, count)[0]

    def theirs() -> Order:
        return greedy(*case, count)

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


def measure_memory(size: int = LARGE) -> list[Measure]:
    """What ranking very many candidates allocates, and how long it takes where all of them tie."""
    made = policies()
    rows = [tied(made["cold"], one_hot(size))]
    for kind, items in (("", many(size)), ("one-hot ", one_hot(size))):
        for name, policy in made.items():
            rows.append(allocated(f"{kind}items, {name}", policy, items))
    default = bench.settled(WIDE)["default"]
    return [*rows, allocated("items, by the default", default, many(size))]


BENCHMARKS: dict[str, Callable[[], list[Measure]]] = {
    "dependent": measure_dependent,
    "memory": measure_memory,
    "long": measure_long,
    "likelihood": measure_likelihood,
    "start": measure_start,
}


if __name__ == "__main__":
    show(BENCHMARKS, sys.argv[1:] or list(BENCHMARKS))
