"""Rounds: of Ind and of GL-CDCM, long cascades, and the first round of a process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from longrank import OnlineNewton, Payoffs, named, unit_rows
from longrank.experiments.bench.measure import (
    ROUNDS,
    B,
    D,
    K,
    Measure,
    NumpyInd,
    Times,
    alternate,
    cold_fit,
    playing,
    playing_numpy,
    ratio,
    rounds,
    through,
)
from longrank.policies.learning import LearningPolicy

STARTS = 5  # processes with cached kernels
N, WIDE, LENGTHS = 10_000, 64, 1_000_000
FIRST, LAST, BLOCKS = 490, 510, 7


def measure_round() -> list[Measure]:
    """Rank and learn through the public interface, with every check."""
    dealt, payoffs = rounds(), Payoffs.exponential(B)
    ours = named("ind", dim=D, max_budget=B, exploration=0.1, rate=5.0, radius=3.0)
    times = alternate(
        {
            "longrank": through(playing(ours, payoffs), dealt),
            "numpy": through(playing_numpy(NumpyInd(D, B), payoffs), dealt),
        },
        blocks=15,
    )
    taken = {name: time.per(ROUNDS) for name, time in times.items()}
    what = f"a round of Ind, k = {K}, d = {D}, b = {B}, against Ind in numpy"
    return [ratio(what, taken["longrank"], taken["numpy"], None, "numpy")]


def measure_long() -> list[Measure]:
    """Learn from 10,000 observed items, and find the best of a million lengths."""
    rng = np.random.default_rng(0)
    rows = unit_rows(rng.normal(size=(2 * N, WIDE)))
    ours = OnlineNewton(WIDE, max_budget=2 * N, radius=3.0, rate=5.0)
    theirs = NumpyInd(WIDE, 2 * N)
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
    dealt, payoffs = rounds(count=LAST), Payoffs.exponential(B)
    taken: dict[str, list[float]] = {"ind": [], "gl-cdcm": []}
    for _ in range(BLOCKS):
        for name, blocks in taken.items():
            more = {"max_budget": B} if name == "ind" else {}
            policy = named(name, dim=D, **more)
            play = playing(policy, payoffs)
            for one in dealt[:FIRST]:
                play(*one)
            for one in dealt[FIRST:]:
                start = time.process_time()
                play(*one)
                blocks.append(time.process_time() - start)
    ours, ind = (Times(tuple(taken[name])) for name in ("gl-cdcm", "ind"))
    assert isinstance(policy, LearningPolicy)
    learner = policy.learner
    state = learner.state()
    cold = cold_fit(state["rows"], state["successes"].astype(np.float64), learner.prior)
    off = float(np.abs(cold - learner.weights).max() / max(1.0, np.abs(cold).max()))
    told = f"{learner.updates:,} observed items, d = {D}"
    return [
        ratio("a round of GL-CDCM at t = 500, against Ind", ours, ind, 30.0, "Ind"),
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
