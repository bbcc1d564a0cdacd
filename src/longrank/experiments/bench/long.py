"""5. Long sequences: learning from 10,000 observed items, and the best of a million lengths."""

from __future__ import annotations

import numpy as np

from longrank import OnlineNewton, Payoffs, unit_rows
from longrank.experiments.bench.measure import Row, alternate, ratio
from longrank.experiments.bench.plain import NumpyInd

N, D, LENGTHS = 10_000, 64, 1_000_000


def figures() -> list[Row]:
    rng = np.random.default_rng(0)
    rows = unit_rows(rng.normal(size=(2 * N, D)))
    ours = OnlineNewton(D, max_budget=2 * N, radius=3.0, rate=5.0)
    theirs = NumpyInd(D, 2 * N)
    times = alternate(
        {
            "n": lambda: ours.observe(rows[:N], True),
            "2n": lambda: ours.observe(rows, True),
            "numpy": lambda: theirs.learn(rows[:N], True),
        },
        blocks=7,
    )
    what = f"learning from {N:,} observed items, d = {D}"
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
