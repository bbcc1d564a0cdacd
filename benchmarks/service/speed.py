"""Speed as ratios in one run: the service on one core, wrk on the other, against a bare ASGI app.

    python benchmarks/service/speed.py [--seconds 5] [--repeats 3] [--folder /somewhere]

The bare app parses the same body into an array and answers: no store, no ranking. The service
ranks, writes to a store with synchronous=FULL and answers after the fsync. As the fsync belongs to
the disk and not to the program, everything is measured twice: in the folder given and in memory.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from servers import ADMIN, bare, call, pinned, round_body, serving

from longrank.service.doctor import syncs
from longrank.service.engine.engine import Engine
from longrank.service.messages import ModelRequest
from longrank.service.store import sql
from longrank.service.store.records import DECISION, Draft
from longrank.service.store.sqlite import SqliteStore
from longrank.service.store.writer import insert

PARTS = ("rate", "median", "p99", "cost")
SCRIPT = """
local body = %s
local prefix, n = "%s", 0
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer %s"
function request()
  n = n + 1
  if %s then
    return wrk.format("PUT", "/v1/models/m/decisions/" .. prefix .. n .. "/outcome", nil,
                      '{"tried":1,"succeeded":true}')
  end
  return wrk.format("POST", "/v1/models/m/decisions", nil,
                    '{"id":"' .. prefix .. n .. '",' .. body:sub(2))
end
function done(summary, latency, requests)
  io.write(string.format("RESULT %%d %%d %%d %%d %%d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), summary.errors.status + summary.errors.timeout))
end
"""


def wrk(
    port: int,
    clients: int,
    seconds: float,
    prefix: str,
    outcome: bool,
    folder: Path,
    core: int | None = 1,
):
    """Requests, requests a second, median and 99th percentile in ms, errors."""
    text = json.dumps(json.dumps(round_body()))
    script = folder / f"load-{port}.lua"
    script.write_text(SCRIPT % (text, prefix, ADMIN, "true" if outcome else "false"))
    command = ["wrk", "-t1", f"-c{clients}", f"-d{max(1, round(seconds))}s", "-s", str(script)]
    run = subprocess.run(
        pinned(core, [*command, f"http://127.0.0.1:{port}"]),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+)", run.stdout)
    assert found, run.stdout + run.stderr
    count, micros, median, high, errors = map(int, found.groups())
    return count, count / micros * 1e6, median / 1000, high / 1000, errors


def used(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(where: Path, seconds: float, repeats: int) -> dict[str, list[float]]:
    """Rate, median and 99th percentile, and processor time per call, one after the other."""
    results: dict[str, list[float]] = {}
    scripts = Path(tempfile.mkdtemp())
    store = str(where / "decisions.db")
    with bare(0) as (yard, yard_pid), serving(store, 0, "--log-level", "warning") as (port, pid):
        settings = {"policy": "ind", "dim": 10, "max_budget": 10}
        assert call(port, "PUT", "/v1/models/m", settings)[0] == 201
        wrk(port, 1, 1, "warm-", False, scripts)
        wrk(yard, 1, 1, "warm-", False, scripts)
        for i in range(repeats):
            for name, target, process, clients, share, prefix in (
                ("bare 16", yard, yard_pid, 16, 1.0, "x"),
                ("decide 16", port, pid, 16, 1.0, f"a{i}-"),
                ("outcome 16", port, pid, 16, 0.2, f"a{i}-"),
                ("bare 1", yard, yard_pid, 1, 0.5, "x"),
                ("decide 1", port, pid, 1, 0.5, f"b{i}-"),
            ):
                before = used(process)
                outcome = name.startswith("outcome")
                count, rate, median, high, errors = wrk(
                    target, clients, share * seconds, prefix, outcome, scripts
                )
                assert errors == 0, (name, errors)
                cost = 1e6 * (used(process) - before) / count
                for part, value in zip(PARTS, (rate, median, high, cost), strict=True):
                    results.setdefault(f"{name} {part}", []).append(value)
    shutil.rmtree(scripts)
    return results


def commit(where: Path) -> float:
    """Seconds for the commit of one decision, when the write-ahead log has its full size."""
    store = SqliteStore(where / "commits.db")
    model = Engine(store).start().create("m", ModelRequest(dim=10))[0].number
    session = store.connect(write=True)
    times = []
    for i in range(4000):
        draft = Draft(model, DECISION, f"d{i}", time.time(), time.time() + 86_400, bytes(1400))
        started = time.perf_counter()
        session.execute(sql.BEGIN)
        insert(session, [draft])
        session.execute("COMMIT")
        times.append(time.perf_counter() - started)
    session.close()
    store.close()
    return statistics.median(times[-1000:])


def show(found: dict[str, list[float]]) -> None:
    """Medians, and medians of the ratios of neighbouring runs."""
    for name in ("bare 16", "decide 16", "outcome 16", "bare 1", "decide 1"):
        rate, median, high, cost = (statistics.median(found[f"{name} {part}"]) for part in PARTS)
        print(
            f"  {name:<11}{rate:>7.0f}/s  median {median:>6.2f} ms  p99 {high:>7.2f} ms  "
            f"processor {cost:>4.0f} us a call"
        )
    for text, one, other in (
        ("decisions / bare, 16 clients", "decide 16 rate", "bare 16 rate"),
        ("the same by processor time", "bare 16 cost", "decide 16 cost"),
        ("median / bare, 1 client", "decide 1 median", "bare 1 median"),
        ("outcomes / decisions", "outcome 16 rate", "decide 16 rate"),
    ):
        ratios = [a / b for a, b in zip(found[one], found[other], strict=True)]
        shown = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"  {text:<29}{statistics.median(ratios):.2f}  ({shown})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    for title, parent in (("disk", options.folder), ("memory", Path("/dev/shm"))):
        where = Path(tempfile.mkdtemp(prefix="longrank-", dir=parent))
        try:
            sync, alone = 1000 * statistics.median(syncs(where)), 1000 * commit(where)
            load = os.getloadavg()[0]
            print(f"\n{title}: fsync {sync:.2f} ms, a commit {alone:.2f} ms, load {load:.1f}")
            show(measure(where, options.seconds, options.repeats))
        finally:
            shutil.rmtree(where)


if __name__ == "__main__":
    main()
