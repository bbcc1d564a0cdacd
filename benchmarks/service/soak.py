"""Soak: at half the peak for some minutes; memory, latency and errors must stay flat.

python benchmarks/service/soak.py [--minutes 10] [--folder .]
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import httpx
import msgspec
from servers import ADMIN, call, round_body, serving

CLIENTS = 16
HEADERS = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}


def memory(pid: int) -> float:
    """Megabytes that a process holds."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


class Load:
    """Decisions, each followed by its outcome, at a given pace (None: as fast as it goes)."""

    def __init__(self, port: int, prefix: str, pace: float | None) -> None:
        self.url, self.prefix, self.pace = f"http://127.0.0.1:{port}", prefix, pace
        self.body = msgspec.json.encode(round_body())[1:]
        self.outcome = b'{"tried":1,"succeeded":true}'
        self.seconds: list[float] = []
        self.errors = 0
        self.next = 0

    async def run(self, duration: float) -> None:
        limits = httpx.Limits(max_connections=CLIENTS)
        async with httpx.AsyncClient(base_url=self.url, headers=HEADERS, limits=limits) as client:
            self.start = time.perf_counter()
            await asyncio.gather(*(self._client(client, duration) for _ in range(CLIENTS)))

    async def _client(self, client: httpx.AsyncClient, duration: float) -> None:
        while (now := time.perf_counter() - self.start) < duration:
            number, self.next = self.next, self.next + 1
            if self.pace is not None:
                await asyncio.sleep(max(0.0, number * 2 / self.pace - now))
            name = f"{self.prefix}{number}"
            path = f"/v1/models/m/decisions/{name}/outcome"
            body = b'{"id":"%s",' % name.encode() + self.body
            await self._one(client.post("/v1/models/m/decisions", content=body), 201)
            await self._one(client.put(path, content=self.outcome), 200)

    async def _one(self, request, good: int) -> None:
        started = time.perf_counter()
        try:
            self.errors += (await request).status_code != good
        except httpx.HTTPError:
            self.errors += 1
        self.seconds.append(time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    where = Path(tempfile.mkdtemp(prefix="longrank-", dir=options.folder))
    try:
        with serving(str(where / "decisions.db"), None, "--log-level", "warning") as (port, pid):
            assert call(port, "PUT", "/v1/models/m", {"policy": "ind", "dim": 10})[0] == 201
            peak = Load(port, "peak-", None)
            asyncio.run(peak.run(10.0))
            pace = len(peak.seconds) / 10.0 / 2
            print(f"peak {2 * pace:.0f} calls a second; soaking at {pace:.0f}")
            parts = 10
            errors = 0
            for part in range(parts):
                load = Load(port, f"s{part}-", pace)
                asyncio.run(load.run(60 * options.minutes / parts))
                errors += load.errors
                taken = sorted(1000 * s for s in load.seconds)
                print(
                    f"  {part + 1:>2}/{parts}: {len(taken):>7} calls, median "
                    f"{statistics.median(taken):.2f} ms, p99 {taken[int(0.99 * len(taken))]:.2f} ms"
                    f", memory {memory(pid):.1f} MB, errors {load.errors}",
                    flush=True,
                )
            print(f"{errors} errors in {options.minutes:g} minutes")
    finally:
        shutil.rmtree(where)


if __name__ == "__main__":
    main()
