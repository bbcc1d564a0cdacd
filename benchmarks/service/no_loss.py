"""No loss: SIGKILL under load, and power cuts. The tests do the same with smaller numbers.

python benchmarks/service/no_loss.py kills [--count 200] [--folder .]
python benchmarks/service/no_loss.py cuts [--count 20000]
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "service"))

import killing
import power
from process import Server
from serving import free_port

from longrank.service.engine.engine import Engine
from longrank.service.store.sqlite import SqliteStore

PER_RUN = 2000


def kill(count: int, parent: Path, seed: int) -> None:
    """The real server, killed many times on one file."""
    folder = Path(tempfile.mkdtemp(prefix="longrank-", dir=parent))
    path = folder / "decisions.db"
    server = Server(str(path), free_port(), "--snapshot-every", "200", "--log-level", "warning")
    started = time.monotonic()
    try:
        load = killing.kill_often(server, count, seed, told=lambda text: print(text, end="\r"))
        with Engine(SqliteStore(path)) as engine:
            killing.check(engine, load)
            learned = engine.model("m").stats.learned
    finally:
        server.kill()
        shutil.rmtree(folder)
    print(
        f"{count} kills in {time.monotonic() - started:.0f} s: {len(load.decisions)} decisions and "
        f"{len(load.outcomes)} outcomes acknowledged, 0 lost; {learned} learned, each once; the "
        "state is that of a fresh replay"
    )


def cut(count: int, seed: int) -> None:
    """Power cuts at random steps of recorded runs."""
    logging.disable(logging.CRITICAL)
    rng = np.random.default_rng(seed)
    folder = Path(tempfile.mkdtemp(prefix="longrank-", dir="/dev/shm"))
    left = folder / "left"
    left.mkdir()
    done, acknowledged, started = 0, 0, time.monotonic()
    while done < count:
        journal = power.Journal(f"longrank-cuts-{done}")
        points = min(PER_RUN, count - done)
        run = folder / f"run{done}"
        run.mkdir()
        power.record(journal, run / "decisions.db", rounds=20, clients=6, seed=seed + done)
        for i, disk in enumerate(power.cuts(journal, points, rng)):
            disk.cut(rng, left)
            power.check(left, left / "decisions.db", disk.acknowledged, whole=i % 10 == 0)
            acknowledged += len(disk.acknowledged)
        journal.unregister()
        done += points
        print(f"{done} power cuts", end="\r", flush=True)
    shutil.rmtree(folder)
    print(
        f"{done} power cuts in {time.monotonic() - started:.0f} s: 0 lost of {acknowledged} "
        "acknowledged before them, 0 corrupt"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["kills", "cuts"])
    parser.add_argument("--count", type=int)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.what == "kills":
        kill(options.count or 200, options.folder, options.seed)
    else:
        cut(options.count or 20_000, options.seed)


if __name__ == "__main__":
    main()
