"""A warm start learns at least 200,000 cascades a minute, and gives the same state.

    python benchmarks/logs/warm_start.py [--count 20000]

Ten numbers in an item, five tries; reading and checking included, on one core, the best of three.
The first three logs have only what was played, the others all 20 candidates of each round.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from longrank import UCB, OnlineNewton, Outcome, Payoffs, unit_rows
from longrank.logs import History, learn_from, record, write


def fresh() -> UCB:
    """A policy that has learned nothing."""
    return UCB(OnlineNewton(10, max_budget=5), exploration=0.1)


def lived(count: int) -> tuple[UCB, list[dict]]:
    """A policy that has learned online, and its log."""
    rng = np.random.default_rng(0)
    online, payoffs, rows = fresh(), Payoffs.exponential(5), []
    for t in range(count):
        items = unit_rows(rng.normal(size=(20, 10)))
        ranking = online.rank(items, payoffs)
        tried = int(rng.integers(1, len(ranking) + 1))
        outcome = Outcome(tried, bool(rng.random() < 0.5))
        online.learn(ranking, outcome)
        rows.append(record(t, ranking, outcome, payoffs, items=items))
    return online, rows


def logs(folder: Path, count: int) -> tuple[bytes, list[Path]]:
    """The state after learning online, and its log as files."""
    online, rows = lived(count)
    played = [{name: value for name, value in row.items() if name != "items"} for row in rows]
    paths = []
    for what, log in (("played", played), ("candidates", rows)):
        for ending in ("parquet", "csv", "jsonl"):
            paths.append(folder / f"{what}.{ending}")
            write(paths[-1], log)
    return online.to_bytes(), paths


def learned(path: Path) -> tuple[float, bytes]:
    """The seconds that a warm start takes, and the state after it."""
    policy, start = fresh(), time.perf_counter()
    learn_from(policy, History(path))
    return time.perf_counter() - start, policy.to_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20_000, help="cascades")
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as folder:
        state, paths = logs(Path(folder), count)
        for path in paths:
            runs = [learned(path) for _ in range(3)]
            speed = 60.0 * count / min(seconds for seconds, _ in runs)
            equal = all(found == state for _, found in runs)
            print(f"{path.name:20} {speed:10,.0f} cascades a minute, the same state: {equal}")


if __name__ == "__main__":
    main()
