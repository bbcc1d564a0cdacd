"""Two processes on one PostgreSQL against one: decisions a second, and processor time of each.

    python benchmarks/service/processes.py [--seconds 10] [--repeats 3]

Both processes run throughout; the load alternates between one of them and both. Each process
applies the whole log, so that the one without load works as well: its share is shown too. By the
clock two need more than two cores, as the database and the clients take theirs; by processor time
the ratio is what two processes could do with a core each.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from servers import call, serving
from speed import used, wrk

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "service"))

from cluster import Cluster, binaries

CLIENTS = 16


def measure(servers: list[tuple[int, int]], seconds: float, prefix: str, folder: Path):
    """Decisions a second of all servers together, and the processor's seconds for each."""
    before = [used(pid) for _, pid in servers]

    def load(port: int):
        return wrk(port, CLIENTS, seconds, f"{prefix}{port}-", False, folder, core=None)

    with ThreadPoolExecutor(len(servers)) as pool:
        found = list(pool.map(load, [port for port, _ in servers]))
    assert all(errors == 0 for *_, errors in found), found
    counts = [count for count, *_ in found]
    spent = [used(pid) - start for (_, pid), start in zip(servers, before, strict=True)]
    rate = sum(each[1] for each in found)
    return rate, 1e6 * sum(spent) / sum(counts), sum(counts)


def run(seconds: float, repeats: int) -> None:
    cluster, folder = Cluster(binaries()), Path(tempfile.mkdtemp())
    results: dict[str, list[tuple[float, float, float]]] = {}
    try:
        with ExitStack() as stack:
            servers = [
                stack.enter_context(serving(cluster.url(), None, "--log-level", "warning"))
                for _ in range(2)
            ]
            settings = {"policy": "ind", "dim": 10, "max_budget": 10}
            assert call(servers[0][0], "PUT", "/v1/models/m", settings, 300.0)[0] == 201
            measure(servers, 2.0, "warm-", folder)
            for i in range(repeats):
                for name, some in (("one", servers[:1]), ("two", servers)):
                    idle = [pid for _, pid in servers if pid not in [pid for _, pid in some]]
                    before = sum(map(used, idle))
                    rate, cost, count = measure(some, seconds, f"{name}{i}-", folder)
                    followed = 1e6 * (sum(map(used, idle)) - before) / count
                    results.setdefault(name, []).append((rate, cost, followed))
    finally:
        cluster.remove()
        shutil.rmtree(folder)
    for name, found in results.items():
        rate, cost, followed = (statistics.median(column) for column in zip(*found, strict=True))
        beside = f", {followed:.0f} us in the process beside it" if followed else ""
        print(f"{name}: {rate:.0f} decisions a second, {cost:.0f} us of processor each{beside}")
    pairs = list(zip(results["one"], results["two"], strict=True))
    clock = [two[0] / one[0] for one, two in pairs]
    cores = [2.0 * one[1] / two[1] for one, two in pairs]
    for text, ratios in (("by the clock", clock), ("by processor time", cores)):
        shown = f"({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"two / one {text}: {statistics.median(ratios):.2f} {shown}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    run(given.seconds, given.repeats)
