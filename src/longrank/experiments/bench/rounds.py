"""A round through the public interface, and the first of a process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

import numpy as np

from longrank import Outcome, Payoffs, Policy, named, unit_rows
from longrank.experiments.bench.measure import Measure, Times, alternate, ratio
from longrank.experiments.bench.reference import NumpyInd, Vector
from longrank.links import LOGISTIC

K, D, B, ROUNDS = 100, 10, 10, 200
STARTS = 5  # processes with cached kernels

Items = Vector
Wins = np.typing.NDArray[np.bool_]
Play = Callable[[Items, Wins], None]


def rounds(dim: int = D, items: int = K, count: int = ROUNDS) -> list[tuple[Items, Wins]]:
    """Items on the unit sphere, and which of them succeed."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=dim)
    dealt = [unit_rows(rng.normal(size=(items, dim))) for _ in range(count)]
    return [(x, rng.random(items) < LOGISTIC.probability(2.0 * x @ truth)) for x in dealt]


def playing(policy: Policy, payoffs: Payoffs) -> Play:
    """One round of a policy."""

    def play(items: Items, wins: Wins) -> None:
        ranking = policy.rank(items, payoffs)
        hits = np.flatnonzero(wins[ranking.order])
        tried = int(hits[0]) + 1 if hits.size else len(ranking)
        policy.learn(ranking, Outcome(tried, bool(hits.size)))

    return play


def playing_numpy(plain: NumpyInd, payoffs: Payoffs) -> Play:
    """One round of the numpy version."""

    def play(items: Items, wins: Wins) -> None:
        order = plain.rank(items, payoffs)
        hits = np.flatnonzero(wins[order])
        tried = int(hits[0]) + 1 if hits.size else len(order)
        plain.learn(items[order[:tried]], bool(hits.size))

    return play


def through(play: Play, dealt: list[tuple[Items, Wins]]) -> Callable[[], None]:
    """Play all rounds in one call."""

    def all_of_them() -> None:
        for items, wins in dealt:
            play(items, wins)

    return all_of_them


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
