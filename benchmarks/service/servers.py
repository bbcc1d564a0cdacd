"""Real servers for the scripts: started, waited for, stopped by their own process id."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np

ADMIN = "an-administrators-key-for-benchmarks"
HERE = Path(__file__).parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def pinned(core: int | None, command: list[str]) -> list[str]:
    return command if core is None else ["taskset", "-c", str(core), *command]


def launch(store: str, port: int, core: int | None = None, *more: str) -> subprocess.Popen[bytes]:
    main = "from longrank import cli; cli.main()"
    command = [sys.executable, "-c", main, "serve", "--port", str(port), "--store", store]
    return subprocess.Popen(
        pinned(core, [*command, *more]),
        env={**os.environ, "LONGRANK_ADMIN_KEY": ADMIN},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def call(port: int, method: str, path: str, body: object = None, timeout: float = 10.0):
    """Status and answer of one call."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        None if body is None else msgspec.json.encode(body),
        {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"},
        method=method,
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            data = answer.read()
            return answer.status, msgspec.json.decode(data) if data else None
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def wait_ready(port: int, path: str = "/readyz", seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if call(port, "GET", path)[0] < 500:
                return
        except OSError:
            pass
        time.sleep(0.02)
    raise TimeoutError(f"nothing answers on port {port}")


@contextmanager
def serving(store: str, core: int | None = None, *more: str) -> Iterator[tuple[int, int]]:
    """A server's port and process id."""
    port = free_port()
    process = launch(store, port, core, *more)
    try:
        wait_ready(port)
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@contextmanager
def bare(core: int | None = None) -> Iterator[tuple[int, int]]:
    """The yardstick's port and process id."""
    port = free_port()
    command = pinned(core, [sys.executable, str(HERE / "bare.py"), str(port)])
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(30)


def round_body(candidates: int = 100, dim: int = 10, budget: int = 10, seed: int = 0) -> dict:
    """The body of a decision."""
    items = np.random.default_rng(seed).uniform(-0.3, 0.3, (candidates, dim))
    return {
        "ids": [f"route-{i}" for i in range(candidates)],
        "features": items.tolist(),
        "rewards": (0.5 ** np.arange(budget)).tolist(),
        "losses": (0.8 * 0.5 ** np.arange(budget + 1) - 1.0).tolist(),
    }
