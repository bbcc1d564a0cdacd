"""Attacks on a service, one after the other, and what a small model notices of each.

    python benchmarks/service/hostile.py [--seconds 5] [--only heads,bodies]

A process of its own makes small decisions and asks /healthz, one after the other, first alone and
then beside each attack. Everything happens on loopback. To compare, run it with another version of
longrank installed; what a version does not survive shows as failures.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import http.client
import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from servers import ADMIN, call, free_port, launch, round_body, wait_ready

TIMEOUT = 30.0
Attack = Callable[[int, threading.Event], None]


# what a small model notices


def probe(port: int, seconds: float) -> None:
    """Print the latencies in ms of small decisions and of /healthz, and the number of failures."""
    body = json.dumps(round_body(10)).encode()
    headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
    wire = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    found: dict[str, list[float]] = {"decide": [], "health": []}
    failures, deadline = 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        for name, method, path, data in (
            ("decide", "POST", "/v1/models/small/decisions", body),
            ("health", "GET", "/healthz", None),
        ):
            started = time.perf_counter()
            try:
                wire.request(method, path, data, headers)
                answer = wire.getresponse()
                answer.read()
                failures += answer.status >= 300
            except (OSError, http.client.HTTPException):
                failures += 1
                wire.close()
            found[name].append(1000.0 * (time.perf_counter() - started))
    print(json.dumps({**found, "failures": failures}))


def watch(port: int, seconds: float) -> dict:
    """Run the probe in a process of its own."""
    command = [sys.executable, __file__, "--probe", str(port), "--seconds", str(seconds)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


# attacks


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)


def _post(port: int, model: str, body: dict, stop: threading.Event) -> None:
    """Ask for the same decision again and again, on two connections."""
    data = json.dumps(body).encode()

    def ask() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                wire = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
                headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
                wire.request("POST", f"/v1/models/{model}/decisions", data, headers)
                wire.getresponse().read()
                wire.close()

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def draws(port: int, stop: threading.Event, budget: int = 1000) -> None:
    """Plackett-Luce with 1,000 candidates, a budget of 1,000, and prices."""
    items = np.full((1000, 1), 0.5, "<f4")
    body = {
        "ids": [f"c{i}" for i in range(1000)],
        "features": {"data": base64.b64encode(items.tobytes()).decode(), "dtype": "float32"},
        "costs": [0.01] * 1000,
        "values": [0.5] * 1000,
        "budget": budget,
    }
    _post(port, "draws", body, stop)


def fewer_draws(port: int, stop: threading.Event) -> None:
    """The same with a budget of 250, which is within the limit of work."""
    draws(port, stop, 250)


def crowds(port: int, stop: threading.Event) -> None:
    """100,000 candidates of 10 numbers, packed."""
    items = np.random.default_rng(0).uniform(-0.3, 0.3, (100_000, 10)).astype("<f4")
    body = {
        "ids": [f"c{i}" for i in range(len(items))],
        "features": {"data": base64.b64encode(items.tobytes()).decode(), "dtype": "float32"},
    }
    _post(port, "crowds", body, stop)


def names(port: int, stop: threading.Event) -> None:
    """100,000 candidates with an id and a field."""
    candidates = [{"id": f"c{i}", "region": f"r{i % 50}"} for i in range(100_000)]
    _post(port, "names", {"candidates": candidates, "context": {"country": "DE"}}, stop)


def heads(port: int, stop: threading.Event) -> None:
    """Heads of which a single line has 67 MB."""
    while not stop.is_set():
        with contextlib.suppress(OSError), _connect(port) as wire:
            wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ")
            for _ in range(1024):
                wire.sendall(b"x" * 65536)


def bodies(port: int, stop: threading.Event) -> None:
    """513 bodies that are never finished, with the key of another model."""
    wires, key = [], call(port, "POST", "/v1/models/draws/keys")[1]["key"]
    head = f"POST /v1/models/draws/decisions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n"
    with contextlib.suppress(OSError):
        for _ in range(513):
            wires.append(_connect(port))
            wires[-1].sendall(head.encode())
    stop.wait()
    for wire in wires:
        wire.close()


def idle(port: int, stop: threading.Event) -> None:
    """1,100 connections that send nothing."""
    wires = []
    with contextlib.suppress(OSError):
        wires += (_connect(port) for _ in range(1100))
    stop.wait()
    for wire in wires:
        wire.close()


def keys(port: int, stop: threading.Event) -> None:
    """Unknown keys, as fast as one client can."""
    i = 0
    while not stop.is_set():
        with contextlib.suppress(OSError, http.client.HTTPException):
            wire = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
            while not stop.is_set():
                i += 1
                wire.request("GET", "/v1/models", headers={"Authorization": f"Bearer lr_{i}"})
                wire.getresponse().read()


ATTACKS: tuple[Attack, ...] = (draws, fewer_draws, crowds, names, heads, bodies, idle, keys)


# the table


@contextlib.contextmanager
def attacking(attack: Attack, port: int) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=attack, args=(port, stop))
    thread.start()
    time.sleep(1.0)
    try:
        yield
    finally:
        stop.set()
        thread.join()


def memory(pid: int) -> float:
    """Return the peak of a process's memory in MB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) / 1024


def row(name: str, found: dict, before: float | None, grown: float) -> float:
    high = sorted(found["decide"])[int(0.99 * (len(found["decide"]) - 1))]
    median = statistics.median(found["decide"])
    ratio = "" if before is None else f"{high / before:.1f}"
    print(
        f"| {name} | {len(found['decide'])} | {median:.1f} | {high:.1f} | {ratio} | "
        f"{max(found['health']):.0f} | {found['failures']} | {grown:.0f} |",
        flush=True,
    )
    return high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--probe", type=int)
    options = parser.parse_args()
    if options.probe:
        probe(options.probe, options.seconds)
        return
    chosen = [one for one in ATTACKS if not options.only or one.__name__ in options.only.split(",")]
    print("| attack | decisions | median ms | p99 ms | to idle | /healthz max ms | failures | MB |")
    print("|---|---|---|---|---|---|---|---|")
    for attack in chosen:
        folder = Path(tempfile.mkdtemp(prefix="longrank-"))
        port = free_port()
        process = launch(str(folder / "decisions.db"), port, None, "--log-level", "error")
        try:
            wait_ready(port, seconds=300.0)
            for model, settings in (
                ("small", {"policy": "ind", "dim": 10, "max_budget": 10}),
                ("draws", {"policy": "plackett-luce", "dim": 1, "max_budget": 1000}),
                ("crowds", {"policy": "ind", "dim": 10, "max_budget": 10}),
                ("names", {}),
            ):
                assert call(port, "PUT", f"/v1/models/{model}", settings, 120.0)[0] == 201
                few = round_body(3, settings.get("dim", 1), 2)
                if model == "names":
                    few = {"candidates": ["a", "b"]}
                assert call(port, "POST", f"/v1/models/{model}/decisions", few, 300.0)[0] == 201
            watch(port, 2.0)
            before, peak = (
                row("(none)", watch(port, options.seconds), None, 0.0),
                memory(process.pid),
            )
            with attacking(attack, port):
                found = watch(port, options.seconds)
            row(f"`{attack.__name__}`", found, before, memory(process.pid) - peak)
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
