"""How long planning takes with costs and values: one round, and a million candidates.

    python benchmarks/planning/speed.py

Processor times, the least of several blocks in turns; of ten random rounds the mean and the
largest. Of a million candidates the figure is the time over that of ``np.argpartition`` of a
million numbers in the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from longrank import Payoffs, kernels

PAYOFFS = {
    "vanilla": Payoffs.vanilla(10),
    "linear": Payoffs.linear(10, attempt_cost=0.02, give_up=-0.2),
    "exponential": Payoffs.exponential(10),
}


def measure(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The least processor time of each job in seconds, played in turns."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(9):
        for name, job in jobs.items():
            start = time.process_time()
            for _ in range(repeats):
                job()
            best[name] = min(best[name], (time.process_time() - start) / repeats)
    return best


def plans(k: int, rng: np.random.Generator) -> dict[str, Callable[[], object]]:
    """One plan for each kind of payoffs, over random candidates."""
    p, costs, values = rng.random(k) ** 2, 0.2 * rng.random(k), 0.2 * rng.random(k)
    jobs: dict[str, Callable[[], object]] = {}
    for name, payoffs in PAYOFFS.items():
        priced = payoffs.priced(costs, values)
        arrays = (priced.costs, priced.success_values, priced.rewards, priced.losses)
        jobs[name] = lambda arrays=arrays: kernels.plan(p, *arrays, 1.0, 10)
        jobs[name]()
    free = Payoffs.vanilla(10).priced(np.zeros(k))
    zeros = (free.costs, free.success_values, free.rewards, free.losses)
    jobs["no prices"] = lambda: kernels.plan(p, *zeros, 1.0, 10)
    return jobs


def main() -> None:
    rng = np.random.default_rng(0)
    print("| payoffs, b = 10 | k = 10, us | k = 100, us | k = 1,000, us |\n|---|--:|--:|--:|")
    cells: dict[str, list[str]] = {}
    for k in (10, 100, 1_000):
        rounds = [measure(plans(k, rng), 4_000 // k) for _ in range(10)]
        for name in rounds[0]:
            times = [1e6 * each[name] for each in rounds]
            cells.setdefault(name, []).append(f"{np.mean(times):.1f}, up to {max(times):.1f}")
    for name, row in cells.items():
        print(f"| {name} | {' | '.join(row)} |")
    numbers = rng.random(1_000_000)
    jobs = plans(1_000_000, rng) | {"argpartition": lambda: np.argpartition(numbers, -10)}
    many = measure(jobs, 3)
    print("\n| payoffs, k = 1,000,000, b = 10 | ms | times argpartition (aim: 5) |\n|---|--:|--:|")
    for name, seconds in many.items():
        print(f"| {name} | {1e3 * seconds:.1f} | {seconds / many['argpartition']:.2f} |")


if __name__ == "__main__":
    main()
