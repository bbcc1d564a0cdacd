"""Result rows with known answers."""

import json
from pathlib import Path
from typing import Any

from longrank.experiments.results import ResultRow, write_cell
from longrank.experiments.settings import Cell
from longrank.experiments.tables import published
from longrank.simulation.metrics import normalised

ROUNDS = 100


def row(
    policy: str = "ind",
    reward: float = 90.0,
    *,
    task: str = "mnist-0",
    scenario: str = "vanilla",
    budget: int = 1,
    seed: int = 0,
    protocol: str = "grid",
    grid: str = "quick",
    settings: dict[str, Any] | None = None,
    cr_rand: float = 10.0,
    cr_max: float = 100.0,
    seconds: float = 1e-3,
    curve: list[float] | None = None,
) -> ResultRow:
    """A row of 100 rounds in which Rand earns 10 and nobody more than 100."""
    return ResultRow(
        task=task,
        scenario=scenario,
        budget=budget,
        policy=policy,
        grid=grid,
        protocol=protocol,
        settings=json.dumps(settings or {}),
        seed=seed,
        rounds=ROUNDS,
        cumulative_reward=reward,
        cr_rand=cr_rand,
        cr_max=cr_max,
        ncr=normalised(reward, cr_rand, cr_max),
        ncr_published=normalised(reward, cr_rand, cr_max, extra=1.0),
        mean_length=budget / 2,
        mean_tried=1.0,
        seconds=seconds,
        curve=curve,
        mean_spent=None,
        items=None,
        dimensions=None,
        success_rate=None,
    )


def as_published(*policies: str, tasks: tuple[str, ...] | None = None) -> list[ResultRow]:
    """Rows that give the paper's numbers exactly."""
    return [
        row(
            key.policy,
            10.0 + 91.0 * number,
            task=key.task,
            scenario=key.scenario,
            budget=key.budget,
            curve=[0.5] * ROUNDS,
        )
        for key, number in published().items()
        if (not policies or key.policy in policies) and (tasks is None or key.task in tasks)
    ]


def save(folder: Path, rows: list[ResultRow]) -> Path:
    """Rows as the results file of some cell."""
    folder.mkdir(parents=True)
    write_cell(folder, Cell("digits-3", "vanilla", 1, "ind", "quick", 0), rows)
    return folder
