"""Whether the recommended policy gives up where it should and only there, in 1,000 small worlds.

python benchmarks/choosing/trap.py      # minutes
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from rich.progress import track

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from giving_up import small_world
from longrank import recommended
from longrank.experiments.figures import panels, save
from longrank.simulation import run_stream

WORLDS = 1_000


def trap(images: Path) -> None:
    """How often it gives up in the last 1,000 rounds, where it should and where it should not."""
    given_up: dict[str, list[float]] = {"playing is better": [], "giving up is better": []}
    for seed in track(range(WORLDS), "small worlds"):
        stream, payoffs, plays = small_world(seed)
        policy = recommended(dim=stream.items.shape[1])
        run = run_stream(policy, stream, payoffs)
        gave_up = float((run.lengths[-1000:] == 0).mean())
        if plays[-1000:].any():
            given_up["playing is better"].append(gave_up)
        elif not plays.any():
            given_up["giving up is better"].append(gave_up)
    for name, shares in given_up.items():
        print(
            f"{name}: {len(shares)} worlds, gave up always in {sum(s == 1.0 for s in shares)}, "
            f"in at least 95% of the rounds in {sum(s >= 0.95 for s in shares)}; "
            f"least {min(shares):.3f}"
        )
    figure, axes = panels(1, 2, height=2.8)
    for axis, (name, shares) in zip(axes.flat, given_up.items(), strict=True):
        axis.hist(shares, np.linspace(0.0, 1.0, 41), color="#cfe3f1", edgecolor="#0072b2")
        axis.set_title(f"{name}: {len(shares)} worlds", fontsize=10)
        axis.set_xlabel("share of the last 1,000 rounds given up", fontsize=9)
        axis.set_ylabel("worlds", fontsize=9)
        axis.set_yscale("symlog")
    print(*save(figure, images / "choosing-trap"))


if __name__ == "__main__":
    trap(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
