"""Learning: long sequences, and the fit of GL-CDCM."""

from __future__ import annotations

import time

import numpy as np

from longrank import OnlineNewton, Payoffs, named, unit_rows
from longrank.experiments.bench.measure import Measure, Times, alternate, ratio
from longrank.experiments.bench.reference import NumpyInd, cold_fit
from longrank.experiments.bench.rounds import B, D, playing, rounds
from longrank.policies.learning import LearningPolicy

N, WIDE, LENGTHS = 10_000, 64, 1_000_000
FIRST, LAST, BLOCKS = 490, 510, 7


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
