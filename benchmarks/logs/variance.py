"""Doubly robust has at most the variance of importance sampling, in nearly every setting.

python benchmarks/logs/variance.py [--runs 50] [--jobs 1]
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from setting import COSTLY, FREE, Setting
from together import each, options

from longrank import Payoffs

SETTINGS = [
    Setting(log, judged, payoffs, items, rounds=200)
    for (log, payoffs), judged, items in itertools.product(
        (
            ("uniform", FREE),
            ("uniform", Payoffs.vanilla(3)),
            ("Plackett-Luce", COSTLY),
            ("Plackett-Luce", Payoffs.exponential(3)),
        ),
        ("greedy", "Plackett-Luce"),
        (3, 5, 8),
    )
]


def estimates(setting: Setting, seed: int) -> tuple[float, float]:
    """By importance sampling and doubly robust, from one log."""
    found = setting.evidence(seed)
    final = found.weights[np.arange(len(found.last)), found.last]
    doubly = found.starts + (found.weights * found.deltas).sum(axis=1)
    return float((final * found.rewards).mean()), float(doubly.mean())


def main() -> None:
    chosen = options(__doc__, runs=50).parse_args()
    fewer = 0
    for setting in SETTINGS:
        found = each(str(setting), partial(estimates, setting), range(chosen.runs), chosen.jobs)
        weighted, doubly = np.var(found, axis=0, ddof=1)
        fewer += bool(doubly <= weighted)
        print(f"  variance, doubly robust over importance sampling: {doubly / weighted:.2f}")
    print(f"doubly robust has at most the variance in {fewer} of {len(SETTINGS)} settings")


if __name__ == "__main__":
    main()
