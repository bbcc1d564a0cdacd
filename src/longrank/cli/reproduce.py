"""``longrank reproduce``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli.report import write
from longrank.cli.run import CORES, Grid, HeldOut, Jobs, Out, run_shown
from longrank.cli.terminal import needs, refuse, say

if TYPE_CHECKING:
    from longrank.experiments.settings import Cell


@needs("experiments")
def reproduce(
    grid: Annotated[
        Grid, typer.Option(help="Settings to search: quick is coarse, paper is fine (hours).")
    ] = "quick",
    held_out: HeldOut = 4,
    jobs: Jobs = CORES,
    out: Out = Path("results"),
    report: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("report"),
) -> None:
    """Run the paper's experiments on the data that you have, and write the report.

    Runs all scenarios, budgets and policies of the paper on those of its 13 tasks whose data is
    available, and says how to get the others (`longrank data`). Run the command again to resume
    after an interruption. The exit code is 1 if a cell fails or there is no data.

    Needs `pip install '.[experiments]'`.

    Example: `longrank reproduce --jobs 4`, after `longrank data get mnist`
    """
    from longrank.datasets import available
    from longrank.experiments.tables import PAPER_TASKS

    tasks = [task for task in PAPER_TASKS if available(task)]
    tell_missing([task for task in PAPER_TASKS if task not in tasks])
    if not tasks:
        refuse("none of the data is available yet, so nothing was run")
        raise typer.Exit(1)
    failures = run_shown(list(of_the_paper(tasks, grid)), held_out, out, jobs)
    write([out], report)
    if failures:
        raise typer.Exit(1)


def of_the_paper(tasks: list[str], grid: str) -> Iterator[Cell]:
    """Yield the cells of the tables, and those of Figure 3 that no table has."""
    from longrank.experiments.latent import PANELS
    from longrank.experiments.settings import BUDGETS, cells
    from longrank.experiments.tables import MNIST, SIX

    yield from cells(tasks, ("vanilla", "exponential"), BUDGETS, SIX, grid, 1)
    pivots = [task for task in tasks if task in MNIST]
    for scenario, budget in PANELS:
        yield from cells(pivots, (scenario,), (budget,), ("ind-gmm",), grid, 1)


def tell_missing(tasks: list[str]) -> None:
    """Print how to get the data of tasks."""
    from longrank.datasets import SOURCES, TASKS

    for name in dict.fromkeys(TASKS[task].source for task in tasks):
        say(f"{SOURCES[name].title} is missing: {SOURCES[name].how}")
