"""The recommended settings and their neighbours: `python benchmarks/choosing/settings.py`.

On the kinds of tasks that they were chosen on: digits, random clusters and overlapping classes in
the experiments' scenarios, and payment worlds with other seeds than those that are reported.
MNIST has no part in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from longrank import UCB, Laplace, Payoffs, Polynomial, unit_rows
from longrank.datasets import table
from longrank.experiments.settings import payoffs
from longrank.simulation import PaymentWorld, Stream, TableWorld, run_stream

Table = tuple[NDArray[np.float64], NDArray[np.float64], int]  # items, chances, passes
ITEMS, ROUNDS, TASKS = 100, 502, 80
COLUMNS = [("exponential", b) for b in (1, 5, 10, 50)] + [("vanilla", b) for b in (5, 10)]
ROUTES, EARLY, LATE, COST = 8, 600, 3_000, 0.2
RECOMMENDED = "as recommended"
SETTINGS = {  # penalty, bonus in standard deviations, failures foreseen
    RECOMMENDED: (0.5, 0.2**0.5, 10),
    "no foresight": (0.5, 0.2**0.5, 0),
    "3 failures": (0.5, 0.2**0.5, 3),
    "20 failures": (0.5, 0.2**0.5, 20),
    "bonus 0.2": (0.5, 0.2, 10),
    "bonus 0.6": (0.5, 0.6, 10),
    "bonus 1": (0.5, 1.0, 10),
    "penalty 0.1": (0.1, 0.2**0.5, 10),
    "penalty 0.25": (0.25, 0.2**0.5, 10),
    "penalty 1": (1.0, 0.2**0.5, 10),
    "penalty 4": (4.0, 0.2**0.5, 10),
}


def digits() -> Iterator[Table]:
    for task in range(TASKS):
        data = table(f"digits-{task % 10}", task)
        yield data.items, data.chances, 20


def clusters() -> Iterator[Table]:
    """Twelve Gaussian clusters in 10 dimensions, the first one is the target."""
    for task in range(TASKS):
        rng = np.random.default_rng([task, 0])
        centres = rng.normal(size=(12, 10)) * rng.uniform(1.2, 2.5) * np.linspace(1.3, 0.7, 10)
        spread = rng.normal(size=(12, 10, 10)) * rng.uniform(0.1, 0.4, size=(12, 1, 1))
        labels = rng.choice(12, ITEMS * ROUNDS, p=rng.dirichlet(np.full(12, 20.0)))
        yield _drawn(rng, centres, spread + 0.6 * np.eye(10), labels), 1.0 * (labels == 0), 1


def classes() -> Iterator[Table]:
    """Ten classes of three overlapping Gaussian clusters each, the first class is the target."""
    for task in range(TASKS):
        rng = np.random.default_rng([task, 1])
        middles = rng.normal(size=(10, 1, 10)) * rng.uniform(0.5, 1.3) * np.linspace(1.5, 0.6, 10)
        centres = (middles + rng.normal(size=(10, 3, 10)) * 0.45).reshape(30, 10)
        wide = rng.uniform(0.4, 0.8, size=(30, 1, 10)) * np.eye(10)
        parts = rng.integers(0, 30, ITEMS * ROUNDS)
        spread = rng.normal(size=(30, 10, 10)) * 0.15 + wide
        yield _drawn(rng, centres, spread, parts), 1.0 * (parts < 3), 1


def _drawn(
    rng: np.random.Generator,
    centres: NDArray[np.float64],
    spread: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> NDArray[np.float64]:
    noise = rng.normal(size=(len(labels), centres.shape[1]))
    return unit_rows(centres[labels] + np.einsum("nij,nj->ni", spread[labels], noise))


def made(dim: int, penalty: float, bonus: float, foresight: int) -> UCB:
    features = Polynomial(2)
    learner = Laplace(features.length(dim), penalty=penalty)
    return UCB(learner, features=features, exploration=bonus**2, probing=True, foresight=foresight)


def images(name: str, tables: Iterator[Table]) -> dict[str, NDArray[np.float64]]:
    """For every setting the NCR of each task and column."""
    found: dict[str, list[list[float]]] = {name: [] for name in SETTINGS}
    for task, (items, chances, passes) in enumerate(track(tables, name, TASKS, transient=True)):
        world = TableWorld(items, chances, size=ITEMS, seed=task, passes=passes)
        stream = Stream.of(world)
        worth = [payoffs(scenario, budget) for scenario, budget in COLUMNS]
        ends = [(stream.random_reward(p), stream.hindsight(p).sum()) for p in worth]
        for setting, numbers in SETTINGS.items():
            earned = [run_stream(made(10, *numbers), stream, p).rewards.sum() for p in worth]
            scores = [(x - low) / (high - low) for x, (low, high) in zip(earned, ends, strict=True)]
            found[setting].append(scores)
    return {setting: np.array(scores) for setting, scores in found.items()}


def payments() -> dict[str, NDArray[np.float64]]:
    """For every setting what it earned of the oracle's reward, early and in all, by world."""
    worth = Payoffs.linear(int(1.0 / COST + 1e-9), attempt_cost=COST)
    found: dict[str, list[list[float]]] = {name: [] for name in SETTINGS}
    for seed in track(range(100, 100 + TASKS), "payments", transient=True):
        world = PaymentWorld(ROUTES, seed=seed)
        rounds = [world.deal(t) for t in range(LATE)]
        items = np.concatenate([one.items for one in rounds])
        chances = np.concatenate([one.chances for one in rounds])
        wins = np.random.default_rng([seed, 2]).random(len(chances)) < chances
        stream = Stream(items, np.arange(0, len(items) + 1, ROUTES), wins)
        best = np.sort(chances.reshape(LATE, ROUTES), axis=1)[:, ::-1][:, : worth.budget]
        oracle = np.array([worth.values(row).max() for row in best])
        for setting, numbers in SETTINGS.items():
            policy = made(world.dim, *numbers)
            earned = run_stream(policy, stream, worth).rewards
            ends = (EARLY, LATE)
            found[setting].append([earned[:end].sum() / oracle[:end].sum() for end in ends])
    return {setting: np.array(shares) for setting, shares in found.items()}


def main() -> None:
    families = {
        "digits": images("digits", digits()),
        "clusters": images("clusters", clusters()),
        "classes": images("classes", classes()),
    }
    routes = payments()
    print("NCR less that of what is recommended, at one try and at more; runs below 0.8;")
    print(f"% of the oracle's reward in {EARLY} and {LATE} rounds of payments")
    heads = [f"{name}, {tries}" for name in families for tries in ("one try", "more")]
    print(f"| setting | {' | '.join(heads)} | below 0.8 | payments |")
    print(f"|---|{'--:|' * (len(heads) + 2)}")
    for setting in SETTINGS:
        cells = []
        for found in families.values():
            ahead = found[setting] - found[RECOMMENDED]
            for part in (ahead[:, 0], ahead[:, 1:].mean(axis=1)):
                error = part.std(ddof=1) / np.sqrt(len(part))
                cells.append(f"{part.mean():+.4f} ± {error:.4f}")
        failed = sum(int((found[setting] < 0.8).sum()) for found in families.values())
        early, late = 100.0 * routes[setting].mean(axis=0)
        print(f"| {setting} | {' | '.join(cells)} | {failed} | {early:.1f}, {late:.1f} |")


if __name__ == "__main__":
    main()
