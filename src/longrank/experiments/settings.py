"""Experiments as data: task, scenario, budget, policy, settings, seed."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from longrank.errors import InvalidInput, unknown
from longrank.payoffs import Payoffs
from longrank.policies import registry

Settings = dict[str, Any]

GRIDS = ("paper", "quick")  # names of the grids of longrank.policies.registry
LATENT = "ind-gmm"  # Ind on the latent space of Dep: an experiment of the paper, not a policy
BUDGETS = (1, 5, 10, 50, 100)


def policies() -> tuple[str, ...]:
    """Return the names of all policies that can be run, those of installed packages included."""
    return (*(name for name in registry.names() if name != "oracle"), LATENT)


def grid_of(policy: str, grid: str) -> registry.Grid:
    """Return the settings to search; a policy without such a grid runs with its defaults."""
    return registry.get("dep" if policy == LATENT else policy).grids.get(grid, {})


@dataclass(frozen=True, order=True)
class Cell:
    """One policy with every setting of a grid, on one stream: the unit of running and resuming.

    ``chosen`` (JSON) is a setting that was chosen on other streams: then only it is run, on a
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
        if self.policy not in policies():
            rule = f"be one of {', '.join(policies())}"
            raise InvalidInput("policy", rule, unknown(self.policy, policies()))

    @property
    def name(self) -> str:
        """The name of its file."""
        shuffle = f"s{self.seed}" if self.chosen is None else f"held-out-s{self.seed}"
        parts = [self.task, self.scenario, f"b{self.budget}", self.policy, self.grid, shuffle]
        return "_".join(parts)

    def settings(self) -> list[Settings]:
        """Return every combination of the grid, or the one that was chosen."""
        if self.chosen is not None:
            return [json.loads(self.chosen)]
        axes = grid_of(self.policy, self.grid)
        return [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]


def readable(settings: str) -> str:
    """Format settings in JSON for readers.

    >>> readable('{"rate": 3, "radius": 1}'), readable("{}")
    ('rate 3, radius 1', 'none')
    """
    return ", ".join(f"{name} {value}" for name, value in json.loads(settings).items()) or "none"


def fees(scenario: str) -> tuple[float, float] | None:
    """Return the range of what tries cost, where each item has its own cost: fees-LOW-HIGH.

    Costs are drawn by :meth:`longrank.simulation.Stream.with_fees`.
    """
    kind, *ends = scenario.split("-")
    if kind != "fees":
        return None
    if len(ends) == 2 and all(end.replace(".", "", 1).isdigit() for end in ends):
        low, high = map(float, ends)
        if low > high:
            rule = "have LOW at most HIGH in fees-LOW-HIGH"
            raise InvalidInput("scenario", rule, repr(scenario))
        return low, high
    raise InvalidInput("scenario", "be fees-LOW-HIGH, such as fees-0.02-0.2", repr(scenario))


def payoffs(scenario: str, budget: int) -> Payoffs:
    """Return the payoffs of a scenario: vanilla, exponential, linear-COST, or fees-LOW-HIGH.

    With fees a success is worth 1 anywhere, and each item has a cost of its own: see :func:`fees`.
    """
    if scenario == "vanilla" or fees(scenario):
        return Payoffs.vanilla(budget)
    if scenario == "exponential":
        return Payoffs.exponential(budget)
    kind, _, cost = scenario.partition("-")
    if kind == "linear" and cost.replace(".", "", 1).isdigit():
        return Payoffs.linear(budget, attempt_cost=float(cost))
    rule = "be vanilla, exponential, linear-COST or fees-LOW-HIGH"
    raise InvalidInput("scenario", rule, repr(scenario))


def cells(
    tasks: Sequence[str],
    scenarios: Sequence[str],
    budgets: Sequence[int],
    policies: Sequence[str],
    grid: str,
    seeds: int,
) -> Iterator[Cell]:
    """Return every combination, with the cells of one stream next to each other."""
    for task, seed in itertools.product(tasks, range(seeds)):
        for scenario, budget, policy in itertools.product(scenarios, budgets, policies):
            yield Cell(task, scenario, budget, policy, grid, seed)


def held_out(cells: Sequence[Cell], chosen: Mapping[str, str], count: int) -> Iterator[Cell]:
    """Return cells with the chosen setting of every kind of cell, on ``count`` further shuffles.

    Again with the cells of one stream next to each other. ``chosen`` maps the name of a cell of
    seed 0 to the setting, as JSON.
    """
    last = max((cell.seed for cell in cells), default=0)
    for seed in range(last + 1, last + 1 + count):
        for cell in cells:
            if cell.seed == 0 and cell.name in chosen:
                yield replace(cell, seed=seed, chosen=chosen[cell.name])
