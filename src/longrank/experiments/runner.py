"""Running cells: in local processes, or on a Dask or Ray cluster. Finished ones are kept."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from longrank.errors import InvalidInput, MissingExtra
from longrank.experiments.results import ResultRow, finished, write_cell
from longrank.experiments.settings import Cell, fees, grid_of, payoffs
from longrank.experiments.streams import mixture, situation, stream, task_table
from longrank.simulation import live
from longrank.simulation.metrics import normalised

BACKENDS = ("processes", "dask", "ray")
FIRST = 50  # rounds in which every kernel of a run is needed


@dataclass(frozen=True)
class Failure:
    """A cell that failed, and why."""

    cell: Cell
    reason: str


def run_cell(cell: Cell, folder: str | None = None) -> list[ResultRow]:
    """Run a cell: one row per setting, of which the best has the rewards of all rounds.

    ``seconds`` are those of ranking and learning: compiling is done before.
    """
    worth, costs = payoffs(cell.scenario, cell.budget), fees(cell.scenario)
    plain = stream(cell.task, cell.seed, folder)
    if costs:
        plain = plain.with_fees(*costs, cell.seed)
    cr_rand = plain.random_reward(worth)
    cr_max = float(plain.hindsight(worth).sum())
    rows: list[ResultRow] = []
    best, curve = -float("inf"), None
    for settings in cell.settings():
        policy, seen = situation(cell.task, cell.policy, settings, cell.budget, cell.seed, folder)
        if costs:
            seen = seen.with_fees(*costs, cell.seed)
        if not rows:
            live(policy, seen.beginning(FIRST), worth)  # compiles or loads what the run needs
        start = time.perf_counter()
        life = live(policy, seen, worth)
        seconds = time.perf_counter() - start
        reward = float(life.rewards.sum())
        if reward > best:
            best, curve = reward, life.rewards
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
                mean_length=float(life.lengths.mean()),
                mean_tried=float(life.tried.mean()),
                seconds=seconds,
                curve=None,
            )
        )
        if costs:
            rows[-1]["mean_spent"] = float(life.spent.mean())
    assert curve is not None
    first = max(range(len(rows)), key=lambda i: rows[i]["cumulative_reward"])
    rows[first]["curve"] = curve.tolist()
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
    for cell, rows in _results(todo, jobs, backend, address, folder):
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


def _results(
    cells: Sequence[Cell], jobs: int, backend: str, address: str | None, folder: str | None
) -> Iterator[tuple[Cell, list[ResultRow] | Failure]]:
    if backend not in BACKENDS:
        raise InvalidInput("backend", f"be one of {', '.join(BACKENDS)}", repr(backend))
    if jobs == 1 and backend == "processes":
        yield from (_try_cell(cell, folder) for cell in cells)
        return
    try:
        import joblib
    except ImportError as error:
        raise MissingExtra("running in several processes", "experiments") from error
    with _cluster(backend, address):
        # Not every backend can return results as they arrive, so we wait for each batch; a batch
        # is large enough to keep all workers busy.
        size = len(cells) if backend == "processes" else max(4 * jobs, 1)
        how = "generator_unordered" if backend == "processes" else "list"
        for start in range(0, len(cells), max(size, 1)):
            batch = cells[start : start + size]
            parallel = joblib.Parallel(n_jobs=jobs, return_as=how, batch_size=1)
            yield from parallel(joblib.delayed(_try_cell)(cell, folder) for cell in batch)


@contextmanager
def _cluster(backend: str, address: str | None) -> Iterator[None]:
    """Set up joblib for a backend, connected while the block runs."""
    import joblib

    if backend == "processes":
        with joblib.parallel_config("loky", inner_max_num_threads=1):
            yield
        return
    try:
        if backend == "dask":
            from distributed import Client
        else:
            import ray
            from ray.util.joblib import register_ray
    except ImportError as error:
        raise MissingExtra(f"the {backend} backend", "cluster") from error
    if backend == "dask":
        with Client(address) as client, joblib.parallel_config("dask", client=client):
            yield
        return
    register_ray()
    ray.init(address=address, log_to_driver=False)
    try:
        with joblib.parallel_config("ray"):
            yield
    finally:
        ray.shutdown()
