"""What the recommended policy earns in worlds that deal records, and whether that is enough.

    python benchmarks/records/quality.py [WORLD ...] [--seeds N] [--jobs 2] [--policy NAME]

By default every world is played with the number of seeds that its bar asks for. Per cent of the
optimum in the second half of the rounds; in ``checkout`` of what the same plan earns that knows
the true probabilities, and in ``fees`` of the exact optimum, over all rounds. Time is the
processor's, for rank and learn.
"""

from __future__ import annotations

import argparse

import numpy as np
from joblib import Parallel, delayed
from play import Score, compete, policy
from worlds import SETTINGS, Setting


def run(name: str, world: str, seed: int) -> Score:
    return compete({name: policy(name)}, SETTINGS[world], seed)[name]


def verdict(setting: Setting, scores: list[Score]) -> str:
    """Say whether the bar of a world is met."""
    bars = []
    for what, bar, reached in (
        ("best first", setting.first, [one.right for one in scores]),
        ("earned", setting.earned, [one.share for one in scores]),
    ):
        if bar is not None:
            found = np.mean(reached) if setting.mean else min(reached)
            which = "mean" if setting.mean else "worst seed"
            met = "met" if found >= bar else "missed"
            bars.append(f"{what}, {which} ≥ {100 * bar:.0f}: {met} ({100 * found:.2f})")
    short = f", {len(scores)} of {setting.seeds} seeds" if len(scores) < setting.seeds else ""
    return "; ".join(bars) + short if bars else "no bar"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("worlds", nargs="*", default=list(SETTINGS), metavar="WORLD")
    parser.add_argument("--seeds", type=int, help="by default as many as the bar asks for")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--policy", default="recommended", help="recommended, or a name")
    asked = parser.parse_args()
    print("| world | rounds | seeds | mean, % | worst, % | best first, % | worst, % | us | bar |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|---|")
    for world in asked.worlds:
        setting = SETTINGS[world]
        seeds = asked.seeds or setting.seeds
        jobs = (delayed(run)(asked.policy, world, seed) for seed in range(seeds))
        scores: list[Score] = Parallel(asked.jobs)(jobs)
        shares = 100 * np.array([one.share for one in scores])
        right = 100 * np.array([one.right for one in scores])
        taken = np.median([one.microseconds for one in scores])
        print(
            f"| {world} | {setting.rounds} | {seeds} | {shares.mean():.2f} | {shares.min():.2f} "
            f"| {right.mean():.1f} | {right.min():.1f} | {taken:.1f} "
            f"| {verdict(setting, scores)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
