"""What plans lose where no order is exact, against the exact programme over sets.

    python benchmarks/planning/quality.py

The rows of the table in docs/planning.md: 3,000 random rounds each, 4 to 10 candidates.
"""

from __future__ import annotations

import numpy as np

from longrank.kernels.order_dp import Schedule, choose_freely, index_of, sort_by, value_of
from longrank.kernels.slopes import search, slopes_of


def rewards_of(shape: str, b: int, rng: np.random.Generator) -> np.ndarray:
    if shape == "random":
        return np.sort(rng.random(b))[::-1].copy()
    if shape == "exponential":
        return 0.5 ** np.arange(b)
    return np.where(np.arange(b) < rng.integers(1, b), 1.0, 0.0)


def play(shape: str, q: float, rng: np.random.Generator) -> tuple[float, float]:
    """What the search loses in one random round, and the bound that it gives."""
    k = int(rng.integers(4, 11))
    b = int(rng.integers(2, min(k, 8) + 1))
    p, c, v = rng.random(k) * rng.choice([0.3, 1.0]), 0.2 * rng.random(k), 0.3 * rng.random(k)
    losses, gains = -np.sort(rng.random(b + 1)), p * v - c
    schedule = Schedule(rewards_of(shape, b, rng), losses, (1.0 - q) * losses[1:], q)
    best = value_of(choose_freely(p, gains, schedule), p, gains, schedule)
    order, slopes = np.arange(k), slopes_of(schedule)
    sort_by(index_of(p, c, v, slopes[-1], q), p, order)
    chosen, above = search(order, p, c, v, gains, schedule, slopes)
    found = value_of(chosen, p, gains, schedule)
    return best - found, above - found


if __name__ == "__main__":
    rng = np.random.default_rng(11)
    print("| rewards | patience | optimal | mean loss | largest | median bound | 99 % of bounds |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for shape in ("random", "exponential", "one step"):
        for q in (1.0, 0.7):
            loss, bound = np.array([play(shape, q, rng) for _ in range(3_000)]).T
            print(
                f"| {shape} | {q} | {100 * (loss < 1e-12).mean():.1f} % | {loss.mean():.1e} "
                f"| {loss.max():.4f} | {np.median(bound):.4f} | {np.quantile(bound, 0.99):.3f} |"
            )
