"""Result rows with known answers."""

import json
from pathlib import Path
from typing import Any

from longrank.experiments.results import ResultRow, write_cell
from longrank.experiments.settings import Cell
from longrank.experiments.tables import published
from longrank.simulation.metrics import normalised

ROUNDS = 100


def row(policy: str = "ind", reward: float = 90.0, **more: Any) -> ResultRow:
    """A row of 100 rounds in which Rand earns 10 and nobody more than 100."""
    made = {"task": "mnist-0", "scenario": "vanilla", "budget": 1, "seed": 0, "seconds": 1e-3}
    made |= {"protocol": "grid", "grid": "quick", "cr_rand": 10.0, "cr_max": 100.0, "curve": None}
    made |= {"settings": json.dumps(more.pop("settings", {})), **more}
    bounds = made["cr_rand"], made["cr_max"]
    return ResultRow(
        policy=policy,
        rounds=ROUNDS,
        cumulative_reward=reward,
        ncr=normalised(reward, *bounds),
        ncr_published=normalised(reward, *bounds, extra=1.0),
        mean_length=made["budget"] / 2,
        mean_tried=1.0,
        **dict.fromkeys(("mean_spent", "items", "dimensions", "success_rate")),
        **made,
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
