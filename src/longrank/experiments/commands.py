"""The ``longrank run`` commands that give the numbers of a table."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from longrank.experiments.scores import Score
from longrank.experiments.settings import policies
from longrank.experiments.tables import MNIST

_MERGED = ("budgets", "scenarios", "policies", "tasks")  # in this order


@dataclass(frozen=True)
class Command:
    """A call of ``longrank run``."""

    tasks: tuple[str, ...]
    scenarios: tuple[str, ...]
    budgets: tuple[int, ...]
    policies: tuple[str, ...]
    grid: str
    seeds: int
    held_out: int
    out: Path | None = None

    def __str__(self) -> str:
        ten = set(MNIST) <= set(self.tasks)  # the ten have one name
        tasks = dict.fromkeys("mnist" if ten and task in MNIST else task for task in self.tasks)
        words = [
            *("longrank", "run", *tasks),
            *("--scenario", ",".join(self.scenarios)),
            *("--budgets", ",".join(map(str, self.budgets))),
            *("--policies", ",".join(self.policies)),
            *("--grid", self.grid),
            *(("--seeds", str(self.seeds)) if self.seeds > 1 else ()),
            *(("--held-out", str(self.held_out)) if self.held_out else ()),
            *(("--out", str(self.out)) if self.out is not None else ()),
        ]
        return shlex.join(words)


def commands(scores: Iterable[Score], out: Path | None = None) -> list[str]:
    """Return the fewest commands that say exactly what was run, and into which folder."""
    merged = [
        Command(
            tasks=(score.key.task,),
            scenarios=(score.key.scenario,),
            budgets=(score.key.budget,),
            policies=(score.key.policy,),
            grid=score.grid,
            seeds=score.seeds,
            held_out=0 if score.held_out is None else score.held_out.seeds,
            out=out,
        )
        for score in sorted(scores, key=_order)
    ]
    for name in _MERGED:
        merged = _merged(merged, name)
    return [str(command) for command in merged]


def _order(score: Score) -> tuple[str, int, bool, str, int]:
    task, scenario, budget, policy = score.key
    known = policies()
    order = known.index(policy) if policy in known else len(known)
    return task, order, scenario != "vanilla", scenario, budget


def _merged(commands: list[Command], name: str) -> list[Command]:
    """Merge commands that differ in this list only."""
    alike: dict[Command, dict[object, None]] = {}
    for command in commands:
        without: dict[str, Any] = {name: ()}
        values = alike.setdefault(replace(command, **without), {})
        values |= dict.fromkeys(getattr(command, name))
    merged: list[dict[str, Any]] = [{name: tuple(values)} for values in alike.values()]
    return [replace(rest, **values) for rest, values in zip(alike, merged, strict=True)]
