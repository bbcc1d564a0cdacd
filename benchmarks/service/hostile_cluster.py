"""Three processes on one PostgreSQL, and everything that can happen to one of them.

python benchmarks/service/hostile_cluster.py [--minutes 60] [--pause 30] [--seed 0]

One process at a time is killed, stopped (SIGSTOP) for some seconds, or cut off from the database
(the third one has a network namespace of its own; this needs root); all sessions are terminated;
the database is restarted. Clients of all three go on meanwhile. In the end all that was
acknowledged must be there, learned once, the states equal to a replay, and no write of a process
that was left alone may have waited longer than 5 seconds because of another one.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psycopg

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "service"))

import http.client

import killing
import process
from cluster import Cluster, binaries
from process import MAIN, Server, Wire
from serving import ADMIN, free_port, until

from longrank.service.engine.engine import Engine
from longrank.service.store.postgres import PostgresStore

MAX_COST = 5.0  # seconds
SLOW = 0.1  # seconds of a write that are worth remembering
PAUSE = 0.1  # seconds between two writes of a client
RECOVERY = 5.0  # seconds after which a process that was disturbed counts as left alone again
SPACE = f"longrank-{os.getpid()}"
DATABASE, CLIENTS = "10.213.7", "10.214.7"  # networks of the third process: to each side


class Cut(Server):
    """A server in a network namespace, which can be cut off from the database."""

    def start(self) -> Cut:
        command = ["ip", "netns", "exec", SPACE, sys.executable, "-c", MAIN, "serve"]
        command += ["--host", f"{CLIENTS}.2", "--port", str(self.port), "--store", self.store]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *self.more],
                env={**os.environ, "LONGRANK_ADMIN_KEY": ADMIN},
                stdout=log,
                stderr=log,
            )
        return self


class Load(killing.Load):
    """Clients that remember which writes took long, and at which process.

    They pause after each write, so that an hour of them can be checked in minutes.
    """

    def __init__(self, *args: object, **more: int) -> None:
        super().__init__(*args, **more)
        self.warm = math.inf  # writes that began before are not counted: some had to compile
        self.slow: list[tuple[float, float, int]] = []  # from, until, port

    def _until_answered(self, wire, method, path, body, good):
        started = time.monotonic()
        answer = super()._until_answered(wire, method, path, body, good)
        ended = time.monotonic()
        if answer is not None and started > self.warm and ended - started > SLOW:
            self.slow.append((started, ended, wire.port))
        self._stopping.wait(PAUSE)
        return answer


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


@contextmanager
def network() -> Iterator[None]:
    """A namespace with one link to the database and one to the clients."""
    ip("netns", "add", SPACE)
    try:
        for link, net in (("lrdb", DATABASE), ("lrcl", CLIENTS)):
            ip("link", "add", f"{link}0", "type", "veth", "peer", "name", f"{link}1")
            ip("link", "set", f"{link}1", "netns", SPACE)
            ip("addr", "add", f"{net}.1/24", "dev", f"{link}0")
            ip("link", "set", f"{link}0", "up")
            ip("netns", "exec", SPACE, "ip", "addr", "add", f"{net}.2/24", "dev", f"{link}1")
            ip("netns", "exec", SPACE, "ip", "link", "set", f"{link}1", "up")
        yield
    finally:
        ip("netns", "del", SPACE)


def listen(cluster: Cluster) -> None:
    """Let the namespace reach the database."""
    with (cluster.data / "postgresql.conf").open("a") as file:
        file.write(f"listen_addresses = '{DATABASE}.1'\nport = 5499\nmax_connections = 200\n")
    with (cluster.data / "pg_hba.conf").open("a") as file:
        file.write(f"host all all {DATABASE}.0/24 trust\n")
    cluster.stop("fast")
    cluster.start()


class Trouble:
    """What happens to the processes, and when each of them was disturbed."""

    def __init__(self, cluster: Cluster, servers: list[Server], pause: float, seed: int) -> None:
        self._cluster, self._servers, self._pause = cluster, servers, pause
        self._rng = np.random.default_rng(seed)
        self.disturbed: dict[int, list[tuple[float, float]]] = {s.port: [] for s in servers}
        self.count: Counter[str] = Counter()

    def once(self) -> str:
        """One of everything that can happen."""
        kinds: list[Callable[[], list[int]]] = [
            self.kill, self.stop, self.stop, self.terminate, self.restart, self.cut,
        ]  # fmt: skip
        kind = kinds[self._rng.integers(len(kinds))]
        started = time.monotonic()
        for port in kind():
            self.disturbed[port].append((started, time.monotonic() + RECOVERY))
        self.count[kind.__name__] += 1
        return kind.__name__

    def _one(self) -> Server:
        return self._servers[self._rng.integers(len(self._servers))]

    def kill(self) -> list[int]:
        server = self._one()
        server.kill()
        ready(server.start())
        return [server.port]

    def stop(self) -> list[int]:
        server = self._one()
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(self._pause)
        server.process.send_signal(signal.SIGCONT)
        ready(server)
        return [server.port]

    def cut(self) -> list[int]:
        ip("link", "set", "lrdb0", "down")
        time.sleep(self._pause)
        ip("link", "set", "lrdb0", "up")
        ready(self._servers[-1])
        return [self._servers[-1].port]

    def terminate(self) -> list[int]:
        sql = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'longrank'"
        )
        with psycopg.connect(address(self._cluster), autocommit=True) as connection:
            connection.execute(sql)
        return list(self.disturbed)

    def restart(self) -> list[int]:
        self._cluster.stop("immediate")
        self._cluster.start()
        for server in self._servers:
            ready(server)
        return list(self.disturbed)

    def worst(self, load: Load) -> float:
        """The longest that a write took at a process that was left alone."""
        alone = (
            ended - began
            for began, ended, port in load.slow
            if not any(a < ended and began < b for a, b in self.disturbed[port])
        )
        return max(alone, default=0.0)


def ready(server: Server) -> None:
    until(server._answers, 300.0)


def address(cluster: Cluster) -> str:
    return f"{cluster.url()}&port=5499"


def run(minutes: float, pause: float, seed: int) -> None:
    cluster = Cluster(binaries())
    log = Path(tempfile.gettempdir()) / f"{SPACE}.log"
    print(f"the servers log to {log}")
    far = free_port()
    options = ("--snapshot-every", "200", "--log-level", "warning")
    servers: list[Server] = [
        Server(address(cluster), free_port(), *options, log=log) for _ in range(2)
    ]
    remote = f"postgresql://longrank@{DATABASE}.1:5499/postgres"
    servers.append(Cut(remote, far, *options, log=log))

    def connect(wire: Wire, port: int) -> None:
        host = f"{CLIENTS}.2" if port == far else "127.0.0.1"
        wire.port = port
        wire._wire = http.client.HTTPConnection(host, port, timeout=20)

    process.Wire.__init__ = connect  # the third process has an address of its own
    try:
        with network():
            listen(cluster)
            for server in servers:
                server.start()
            for server in servers:
                ready(server)
            killing.make_model(servers[0].port)
            trouble = Trouble(cluster, servers, pause, seed)
            started = time.monotonic()
            with Load([server.port for server in servers], clients=6) as load:
                load.more(300, 300.0)
                load.warm = time.monotonic()
                while time.monotonic() - started < 60.0 * minutes:
                    load.more(50, 120.0)
                    what = trouble.once()
                    print(
                        f"{time.monotonic() - started:6.0f} s  {what:9}  {load.acknowledged:7} "
                        f"acknowledged, worst {trouble.worst(load):.1f} s",
                        flush=True,
                    )
                load.more(50, 120.0)
            agree(servers)
            for server in servers:
                server.kill()
            with Engine(PostgresStore(address(cluster))) as engine:
                engine.follow()
                killing.check(engine, load)
                learned = engine.model("m").stats.learned
    finally:
        for server in servers:
            if server.process is not None:
                server.process.send_signal(signal.SIGCONT)
                server.kill()
        cluster.remove()
    worst = trouble.worst(load)
    print(
        f"{minutes:g} minutes, {dict(trouble.count)}: {len(load.decisions)} decisions and "
        f"{len(load.outcomes)} outcomes acknowledged, 0 lost; {learned} learned, each once; states "
        f"are those of a replay; the longest write at a process that was left alone took "
        f"{worst:.1f} s"
    )
    if worst > MAX_COST:
        raise SystemExit(1)


def agree(servers: list[Server]) -> None:
    """Wait until all processes have the same state."""

    def same() -> bool:
        states = set()
        for server in servers:
            status, model = process.once(server.port, "GET", "/v1/models/m")
            states.add(model["state_hash"] if status == 200 else server.port)
        return len(states) == 1

    until(same, 60.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--pause", type=float, default=30.0, help="Seconds of a stop or a cut.")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    run(given.minutes, given.pause, given.seed)
