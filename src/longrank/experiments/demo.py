"""The demo: two worlds, three scenarios, the paper's six policies and the recommended one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longrank.cascade import Ranking
from longrank.datasets import table
from longrank.experiments.figures import average_rewards
from longrank.features import Mixture
from longrank.payoffs import Payoffs
from longrank.policies import Policy, named, recommended
from longrank.simulation import (
    PaymentWorld,
    Run,
    TableWorld,
    World,
    average_reward,
    simulate,
)

BUDGET = 5
TOPICS = 12
PIVOT = 3
SCENARIOS: dict[str, Payoffs] = {
    "vanilla": Payoffs.vanilla(BUDGET),
    "exponential": Payoffs.exponential(BUDGET),
    "linear": Payoffs.linear(BUDGET, attempt_cost=0.1, give_up=-0.1),
}


@dataclass(frozen=True)
class Setting:
    """A world, and items to fit topics to that are not going to be ranked."""

    title: str
    world: World
    rounds: int
    dim: int
    unlabelled: NDArray[np.float64]


@dataclass(frozen=True)
class DemoRun:
    """A finished run of one policy in one world and scenario."""

    world: str
    scenario: str
    policy: str
    run: Run


def payments(rounds: int, seed: int) -> Setting:
    """Simulate eight payment routes."""
    world = PaymentWorld(8, seed=seed)
    past = np.concatenate([world.deal(rounds + t).items for t in range(100)])
    return Setting("payments (simulated)", world, rounds, world.dim, past)


def digits(rounds: int, seed: int) -> Setting:
    """Use scikit-learn's handwritten digits: of 20 images, show a 3 as early as possible.

    Some images serve to find 10 principal components and topics; the others are dealt in chunks
    of 20, and shuffled again when all have been seen.
    """
    data = table(f"digits-{PIVOT}", seed)
    passes = -(-rounds // -(-len(data) // 20))
    world = TableWorld(data.items, data.chances, size=20, seed=seed, passes=passes)
    return Setting("digits (real)", world, rounds, data.items.shape[1], data.embedding_items)


def policies(setting: Setting, seed: int) -> dict[str, Policy]:
    """Make the paper's six, with the same settings everywhere, and the recommended one."""
    topics = Mixture.fit(setting.unlabelled, TOPICS, seed, unit=True)
    newton = {"max_budget": BUDGET, "rate": 5.0, "radius": 10.0}
    dim = setting.dim
    return {
        "Rand": named("rand", rng=seed),
        "Eps": named("eps", dim=dim, epsilon=0.1, rng=seed, **newton),
        "C-UCB1": named("c-ucb1", dim=dim, exploration=0.1),
        "GL-CDCM": named("gl-cdcm", dim=dim, penalty=1.0, exploration=0.1),
        "Ind": named("ind", dim=dim, exploration=0.1, **newton),
        "Dep": named("dep", dim=TOPICS, topics=topics, exploration=0.1, **newton),
        "recommended": recommended(dim=dim),
    }


def cells(settings: list[Setting], seed: int) -> Iterator[tuple[DemoRun, Policy]]:
    """Run every policy in every world and scenario."""
    for setting in settings:
        for scenario, payoffs in SCENARIOS.items():
            for name, policy in policies(setting, seed).items():
                run = simulate(policy, setting.world, payoffs, setting.rounds)
                yield DemoRun(setting.title, scenario, name, run), policy


def telling(policy: Policy, world: World, after: int) -> Ranking:
    """Return the next ranking shorter than the budget; otherwise simply the next one."""
    coming = (policy.rank(world.deal(after + t).items, SCENARIOS["linear"]) for t in range(1_000))
    first = next(coming)
    return next((ranking for ranking in (first, *coming) if 0 < len(ranking) < BUDGET), first)


@dataclass(frozen=True)
class Demo:
    """The results of the demo: every run, one ranking to explain, and the figures."""

    cells: list[DemoRun]
    ranking: Ranking
    pictures: list[Path]


def demo(
    out: Path, rounds: int, seed: int, advance: Callable[[str], None] = lambda _: None
) -> Demo:
    """Run everything; ``advance`` is called with the name of each of the 42 finished runs."""
    settings = [payments(rounds, seed), digits(rounds, seed)]
    found: list[DemoRun] = []
    ranking = None
    for cell, policy in cells(settings, seed):
        found.append(cell)
        advance(f"{cell.world}, {cell.scenario}, {cell.policy}")
        if (cell.world, cell.scenario, cell.policy) == (settings[0].title, "linear", "recommended"):
            ranking = telling(policy, settings[0].world, rounds)
    assert ranking is not None
    panels: dict[str, dict[str, NDArray[np.float64]]] = {}
    for cell in found:
        title = f"{cell.world}, {cell.scenario}"
        panels.setdefault(title, {})[cell.policy] = average_reward(cell.run)
    out.mkdir(parents=True, exist_ok=True)
    return Demo(found, ranking, average_rewards(panels, out / "average-reward"))
