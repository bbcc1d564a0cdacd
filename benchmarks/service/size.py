"""What size costs: large states, many models, long logs.

python benchmarks/service/size.py [--decisions 100000] [--models 500]

With PostgreSQL: the write-ahead log for 100 outcomes of a model of 1,000 features, and the
transactions a second of models that nobody uses. With SQLite: the longest that a decision waits
while old ones are dropped, and the memory that an export takes.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psycopg

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "service"))

from cluster import Cluster, binaries
from serving import Clock, asked, make, told, until

from longrank.service import messages
from longrank.service.engine.engine import Engine
from longrank.service.export import spooled
from longrank.service.store.postgres import PostgresStore
from longrank.service.store.records import Draft
from longrank.service.store.sqlite import SqliteStore
from longrank.service.upkeep import Upkeep

DIM, OUTCOMES, SECONDS = 1000, 100, 10.0


def large_state(cluster: Cluster) -> None:
    """Two processes, an outcome a tick."""
    engines = [Engine(PostgresStore(cluster.url())).start() for _ in range(2)]
    request = messages.ModelRequest(dim=DIM, policy="c-ucb1", max_budget=1)
    engines[0].create("large", request)
    rng = np.random.default_rng(0)
    before = number(cluster, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")
    for i in range(OUTCOMES):
        row = rng.normal(0.0, 0.5 / DIM**0.5, (1, DIM)).tolist()
        decision = messages.DecisionRequest(id=f"d{i}", ids=["a"], features=row)
        engines[0].decide("large", decision)
        engines[0].settle("large", f"d{i}", told())
        for engine in engines:
            engine.renew()
            engine.follow()
    # on a busy machine a thread of its own may still be learning
    until(lambda: all(engine.model("large").version == OUTCOMES for engine in engines))
    after = number(cluster, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")
    print(f"{OUTCOMES} outcomes of {DIM} features: {(after - before) / 1e6:.1f} MB of WAL")
    engines[0].delete("large")
    for engine in engines:
        engine.close()


def idle_models(cluster: Cluster, count: int) -> None:
    """Transactions a second of a process with many models."""
    with Engine(PostgresStore(cluster.url())) as engine:
        for i in range(count):
            make(engine, f"m{i}")
        upkeep = Upkeep(engine)
        upkeep.start()
        sql = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'"
        time.sleep(SECONDS / 2)
        before = number(cluster, sql)
        time.sleep(SECONDS)
        after = number(cluster, sql)
        upkeep.stop()
    print(f"{count} idle models: {(after - before) / SECONDS:.0f} transactions a second")


def number(cluster: Cluster, sql: str) -> float:
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        return float(connection.execute(sql).fetchone()[0])


def long_log(folder: Path, count: int) -> None:
    """Export and drop many decisions, while somebody decides."""
    clock = Clock()
    with Engine(SqliteStore(folder / "d.db"), clock=clock) as engine:
        engine.store.writer.max_queued = 10**9
        model = make(engine, "m")
        engine.decide("m", asked("first", ttl=10.0))
        body = engine.store.find(model.number, "first")[0].body
        for start in range(0, count, 10_000):
            drafts = (
                Draft(model.number, 0, f"d{start + i}", clock.now, clock.now + 10.0, body)
                for i in range(min(10_000, count - start))
            )
            for future in [engine.store.writer.append(draft) for draft in drafts]:
                future.result()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with spooled(engine, "m", "parquet") as file:
            size = file.seek(0, 2)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"export of {count:,}: {size / 1e6:.0f} MB, {grown:.0f} MB more of memory")
        clock.now += 1000.0
        waits, done = [], threading.Event()

        def decide() -> None:
            while not done.is_set():
                started = time.perf_counter()
                engine.decide("m", asked(f"w{len(waits)}"))
                waits.append(time.perf_counter() - started)

        thread = threading.Thread(target=decide)
        thread.start()
        started = time.perf_counter()
        dropped = engine.drop("m", 500.0)
        seconds = time.perf_counter() - started
        done.set()
        thread.join()
        print(
            f"drop of {dropped:,}: {seconds:.1f} s; meanwhile {len(waits)} decisions, the longest "
            f"{1000 * max(waits):.0f} ms, the median {1000 * float(np.median(waits)):.1f} ms"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--models", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        long_log(Path(folder), given.decisions)
    cluster = Cluster(binaries())
    try:
        large_state(cluster)
        idle_models(cluster, given.models)
    finally:
        cluster.remove()
