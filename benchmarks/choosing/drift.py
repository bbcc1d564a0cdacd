"""A truth that changes at half time, with and without forgetting.

python benchmarks/choosing/drift.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from rich.progress import track

from longrank import Payoffs, recommended, unit_rows
from longrank.experiments.figures import panels, save
from longrank.simulation import PaymentWorld, Stream, run_stream

ROUNDS, SEEDS = 6_000, 6
PAYOFFS = Payoffs.linear(5, attempt_cost=0.08)
LOOKS = {
    "none": {"color": "#d55e00", "linestyle": (0, (5, 2))},
    "0.0003": {"color": "#0072b2", "linestyle": "-"},
}


def drifting(seed: int, changes: bool, payments: bool) -> Stream:
    """Items as always, but another truth from half time on."""
    rng = np.random.default_rng(seed)
    if payments:
        size, world, other = 8, PaymentWorld(8, seed=seed), PaymentWorld(8, seed=seed + 1000)
        items = np.concatenate([world.deal(t).items for t in range(ROUNDS)])
        first, second, constant = world.weights, other.weights, 0.0
    else:
        size, items = 20, unit_rows(rng.normal(size=(ROUNDS * 20, 6)))
        first, second = (4.0 * unit_rows(rng.normal(size=(2, 6)))).tolist()
        constant = -2.0
    early = (np.arange(len(items)) < len(items) // 2)[:, np.newaxis]
    scores = (items * np.where(early | (not changes), first, second)).sum(axis=1) + constant
    wins = rng.random(len(items)) < 1.0 / (1.0 + np.exp(-scores))
    return Stream(items, np.arange(0, len(items) + 1, size), wins)


def earned(stream: Stream, forgetting: float) -> np.ndarray:
    policy = recommended(dim=stream.items.shape[1], forgetting=forgetting)
    return run_stream(policy, stream, PAYOFFS).rewards


def second_half(stream: Stream) -> Stream:
    start = stream.starts[ROUNDS // 2]
    starts = stream.starts[ROUNDS // 2 :] - start
    return Stream(stream.items[start:], starts, stream.wins[start:])


def measured(kind: str) -> dict[str, np.ndarray]:
    """Print the figures of one kind of world; returns the mean rewards of every round."""
    curves: dict[str, list[np.ndarray]] = {name: [] for name in LOOKS}
    ratios: dict[str, list[float]] = {name: [] for name in LOOKS}
    price, quarter = [], ROUNDS // 4
    for seed in track(range(SEEDS), kind, transient=True):
        stream = drifting(seed, True, kind == "payments")
        fresh = earned(second_half(stream), 0.0)[-quarter:].mean()
        for name, share in (("none", 0.0), ("0.0003", 0.0003)):
            curves[name].append(earned(stream, share))
            ratios[name].append(float(curves[name][-1][-quarter:].mean() / fresh))
        calm = drifting(seed, False, kind == "payments")
        price.append(1.0 - earned(calm, 0.0003).mean() / earned(calm, 0.0).mean())
    for name, found in ratios.items():
        print(
            f"{kind}, forgetting {name}: the last quarter earns {np.mean(found):.1%} of what a "
            f"policy started fresh at the change earns (least {min(found):.1%})"
        )
    print(f"{kind}: where nothing changes forgetting costs {np.mean(price):.2%}")
    return {name: np.mean(runs, axis=0) for name, runs in curves.items()}


def drift(images: Path) -> None:
    figure, axes = panels(1, 2, height=2.8)
    window = ROUNDS // 20
    for axis, kind in zip(axes.flat, ("payments", "logistic"), strict=True):
        for name, rewards in measured(kind).items():
            smooth = np.convolve(rewards, np.full(window, 1.0 / window), "valid")
            axis.plot(np.arange(window, ROUNDS + 1), smooth, label=name, **LOOKS[name])
        axis.axvline(ROUNDS // 2, color="black", linewidth=0.8)
        axis.set_title(f"{kind}: the truth changes at the line", fontsize=10)
        axis.set_xlabel("round t", fontsize=9)
        axis.set_ylabel(f"reward, mean of {window} rounds", fontsize=9)
        axis.legend(title="forgetting", fontsize=8, title_fontsize=8)
    print(*save(figure, images / "choosing-drift"))


if __name__ == "__main__":
    drift(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
