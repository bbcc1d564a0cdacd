"""Count the files and hops of a decision and of an outcome: ``benchmarks/house/hops.py``.

The HTTP application runs in this process over a SQLite store and is called as uvicorn would call
it, after some rounds that are not counted. A profiler in every thread sees each Python function of
longrank as it begins. A *hop* is a call from one file of longrank to another (the first call of a
thread or a callback is a hop from outside); it goes *back* where that file was already left. The
threads that answer are counted, the event loop's and the store's writer's; the one that looks
after snapshots and expiry is not.

With ``--list`` every hop is printed: from which file to which function.

Another version of longrank is measured with its ``src`` on ``PYTHONPATH``.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import json
import pkgutil
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, NamedTuple

import longrank
from longrank.service import Engine, open_store

ROOT = str(Path(longrank.__file__).parent)
KEY = "the-administrators-key-of-the-tracer"
WARM = 30


class Hop(NamedTuple):
    """A call from a file to a function of another one."""

    source: str
    target: str
    function: str


class Tracer:
    """Notes every call from one file of longrank to another, in all threads."""

    def __init__(self) -> None:
        self.hops: list[Hop] = []
        self.frames: set[FrameType] = set()  # a coroutine that goes on is not a call
        self.on = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if not self.on or event != "call" or frame in self.frames:
            return
        target = self._file(frame)
        if target is None or "upkeep" in threading.current_thread().name:
            return
        self.frames.add(frame)
        caller = frame.f_back
        while caller is not None and self._file(caller) is None:
            caller = caller.f_back
        source = "" if caller is None else str(self._file(caller))
        if source != target:
            self.hops.append(Hop(source, target, frame.f_code.co_qualname))

    @staticmethod
    def _file(frame: FrameType) -> str | None:
        name = frame.f_code.co_filename
        return name[len(ROOT) + 1 :] if name.startswith(ROOT) else None

    def take(self) -> list[Hop]:
        """The hops since the last time."""
        taken, self.hops = self.hops, []
        self.frames.clear()
        return taken


def application(engine: Engine) -> Any:
    """The ASGI application over an engine, wherever this version keeps what makes it."""
    import longrank.service

    for found in pkgutil.walk_packages(longrank.service.__path__, "longrank.service."):
        module = importlib.import_module(found.name)
        for made in vars(module).values():
            if isinstance(made, FunctionType) and made.__module__ == module.__name__:
                known = list(inspect.signature(made).parameters)
                if known[:1] == ["engine"] and {"admin", "auth", "show_key"} <= set(known):
                    return made(engine, admin=KEY)
    raise LookupError("no function of longrank.service makes an application from an engine")


async def call(app: Any, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """One request, as a server hands it over."""
    data = b"" if body is None else json.dumps(body).encode()
    headers = [(b"authorization", f"Bearer {KEY}".encode()), (b"content-type", b"application/json")]
    headers.append((b"content-length", str(len(data)).encode()))
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "headers": headers, "client": ("127.0.0.1", 1), "server": ("tracer", 80),
        "state": {},
    }  # fmt: skip
    said: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    await app(scope, receive, send)
    text = b"".join(message.get("body", b"") for message in said)
    return said[0]["status"], json.loads(text) if text else None


async def trace(app: Any, tracer: Tracer) -> dict[str, list[Hop]]:
    """The hops of a decision and of its outcome, in a service that has been in use."""
    await started(lambda: call(app, "GET", "/readyz"))
    await expect(201, call(app, "PUT", "/v1/models/m", {"dim": 3, "max_budget": 3}))
    found: dict[str, list[Hop]] = {}
    for t in range(WARM + 1):
        body = {
            "id": f"d{t}",
            "ids": ["a", "b", "c"],
            "features": [[0.1, 0.2, 0.3 + t / 100], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]],
            "rewards": [1.0, 0.8, 0.6],
            "losses": [0.0, -0.1, -0.2, -0.3],
        }
        outcome = {"tried": 1, "succeeded": t % 3 > 0}
        path = "/v1/models/m/decisions"
        tracer.on = t == WARM
        decision = await expect(201, call(app, "POST", path, body))
        await asyncio.sleep(0.02)  # what the writer still does
        found["decision"] = tracer.take()
        tried = min(1, len(decision["sequence"]))
        outcome = outcome if tried else {"tried": 0, "succeeded": False}
        await expect(200, call(app, "PUT", f"{path}/d{t}/outcome", outcome))
        await asyncio.sleep(0.02)
        found["outcome"] = tracer.take()
    tracer.on = False
    return found


async def expect(status: int, answering: Awaitable[tuple[int, Any]]) -> Any:
    found, answer = await answering
    assert found == status, answer
    return answer


async def started(ready: Callable[[], Awaitable[tuple[int, Any]]]) -> None:
    while (await ready())[0] != 200:
        await asyncio.sleep(0.02)


async def served(path: str, tracer: Tracer) -> dict[str, list[Hop]]:
    app = application(Engine(open_store(path)))
    events: asyncio.Queue[Any] = asyncio.Queue()
    said: asyncio.Queue[Any] = asyncio.Queue()
    living = asyncio.create_task(app({"type": "lifespan"}, events.get, said.put))
    await events.put({"type": "lifespan.startup"})
    await said.get()
    try:
        return await trace(app, tracer)
    finally:
        await events.put({"type": "lifespan.shutdown"})
        await said.get()
        await living


def files(hops: list[Hop]) -> int:
    return len({hop.target for hop in hops})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print every hop")
    listed = parser.parse_args().list
    tracer = Tracer()
    threading.setprofile(tracer)  # before the store starts its writer
    with tempfile.TemporaryDirectory() as folder:
        sys.setprofile(tracer)
        found = asyncio.run(served(f"{folder}/decisions.db", tracer))
        sys.setprofile(None)
    print("| | files | hops | back to a file already left | files of the service | hops to them |")
    print("| --- | --: | --: | --: | --: | --: |")
    for what, hops in found.items():
        inside = [hop for hop in hops if hop.target.startswith("service")]
        numbers = (files(hops), len(hops), len(hops) - files(hops), files(inside), len(inside))
        print(f"| {what} | {' | '.join(map(str, numbers))} |")
    if listed:
        for what, hops in found.items():
            print(f"\n{what}")
            for hop in hops:
                print(f"  {hop.source or '(outside)':<32} {hop.target:<32} {hop.function}")


if __name__ == "__main__":
    main()
