"""Running cells: in local processes, or on a Dask or Ray cluster. Finished ones are kept."""

import json
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from longrank.experiments.results import ResultRow, finished, write_cell
from longrank.experiments.settings import Cell, fees, grid_of, payoffs
from longrank.experiments.streams import mixture, situation, stream, task_table
from longrank.jobs import Jobs
from longrank.simulation import run_stream
from longrank.simulation.metrics import normalised

FIRST = 50  # rounds in which every kernel of a run is needed


@dataclass(frozen=True)
class Failure:
    """A cell that failed, and why."""

    cell: Cell
    reason: str


def run_cell(cell: Cell, folder: str | None = None) -> list[ResultRow]:
    """Run a cell: one row per setting, of which the best has the rewards of all rounds.

    ``seconds`` are those of ranking and learning: compiling is done before, in a search.
    """
    worth, costs = payoffs(cell.scenario, cell.budget), fees(cell.scenario)
    plain = stream(cell.task, cell.seed, folder)
    if costs:
        plain = plain.with_fees(*costs, cell.seed)
    cr_rand = plain.random_reward(worth)
    cr_max = float(plain.hindsight(worth).sum())
    rows: list[ResultRow] = []
    curves = []
    for settings in cell.settings():
        policy, seen = situation(cell.task, cell.policy, settings, cell.budget, cell.seed, folder)
        if costs:
            seen = seen.with_fees(*costs, cell.seed)
        if not rows and cell.chosen is None:
            run_stream(policy, seen.beginning(FIRST), worth)  # loads or compiles kernels
        start = time.perf_counter()
        played = run_stream(policy, seen, worth)
        seconds = time.perf_counter() - start
        reward = float(played.rewards.sum())
        curves.append(played.rewards)
        rows.append(
            ResultRow(
                task=cell.task,
                scenario=cell.scenario,
                budget=cell.budget,
                policy=cell.policy,
                grid=cell.grid,
                protocol="grid" if cell.chosen is None else "held-out",
                settings=json.dumps(settings),
                seed=cell.seed,
                rounds=seen.rounds,
                cumulative_reward=reward,
                cr_rand=cr_rand,
                cr_max=cr_max,
                ncr=normalised(reward, cr_rand, cr_max),
                ncr_published=normalised(reward, cr_rand, cr_max, extra=1.0),
                mean_length=float(played.lengths.mean()),
                mean_tried=float(played.tried.mean()),
                seconds=seconds,
                curve=None,
                mean_spent=float(played.spent.mean()) if costs else None,
                items=len(plain.items),
                dimensions=plain.items.shape[1],
                success_rate=float(plain.wins.mean()),
            )
        )
    best = max(range(len(rows)), key=lambda i: rows[i]["cumulative_reward"])
    rows[best]["curve"] = curves[best].tolist()
    return rows


def prepare(cells: Sequence[Cell], folder: str | None, notify: Callable[[str], None]) -> None:
    """Make what cells share (embeddings, mixtures) once, so that workers only read it."""
    for task in dict.fromkeys(cell.task for cell in cells):
        notify(f"preparing {task}")
        task_table(task, folder)
        grids = {(cell.grid, cell.policy) for cell in cells if cell.task == task}
        topics = {n for grid, policy in grids for n in grid_of(policy, grid).get("topics", [])}
        for count in sorted(topics):
            notify(f"preparing {task}, {count} topics")
            mixture(task, int(count), folder)


def run(
    cells: Sequence[Cell],
    out: Path,
    *,
    jobs: int = 1,
    backend: str = "processes",
    address: str | None = None,
    folder: str | None = None,
    notify: Callable[[str], None] = lambda _: None,
    done: Callable[[Cell], None] = lambda _: None,
) -> list[Failure]:
    """Run the cells that ``out`` does not hold yet; return those that failed.

    A result is on disk before the next cell begins. Stopping early loses only the cells that are
    running: the same call continues from there.

    Parameters
    ----------
    jobs, backend, address
        The number of processes; ``processes``, ``dask`` or ``ray``; the address of the cluster.
    folder
        The data folder, if not the default.
    notify, done
        Called with what is being prepared, and with each cell when it is finished.
    """
    out.mkdir(parents=True, exist_ok=True)
    todo = [cell for cell in cells if not finished(out, cell)]
    prepare(todo, folder, notify)
    failures = []
    workers = Jobs(jobs, backend, address)
    tasks = ((cell, folder) for cell in todo)
    for cell, rows in workers.each(_try_cell, tasks, ordered=False):
        if isinstance(rows, Failure):
            failures.append(rows)
        else:
            write_cell(out, cell, rows)
        done(cell)
    return failures


def _try_cell(cell: Cell, folder: str | None) -> tuple[Cell, list[ResultRow] | Failure]:
    try:
        return cell, run_cell(cell, folder)
    except Exception:
        return cell, Failure(cell, traceback.format_exc())
