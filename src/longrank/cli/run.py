"""``longrank run``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from longrank.cli.console import console, counted, names, numbers
from longrank.experiments.results import choose, finished
from longrank.experiments.runner import Failure
from longrank.experiments.runner import run as run_cells
from longrank.experiments.settings import Cell, cells
from longrank.experiments.settings import held_out as further
from longrank.experiments.streams import all_tasks


def run(
    tasks: Annotated[
        list[str],
        typer.Argument(
            help="mnist-0 to mnist-9 (or mnist for all ten), fashion-0.., digits-0.., "
            "movielens-25m, movielens-1m, yelp, msd, logistic, payments-8, payments-100."
        ),
    ],
    scenario: Annotated[
        str, typer.Option(help="vanilla, exponential, linear-COST (as linear-0.08).")
    ] = "vanilla,exponential",
    budgets: Annotated[str, typer.Option(help="The most tries a round.")] = "1,5,10,50,100",
    policies: Annotated[
        str, typer.Option(help="recommended, rand, eps, c-ucb1, gl-cdcm, ind, dep, ind-gmm.")
    ] = "rand,eps,c-ucb1,gl-cdcm,ind,dep",
    grid: Annotated[
        str, typer.Option(help="Settings to search: paper (fine) or quick (coarse).")
    ] = "quick",
    seeds: Annotated[int, typer.Option(min=1, help="How many shuffles of each task.")] = 1,
    held_out: Annotated[
        int, typer.Option(min=0, help="Further shuffles for the best setting of each cell.")
    ] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at once.")] = os.cpu_count() or 1,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results"),
    backend: Annotated[str, typer.Option(help="processes, dask or ray.")] = "processes",
    address: Annotated[str | None, typer.Option(help="Of the Dask or Ray cluster.")] = None,
) -> None:
    """Run experiments; every option takes a list, `a,b,c`.

    A result is a file in the folder `--out` as soon as it is there: Parquet, one file for each
    task, scenario, budget, policy, grid and seed, one row for each setting. What is there already
    is not run again, so that a run that was stopped goes on when you call it again. If a cell
    fails the others go on, and the exit code is 1.

    On a cluster the data folder (LONGRANK_DATA) must be one that all workers see.
    """
    chosen = all_tasks([name for text in tasks for name in names(text)])
    wanted = list(
        cells(chosen, names(scenario), numbers("budgets", budgets), names(policies), grid, seeds)
    )
    if run_shown(wanted, held_out, out, jobs, backend, address):
        raise typer.Exit(1)


def run_shown(
    cells: list[Cell],
    held_out: int,
    out: Path,
    jobs: int,
    backend: str = "processes",
    address: str | None = None,
) -> list[Failure]:
    """Run cells, then the best setting of each on further shuffles, behind a progress bar."""
    failures = _run(cells, out, jobs, backend, address)
    if held_out:
        rest = list(further(cells, choose(out, cells), held_out))
        failures += _run(rest, out, jobs, backend, address)
    return failures


def _run(
    cells: list[Cell], out: Path, jobs: int, backend: str, address: str | None
) -> list[Failure]:
    todo = [cell for cell in cells if not finished(out, cell)]
    console.print(f"{len(cells)} cells, {len(cells) - len(todo)} of them finished before")
    with counted() as bar:
        task = bar.add_task("", total=len(todo))
        failures = run_cells(
            todo,
            out,
            jobs=jobs,
            backend=backend,
            address=address,
            told=lambda text: bar.update(task, description=text),
            done=lambda cell: bar.update(task, advance=1, description=cell.name),
        )
    for failure in failures:
        console.print(f"{failure.cell.name} failed:\n{failure.reason}", style="red", markup=False)
    console.print(f"{len(todo) - len(failures)} cells run, {len(failures)} failed: {out}")
    return failures
