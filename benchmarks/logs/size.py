"""How long the evaluation of a log takes, by its size and by the number of processes.

python benchmarks/logs/size.py [--rows 10000 100000 1000000] [--jobs 1 2] [--report]

Each measurement is a process of its own, so that its peak of memory is its own. The log has 10
candidates of 10 numbers a decision; half of it is learned, and half judged, as by `longrank
evaluate`. Processor seconds are those of all processes together; peaks of memory are that of the
first process and that of the largest of the others.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CANDIDATES, DIM, BUDGET, PART = 10, 10, 4, 20_000
POLICIES = ("recommended", "ind", "plackett-luce")


def make(path: Path, rows: int) -> None:
    """Write a log of random sequences of random length, part by part."""
    rng, writer = np.random.default_rng(0), None
    truth, positions = rng.normal(size=DIM) * 1.5, np.arange(BUDGET)
    orders = np.cumprod(1.0 / (CANDIDATES - positions))
    prefix, whole = orders * (BUDGET - positions) / BUDGET, orders / BUDGET
    for first in range(0, rows, PART):
        n = min(PART, rows - first)
        items = rng.normal(size=(n, CANDIDATES, DIM))
        items /= np.linalg.norm(items, axis=2, keepdims=True)
        order = np.argsort(rng.random((n, CANDIDATES)), axis=1)[:, :BUDGET]
        length = rng.integers(1, BUDGET + 1, n)
        chances = 1.0 / (1.0 + np.exp(1.0 - items @ truth))
        won = rng.random((n, BUDGET)) < np.take_along_axis(chances, order, 1)
        won &= positions < length[:, np.newaxis]
        succeeded = won.any(axis=1)
        played = positions < length[:, np.newaxis]
        edges = np.append(0, np.cumsum(length)).astype(np.int32)
        inner = pa.ListArray.from_arrays(
            np.arange(0, n * CANDIDATES * DIM + 1, DIM, dtype=np.int32), pa.array(items.ravel())
        )
        outer = np.arange(0, n * CANDIDATES + 1, CANDIDATES, dtype=np.int32)
        every = np.broadcast_to(prefix, (n, BUDGET))[played]
        table = pa.table(
            {
                "id": np.arange(first, first + n),
                "items": pa.ListArray.from_arrays(outer, inner),
                "order": pa.ListArray.from_arrays(edges, pa.array(order[played])),
                "tried": np.where(succeeded, won.argmax(axis=1) + 1, length),
                "succeeded": succeeded,
                "rewards": pa.array([(1.0 - 0.1 * (positions + 1)).tolist()] * n),
                "losses": pa.array([(-0.05 - 0.1 * np.arange(BUDGET + 1)).tolist()] * n),
                "propensity": whole[length - 1],
                "prefix_propensities": pa.ListArray.from_arrays(edges, pa.array(every)),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=PART)
    assert writer is not None
    writer.close()


def measure(path: Path, jobs: int, policies: list[str], report: bool) -> dict[str, float]:
    """Do what `longrank evaluate` does, in this process."""
    from longrank.logs import History, evaluate, learn_from
    from longrank.logs import report as write_report
    from longrank.policies import registry

    def spent() -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used)

    _compile(policies)
    start, clock = spent(), time.perf_counter()
    history = History(path).keep()
    found = {"reading": time.perf_counter() - clock}
    half, given = len(history) // 2, {"dim": DIM, "max_budget": BUDGET, "rng": 0}
    chosen = {name: registry.make(name, given, {}) for name in policies}
    for policy in chosen.values():
        learn_from(policy, history.part(0, half))
    found["learning"] = time.perf_counter() - clock - found["reading"]
    evaluating = time.perf_counter()
    estimates = evaluate(history.part(half), chosen, jobs=jobs)
    found["evaluating"] = time.perf_counter() - evaluating
    if report:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            write_report(history.part(half), chosen, page, estimates, jobs=jobs)
    found["seconds"] = time.perf_counter() - clock
    if jobs > 1:  # what its processes used is known when they have ended
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)
    peaks = [resource.getrusage(who).ru_maxrss / 1024 for who in (0, -1)]
    return found | {"processor": spent() - start, "memory": peaks[0], "others": peaks[1]}


def _compile(policies: list[str]) -> None:
    """Load what is compiled, which is done once in a process."""
    from longrank.logs import History, evaluate, learn_from
    from longrank.policies import registry

    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / "log.parquet", 50)
        history = History(Path(folder) / "log.parquet").keep()
        given = {"dim": DIM, "max_budget": BUDGET, "rng": 0}
        chosen = {name: registry.make(name, given, {}) for name in policies}
        for policy in chosen.values():
            learn_from(policy, history)
        evaluate(history, chosen, resamples=5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--policies", nargs="+", default=list(POLICIES))
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.one, chosen.jobs[0], chosen.policies, chosen.report)))
        return
    with tempfile.TemporaryDirectory() as folder:
        for rows in chosen.rows:
            path = Path(folder) / f"{rows}.parquet"
            make(path, rows)
            for jobs in chosen.jobs:
                command = [sys.executable, __file__, "--one", str(path), "--jobs", str(jobs)]
                command += ["--policies", *chosen.policies, *(["--report"] * chosen.report)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                found = json.loads(done.stdout)
                print(
                    f"{rows:>9,} rows, {jobs} jobs: {found['seconds']:7.1f} s (reading "
                    f"{found['reading']:.1f}, learning {found['learning']:.1f}, evaluating "
                    f"{found['evaluating']:.1f}), {found['processor']:7.1f} processor seconds, "
                    f"{1e6 * found['processor'] / rows:.0f} us a row, "
                    f"{found['memory']:.0f} MB and {found['others']:.0f} MB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
