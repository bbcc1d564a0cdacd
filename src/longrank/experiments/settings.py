"""An experiment is data: task, scenario, budget, policy, settings, seed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from longrank.errors import InvalidInput
from longrank.payoffs import Payoffs

Settings = dict[str, Any]

_RATES = [1, 1.5, 2, 3, 4, 6, 8, 10, 15, 20, 30, 50, 100]
_ALPHAS = [1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10]
_RADII = [1, 3, 10]

# The ranges of the paper: learning rate 1-100, alpha 1e-9-10, epsilon 0.01-0.5, lambda 1e-7-1e3,
# d' 3-30. Its steps, and its D, are not reported.
GRIDS: dict[str, dict[str, dict[str, Sequence[float]]]] = {
    "paper": {
        "rand": {},
        "recommended": {},
        "eps": {"epsilon": [0.01, 0.02, 0.05, 0.1, 0.2, 0.5], "rate": _RATES, "radius": _RADII},
        "c-ucb1": {"exploration": [*_ALPHAS, 0.5, 2, 5]},
        "gl-cdcm": {
            "penalty": [1e-7, 1e-5, 1e-3, 1e-2, 0.1, 0.3, 1, 3, 10, 100, 1000],
            "exploration": [1e-9, 1e-5, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10],
        },
        "ind": {"rate": _RATES, "exploration": _ALPHAS, "radius": _RADII},
        "dep": {
            "topics": [3, 5, 10, 15, 20, 25, 30],
            "rate": [1, 2, 3, 5, 10, 20, 50, 100],
            "exploration": [1e-9, 1e-5, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 10],
            "radius": [3, 10],
        },
        "ind-gmm": {
            "topics": [3, 5, 10, 15, 20, 25, 30],
            "rate": [1, 2, 3, 5, 10, 20, 50, 100],
            "exploration": [1e-9, 1e-5, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 10],
            "radius": [3, 10],
        },
    },
    "quick": {
        "rand": {},
        "recommended": {},
        "eps": {"epsilon": [0.02, 0.1], "rate": [1, 3, 10], "radius": [3]},
        "c-ucb1": {"exploration": [1e-3, 1e-2, 0.1, 0.3, 1, 3]},
        "gl-cdcm": {"penalty": [0.1, 1], "exploration": [1e-3, 0.03, 0.3]},
        "ind": {"rate": [1, 2, 4, 10], "exploration": [1e-5, 1e-3, 1e-2, 0.1, 1], "radius": [3]},
        "dep": {
            "topics": [10, 30],
            "rate": [3, 10, 30],
            "exploration": [1e-3, 0.03, 0.3],
            "radius": [3],
        },
        "ind-gmm": {
            "topics": [10, 30],
            "rate": [3, 10, 30],
            "exploration": [1e-3, 0.03, 0.3],
            "radius": [3],
        },
    },
}
POLICIES = tuple(GRIDS["paper"])
BUDGETS = (1, 5, 10, 50, 100)


@dataclass(frozen=True, order=True)
class Cell:
    """One policy with every setting of a grid, on one stream: what is run, and resumed, as one.

    ``chosen`` (JSON) is a setting that was chosen on other streams: then it alone is run, on a
    stream that was held out.
    """

    task: str
    scenario: str
    budget: int
    policy: str
    grid: str
    seed: int
    chosen: str | None = None

    def __post_init__(self) -> None:
        payoffs(self.scenario, self.budget)
        if self.grid not in GRIDS:
            raise InvalidInput("grid", f"be one of {', '.join(GRIDS)}", repr(self.grid))
        if self.policy not in POLICIES:
            raise InvalidInput("policy", f"be one of {', '.join(POLICIES)}", repr(self.policy))

    @property
    def name(self) -> str:
        """What its file is called."""
        shuffle = f"s{self.seed}" if self.chosen is None else f"held-out-s{self.seed}"
        parts = [self.task, self.scenario, f"b{self.budget}", self.policy, self.grid, shuffle]
        return "_".join(parts)

    def settings(self) -> list[Settings]:
        """Every combination of the grid, or the one that was chosen."""
        if self.chosen is not None:
            return [json.loads(self.chosen)]
        axes = GRIDS[self.grid][self.policy]
        return [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]


def payoffs(scenario: str, budget: int) -> Payoffs:
    """The payoffs of a scenario by name: vanilla, exponential, or linear-COST (linear-0.08)."""
    if scenario == "vanilla":
        return Payoffs.vanilla(budget)
    if scenario == "exponential":
        return Payoffs.exponential(budget)
    kind, _, cost = scenario.partition("-")
    if kind == "linear" and cost.replace(".", "", 1).isdigit():
        return Payoffs.linear(budget, attempt_cost=float(cost))
    raise InvalidInput("scenario", "be vanilla, exponential or linear-COST", repr(scenario))


def cells(
    tasks: Sequence[str],
    scenarios: Sequence[str],
    budgets: Sequence[int],
    policies: Sequence[str],
    grid: str,
    seeds: int,
) -> Iterator[Cell]:
    """Every combination, with the cells of one stream beside each other."""
    for task, seed in itertools.product(tasks, range(seeds)):
        for scenario, budget, policy in itertools.product(scenarios, budgets, policies):
            yield Cell(task, scenario, budget, policy, grid, seed)


def held_out(cells: Sequence[Cell], chosen: Mapping[str, str], count: int) -> Iterator[Cell]:
    """``count`` further shuffles for the chosen setting of every kind of cell.

    ``chosen`` maps the name of a cell of seed 0 to the setting, as JSON.
    """
    last = max((cell.seed for cell in cells), default=0)
    for cell in cells:
        if cell.seed == 0 and cell.name in chosen:
            for seed in range(last + 1, last + 1 + count):
                yield replace(cell, seed=seed, chosen=chosen[cell.name])
