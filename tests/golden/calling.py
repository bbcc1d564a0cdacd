"""A service in this process, at a fixed time, over a store that golden files are made from."""

from __future__ import annotations

import asyncio
import lzma
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from longrank.service import Engine, open_store
from longrank.service.app import build

ADMIN = "the-administrators-key-of-the-golden-files"
LIMIT = 120.0  # seconds; for a busy machine
Ask = Callable[..., tuple[int, Any]]


@contextmanager
def serving(where: str, now: float) -> Iterator[tuple[Ask, Engine]]:
    """A function that calls the service, which returns the status and the answer; its engine."""
    engine = Engine(open_store(where), clock=lambda: now)
    app = build(engine, admin=ADMIN)
    with asyncio.Runner() as runner:
        transport = httpx.ASGITransport(app)
        client = httpx.AsyncClient(transport=transport, base_url="http://golden", timeout=LIMIT)
        events: asyncio.Queue[Any] = asyncio.Queue()
        answers: asyncio.Queue[Any] = asyncio.Queue()
        life = runner.get_loop().create_task(app({"type": "lifespan"}, events.get, answers.put))

        async def turn(kind: str) -> None:
            await events.put({"type": f"lifespan.{kind}"})
            assert (await answers.get())["type"] == f"lifespan.{kind}.complete"

        def send(method: str, path: str, **more: Any) -> httpx.Response:
            return runner.run(client.request(method, path, **more))

        def ask(method: str, path: str, body: Any = None, *, key: str = ADMIN) -> tuple[int, Any]:
            headers = {"Authorization": f"Bearer {key}"}
            behind = not engine.store.exclusive and method != "GET" and "/decisions" in path
            before = applied(path) if behind else 0
            answer = send(method, path, json=body, headers=headers)
            if behind and answer.is_success:  # other processes may write: it is applied later
                until(lambda: applied(path) > before)
            json = answer.headers.get("content-type", "").startswith("application/json")
            return answer.status_code, answer.json() if json else answer.content

        def applied(path: str) -> int:
            """How many entries of the log the model of a call has followed."""
            stats = ask("GET", "/".join(path.split("/")[:4]))[1]["stats"]
            return int(stats["decisions"] + stats["outcomes"])

        try:
            runner.run(turn("startup"))
            until(lambda: send("GET", "/readyz").status_code == 200)
            yield ask, engine
        finally:
            runner.run(client.aclose())
            runner.run(turn("shutdown"))
            life.cancel()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come about in time")
        time.sleep(0.005)


def unpack(folder: Path, target: Path) -> Path:
    """Put a golden SQLite store where it can be opened; returns its path."""
    for file in folder.glob("decisions.db*.xz"):
        (target / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
    return target / "decisions.db"
