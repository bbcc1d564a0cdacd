"""The recommended policy where every try has its price: `python benchmarks/choosing/worlds.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from bars import bars
from rich.progress import track

from longrank import Payoffs, recommended
from longrank.simulation import LogisticWorld, PaymentWorld, World, simulate

ROUNDS, SEEDS, COSTS = 3_000, 5, (0.02, 0.08, 0.2)


def logistic(seed: int) -> World:
    u = np.random.default_rng(seed).normal(size=6)
    return LogisticWorld(3.0 * u / np.linalg.norm(u), items=20, seed=seed)


WORLDS = {
    "payments, 8 routes": lambda seed: PaymentWorld(8, seed=seed),
    "payments, 100 routes": lambda seed: PaymentWorld(100, seed=seed),
    "logistic, 20 items": logistic,
}


def worlds(images: Path) -> None:
    """The share of what somebody who knows the truth expects."""
    shares: dict[str, list[float]] = {name: [] for name in WORLDS}
    for name, make in WORLDS.items():
        for cost in COSTS:
            payoffs = Payoffs.linear(min(10, int(1.0 / cost + 1e-9)), attempt_cost=cost)
            runs = []
            for seed in track(range(SEEDS), f"{name}, {cost} a try", transient=True):
                world = make(seed)
                dim = world.deal(0).items.shape[1]
                run = simulate(recommended(dim=dim), world, payoffs, ROUNDS)
                runs.append(run.expected.sum() / run.optimum.sum())
            shares[name].append(100.0 * float(np.mean(runs)))
            print(f"{name}, {cost} a try: {np.mean(runs):.1%} ({min(runs):.1%} to {max(runs):.1%})")
    groups = [f"{cost} a try" for cost in COSTS]
    bars(groups, shares, "% of the oracle", images / "choosing-worlds", lowest=85.0, highest=100.0)


if __name__ == "__main__":
    worlds(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
