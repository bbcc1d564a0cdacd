"""``longrank reproduce``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from longrank.cli.console import console
from longrank.cli.report import write
from longrank.cli.run import run_shown
from longrank.datasets import SOURCES, TASKS, available
from longrank.experiments.latent import PANELS
from longrank.experiments.settings import BUDGETS, Cell, cells
from longrank.experiments.tables import MNIST, PAPER_TASKS, SIX


def reproduce(
    grid: Annotated[
        str, typer.Option(help="Settings to search: paper (fine, hours) or quick (coarse).")
    ] = "quick",
    held_out: Annotated[
        int, typer.Option(min=0, help="Further shuffles for the best setting of each cell.")
    ] = 4,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at once.")] = os.cpu_count() or 1,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results"),
    report: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("report"),
) -> None:
    """Run the paper's experiments on the data that is here, and write the report.

    All of its scenarios, budgets and policies, on those of its 13 tasks whose data
    `longrank data` finds; it says how to get the others. A stopped run goes on when you call it
    again.
    """
    tasks = [task for task in PAPER_TASKS if available(task)]
    tell_missing([task for task in PAPER_TASKS if task not in tasks])
    if not tasks:
        console.print("There is no data yet, so nothing was run.", style="red")
        raise typer.Exit(1)
    failures = run_shown(list(of_the_paper(tasks, grid)), held_out, out, jobs)
    write([out], report)
    if failures:
        raise typer.Exit(1)


def of_the_paper(tasks: list[str], grid: str) -> Iterator[Cell]:
    """The cells of the tables, and those of Figure 3 that no table has."""
    yield from cells(tasks, ("vanilla", "exponential"), BUDGETS, SIX, grid, 1)
    pivots = [task for task in tasks if task in MNIST]
    for scenario, budget in PANELS:
        yield from cells(pivots, (scenario,), (budget,), ("ind-gmm",), grid, 1)


def tell_missing(tasks: list[str]) -> None:
    """Say how to get the data of tasks."""
    for name in dict.fromkeys(TASKS[task].source for task in tasks):
        source = SOURCES[name]
        if source.manual is None:
            how = f"longrank data get {name}, or longrank data add {name} PATH for files you have"
        else:
            how = f"{source.manual}, then longrank data add {name} PATH"
        console.print(f"{source.title} is not here: {how}", highlight=False)
