"""How often the 95% intervals cover the truth, in logs of 500 decisions by chance.

    python benchmarks/logs/interval_coverage.py [--runs 1000] [--jobs 1]

In every run there is a new log, and the model of doubly robust is fitted to it anew.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from setting import COSTLY, FREE, Setting
from together import each, options

from longrank.logs import Estimate
from longrank.logs.evaluation.estimators import (
    doubly_robust,
    doubly_robust_normalised,
    importance,
    self_normalised,
)
from longrank.logs.evaluation.intervals import IntervalSettings
from longrank.logs.evaluation.sample import Sample

SETTINGS = [
    Setting("Plackett-Luce", "Plackett-Luce", COSTLY),
    Setting("uniform", "Plackett-Luce", FREE),
    Setting("epsilon-greedy", "Plackett-Luce", FREE),
]


def judged(setting: Setting, seed: int) -> list[Estimate]:
    """The candidate by the estimators that rest on weights."""
    sample = Sample(setting.evidence(seed), IntervalSettings(resamples=500, seed=seed))
    kinds = (importance, self_normalised, doubly_robust, doubly_robust_normalised)
    return [replace(kind(sample), estimator=kind.__name__) for kind in kinds]


def main() -> None:
    chosen = options(__doc__, runs=1000).parse_args()
    for setting in SETTINGS:
        truth = setting.truth()
        runs = each(str(setting), partial(judged, setting), range(chosen.runs), chosen.jobs)
        effective = np.mean([one[0].effective for one in runs])
        print(f"  the truth is {truth:.4f}; {effective:.0f} effective decisions")
        for estimates in zip(*runs, strict=True):
            values, lows, highs = np.array([(e.value, e.low, e.high) for e in estimates]).T
            covered = (lows <= truth) & (truth <= highs)
            print(
                f"  {estimates[0].estimator:38} mean {values.mean():.4f}, covers "
                f"{covered.mean():.1%} (above it {(lows > truth).mean():.1%}, below it "
                f"{(highs < truth).mean():.1%}), mean width {(highs - lows).mean():.3f}"
            )


if __name__ == "__main__":
    main()
