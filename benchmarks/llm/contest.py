"""Which language models to ask, in which order, and when to stop: learned online, from nothing.

    longrank data add llm FOLDER
    python benchmarks/llm/contest.py [--seeds 0 1 2 3 4] [--jobs 2]

Net reward of the second half of all questions (an answer is worth 1, the dearest model costs 0.1
or 0.3 a question), mean over shuffles; then as a share of the plan that knows the success rates of
the question's cluster; then how far the policy with words is ahead of each of the others, with the
standard error of the paired differences over shuffles.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from players import BASELINES, CLAIRVOYANT, KNOWING, LEARNING, PLAYERS, Game
from rich.console import Console
from rich.progress import track

from longrank.datasets import read_questions

SETTINGS = list(product((0.1, 0.3), (2, 4, 9)))
Found = dict[str, list[list[float]]]  # by player, setting and shuffle: of the second half


def play(name: str, seed: int, setting: int) -> tuple[str, int, float]:
    """Return what a player earned a question in the second half."""
    dearest, budget = SETTINGS[setting]
    game = Game(read_questions(), seed, dearest, budget)
    won, paid = game.spent(PLAYERS[name](game))
    return name, setting, float((won - paid)[game.half :].mean())


def run(names: list[str], seeds: list[int], jobs: int) -> Found:
    work = [(name, seed, i) for name in names for i in range(len(SETTINGS)) for seed in seeds]
    done = Parallel(jobs, return_as="generator", batch_size=1)(delayed(play)(*one) for one in work)
    found: Found = defaultdict(lambda: [[] for _ in SETTINGS])
    for name, setting, earned in track(
        done, "playing", len(work), console=Console(stderr=True), transient=True
    ):
        found[name][setting].append(earned)
    return dict(found)


def table(title: str, rows: dict[str, list[str]]) -> None:
    heads = [f"{dearest:g}, b = {budget}" for dearest, budget in SETTINGS]
    if any(len(cells) > len(heads) for cells in rows.values()):
        heads.append("mean")
    print(f"\n| {title} | {' | '.join(heads)} |\n|---|{'--:|' * len(heads)}")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


def report(found: Found) -> None:
    mean = {name: np.mean(earned, axis=1) for name, earned in found.items()}
    table("net reward a question", {n: [f"{x:.4f}" for x in m] for n, m in mean.items()})
    shares = {name: 100.0 * m / mean[KNOWING] for name, m in mean.items() if name != KNOWING}
    table(
        f"% of the {KNOWING}",
        {n: [f"{x:.2f}" for x in [*share, share.mean()]] for n, share in shares.items()},
    )
    sight = {name: 100.0 * m / mean[CLAIRVOYANT] for name, m in mean.items() if name in LEARNING}
    table("% of a clairvoyant", {n: [f"{x:.1f}" for x in share] for n, share in sight.items()})
    for name in LEARNING:
        ahead = {}
        for other in [*BASELINES, KNOWING]:
            gaps = np.subtract(found[name], found[other])
            errors = gaps.std(axis=1, ddof=1) / np.sqrt(gaps.shape[1])
            pairs = zip(gaps.mean(axis=1), errors, strict=True)
            ahead[other] = [f"{gap:+.4f} ± {error:.4f}" for gap, error in pairs]
        table(f"{name}, ahead of", ahead)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    report(run(list(PLAYERS), asked.seeds, asked.jobs))


if __name__ == "__main__":
    main()
