"""``longrank run``."""

from __future__ import annotations

import os
from math import isnan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from longrank.cli.terminal import console, counted, needs, numbers, say, some
from longrank.errors import InvalidInput
from longrank.payoffs import MAX_BUDGET

if TYPE_CHECKING:
    from longrank.experiments.runner import Failure
    from longrank.experiments.settings import Cell

Grid = Literal["quick", "paper"]
Backend = Literal["processes", "dask", "ray"]
HeldOut = Annotated[
    int, typer.Option(min=0, help="Further shuffles on which to run the best setting of each cell.")
]
Jobs = Annotated[int, typer.Option(min=1, help="Parallel processes.")]
Out = Annotated[Path, typer.Option(help="Folder for the results.")]
Address = Annotated[
    str | None, typer.Option(help="Address of the Dask or Ray cluster; default: start one here.")
]
CORES = os.cpu_count() or 1
_UNDEFINED = "–"  # an NCR where there is nothing to gain
MAX_LINES = 40  # of the results at the end: those of more are averaged over the tasks


@needs("experiments")
def run(
    tasks: Annotated[
        list[str],
        typer.Argument(
            metavar="TASK...",
            help="Tasks: mnist-0 to mnist-9 (or mnist for all ten), likewise fashion and digits; "
            "movielens-25m, movielens-1m, yelp, msd, logistic, payments-8, payments-100; or a task "
            "that an installed package offers.",
        ),
    ],
    scenario: Annotated[
        str,
        typer.Option(
            help="What a success is worth: vanilla (always 1), exponential (half as much with each "
            "further attempt), linear-COST (every attempt costs COST) or fees-LOW-HIGH (an attempt "
            "costs an amount between the two, drawn for each item and round and known to policies)."
        ),
    ] = "vanilla,exponential",
    budgets: Annotated[
        str, typer.Option(help="Maximum numbers of attempts, separated by commas.")
    ] = "1,5,10,50,100",
    policies: Annotated[
        str,
        typer.Option(
            help="recommended, thompson, plackett-luce, rand, eps, c-ucb1, gl-cdcm, ind, dep, "
            "ind-gmm, or a policy that an installed package offers."
        ),
    ] = "rand,eps,c-ucb1,gl-cdcm,ind,dep",
    grid: Annotated[
        Grid, typer.Option(help="Settings to search: quick is coarse, paper is fine.")
    ] = "quick",
    seeds: Annotated[int, typer.Option(min=1, help="Number of shuffles of each task.")] = 1,
    held_out: HeldOut = 0,
    jobs: Jobs = CORES,
    out: Out = Path("results"),
    backend: Annotated[Backend, typer.Option(help="Where to run the cells.")] = "processes",
    address: Address = None,
) -> None:
    """Run experiments: every combination of tasks, scenarios, budgets and policies.

    Tasks, `--scenario`, `--budgets` and `--policies` take lists separated by commas. One
    combination with one seed is a cell, which searches all settings of the grid. Each finished cell
    becomes a Parquet file in the folder `--out`, with one row per setting; a table at the end shows
    the normalised cumulative reward (NCR) by policy and budget. Run the command again to
    resume after an interruption: finished cells are skipped. If a cell fails, the others still run,
    and the exit code is 1.

    Needs `pip install '.[experiments]'`; `--backend dask` and `--backend ray` also need
    `'.[cluster]'` and a data folder (`LONGRANK_DATA`) that all workers can read.

    Example: `longrank run digits --budgets 1,5 --policies recommended,ind --jobs 4`
    """
    from longrank.experiments.settings import cells
    from longrank.experiments.streams import all_tasks

    chosen = all_tasks([name for text in tasks for name in some("tasks", text)])
    scenarios, limits = some("scenario", scenario), numbers("budgets", budgets, 1, MAX_BUDGET)
    wanted = list(cells(chosen, scenarios, limits, some("policies", policies), grid, seeds))
    failures = run_shown(wanted, held_out, out, jobs, backend, address)
    show(wanted, held_out, out)
    if failures:
        raise typer.Exit(1)


def run_shown(
    cells: list[Cell],
    held_out: int,
    out: Path,
    jobs: int,
    backend: str = "processes",
    address: str | None = None,
) -> list[Failure]:
    """Run cells, then the best setting of each on further shuffles, with a progress bar."""
    failures = _run("searching settings", cells, out, jobs, backend, address)
    if held_out:
        rest = _further(cells, held_out, out)
        failures += _run("best settings, held out", rest, out, jobs, backend, address)
    return failures


def _further(cells: list[Cell], held_out: int, out: Path) -> list[Cell]:
    """Return the cells of the best settings on further shuffles."""
    from longrank.experiments import settings
    from longrank.experiments.results import choose

    return list(settings.held_out(cells, choose(out, cells), held_out))


def show(cells: list[Cell], held_out: int, out: Path) -> None:
    """Print the results of cells by budget, and how to get all of them."""
    from longrank.experiments.results import read_cells
    from longrank.experiments.scores import score_cells

    scores = score_cells(read_cells(out, [*cells, *_further(cells, held_out, out)]))
    if not scores:
        return
    budgets = sorted({key.budget for key in scores})
    lines: dict[tuple[str, ...], dict[int, list[float]]] = {}
    few = len({(key.task, key.scenario, key.policy) for key in scores}) <= MAX_LINES
    tasks = len({key.task for key in scores})
    for key, score in scores.items():
        where = key.task if few else f"mean of {tasks} tasks"
        line = lines.setdefault((where, key.scenario, key.policy), {})
        ncr = fmean(row["ncr"] for row in score.reported)
        line.setdefault(key.budget, []).append(ncr)
    how = "mean over held-out shuffles" if held_out else "best setting of the grid"
    title = f"NCR by budget b ({how}): 0 is a random order, 1 a clairvoyant"
    table = Table("task", "scenario", "policy", title=title, box=None, title_justify="left")
    for budget in budgets:
        table.add_column(f"b = {budget}", justify="right")
    for names, line in lines.items():
        table.add_row(*names, *(_mean(line.get(budget, [])) for budget in budgets))
    note = ""
    if any(isnan(ncr) for line in lines.values() for ncrs in line.values() for ncr in ncrs):
        note = f"\n{_UNDEFINED}: random orders already earn all that a clairvoyant could"
    console.print(table, f"{note}\nAll results: longrank report {out}", highlight=False)


def _mean(values: list[float]) -> str:
    mean = fmean(values) if values else None
    return "" if mean is None else _UNDEFINED if isnan(mean) else f"{mean:z.2f}"


def _run(
    what: str, cells: list[Cell], out: Path, jobs: int, backend: str, address: str | None
) -> list[Failure]:
    from longrank.experiments.results import finished
    from longrank.experiments.runner import run as run_cells

    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise InvalidInput("out", "be a folder that can be written to", out)
    todo = [cell for cell in cells if not finished(out, cell)]
    console.print(f"{what}: {len(cells)} cells, {len(cells) - len(todo)} of them already finished")
    with counted() as bar:
        task = bar.add_task("", total=len(todo))
        failures = run_cells(
            todo,
            out,
            jobs=jobs,
            backend=backend,
            address=address,
            notify=lambda text: bar.update(task, description=text),
            done=lambda cell: bar.update(task, advance=1, description=cell.name),
        )
    for failure in failures:
        say(f"{failure.cell.name} failed:\n{failure.reason}", style="red")
    done = f"{len(todo) - len(failures)} cells run, {len(failures)} failed"
    say(f"{what}: {done}; results are in {out}")
    return failures
