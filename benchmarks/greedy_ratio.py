"""Greedy's measured ratio to the exact optimum beside gamma(s): the table of docs/greedy.md."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from longrank import Coverage, Oracle, Payoffs, theory

ITEMS, INSTANCES = 12, 200
SIZES = ((3, 2), (10, 5))  # topics d', length s
SCENARIOS: dict[str, Callable[[int], Payoffs]] = {
    "vanilla": Payoffs.vanilla,
    "exponential": Payoffs.exponential,
    "linear": lambda s: Payoffs.linear(s, attempt_cost=0.1),
}
CONDITIONS = {
    "weights_non_negative": "u ≥ 0",
    "weights_small": "u small",
    "payoffs_mild": "payoffs mild",
}
Vector = NDArray[np.float64]


def tiny(rng: np.random.Generator, d: int) -> Vector:
    """Non-negative, and small enough for the Lemma: the sum is 0.14 sqrt(d')."""
    return np.asarray(0.14 * np.sqrt(d) * rng.dirichlet(np.ones(d)))


def positive(rng: np.random.Generator, d: int) -> Vector:
    """Non-negative, of norm 1."""
    u = rng.random(d)
    return np.asarray(u / np.linalg.norm(u))


def mixed(rng: np.random.Generator, d: int) -> Vector:
    """Of both signs, of norm 4."""
    u = rng.standard_normal(d)
    u[:2] = abs(u[0]), -abs(u[1])
    return np.asarray(4.0 * u / np.linalg.norm(u))


# How u is drawn, and the D that bounds every score.
WEIGHTS = {"tiny, ≥ 0": (tiny, 0.14), "norm 1, ≥ 0": (positive, 1.0), "norm 4, mixed": (mixed, 4.0)}


def row(scenario: str, weights: str, d: int, s: int) -> str:
    """One line of the table, over the instances whose optimum is positive and of length s."""
    draw, radius = WEIGHTS[weights]
    payoffs, features = SCENARIOS[scenario](s), Coverage(np.eye(d))
    rng = np.random.default_rng([d, s])
    ratios, fails, gamma = [], set(), 0.0
    for _ in range(INSTANCES):
        u, items = draw(rng, d), rng.dirichlet(np.full(d, 0.5), ITEMS)
        exact = Oracle(u, features=features, exact=True).rank(items, payoffs)
        if exact.value > 0.0 and len(exact) == s:
            ratios.append(Oracle(u, features=features).rank(items, payoffs).value / exact.value)
            promise = theory.approximation_ratio(s, payoffs, u, radius)
            gamma = promise.ratio
            fails |= {name for name in CONDITIONS if not getattr(promise, name)}
    verdict = (
        "hold"
        if not fails
        else "fail: " + ", ".join(shown for name, shown in CONDITIONS.items() if name in fails)
    )
    measured = f"{np.mean(ratios):.4f} | {min(ratios):.4f} | {len(ratios)}"
    return f"| {scenario} | {weights} | {d} | {s} | {measured} | {gamma:.3f} | {verdict} |"


def main() -> None:
    print(
        "| payoffs | u | d' | s | mean ratio | worst ratio | instances | γ(s) | conditions of γ |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|---|")
    for scenario in SCENARIOS:
        for weights in WEIGHTS:
            for d, s in SIZES:
                print(row(scenario, weights, d, s), flush=True)


if __name__ == "__main__":
    main()
