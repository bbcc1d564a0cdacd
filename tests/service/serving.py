"""Models, rounds, outcomes, a clock and servers for the tests of the service."""

import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import httpx
import numpy as np
import pytest

from longrank.service import messages
from longrank.service.app import build
from longrank.service.engine.apply import replay
from longrank.service.engine.engine import Engine
from longrank.service.engine.model import Model
from longrank.service.export import spooled
from longrank.service.http.limits import Limits
from longrank.service.server import make_server
from longrank.service.store.sqlite import SqliteStore
from longrank.service.store.store import Store

DIM = 3
ADMIN = "the-administrators-key-of-the-tests"
MODEL = {"policy": "ind", "dim": DIM, "max_budget": 5}
PATIENT = dict.fromkeys(("header_timeout", "body_timeout", "idle_timeout"), 600.0)
HELD: list[socket.socket] = []  # one for each port that was given out


class Clock:
    """A clock that stands still until it is told the time."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def asked(name: str | None = None, seed: int = 0, **more) -> messages.DecisionRequest:
    """A round with five candidates."""
    items = np.random.default_rng(seed).uniform(-0.5, 0.5, (5, DIM))
    settings = {
        "ids": [f"c{i}" for i in range(5)],
        "features": items.tolist(),
        "rewards": [1.0, 0.5, 0.25],
        "losses": [0.0, -0.1, -0.2, -0.3],
    }
    return messages.DecisionRequest(id=name, **{**settings, **more})


def told(tried: int = 1, succeeded: bool = True, **more) -> messages.OutcomeRequest:
    return messages.OutcomeRequest(tried=tried, succeeded=succeeded, **more)


def skip(what: str) -> None:
    """Skip a test for which a program is missing; CI must have them all."""
    ending = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
    ending(f"{what} is not installed")


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def make(engine: Engine, name: str, **settings) -> Model:
    """A model of the engine."""
    return engine.create(name, messages.ModelRequest(**MODEL | settings))[0]


def fresh(engine: Engine, name: str = "m") -> Model:
    """A model, replayed from the beginning."""
    row = next(row for row in engine.store.models() if row.name == name)
    return replay(engine.store, row, fresh=True)


def play(engine: Engine, name: str = "m", count: int = 20, **more) -> list:
    """Decide and settle rounds; every third succeeds. Return the decisions."""
    decisions = []
    for i in range(count):
        decisions.append(engine.decide(name, asked(f"d{i}", seed=i, **more)))
        if decisions[-1].sequence:
            engine.settle(name, f"d{i}", told(1, i % 3 == 0))
    return decisions


def follow(engines: list[Engine]) -> None:
    """Let processes on one database apply what all of them have logged."""
    for engine in engines:
        engine.renew()
        engine.follow()
        until(lambda engine=engine: not any(map(engine.learning, engine.models())))


def execute(store: Store, statement: str, *arguments) -> object:
    """Run a statement in the writer of a store, as a fault or another process would."""
    return store.writer.call(lambda session: session.execute(statement, arguments))


def crash(engine: Engine) -> None:
    """Close an engine without a last snapshot."""
    engine.ready = False
    engine.close()


def exported(engine: Engine, name: str, format: str = "parquet") -> bytes:
    """What a model's export holds."""
    with spooled(engine, name, format) as file:
        return file.read()


def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    """Look again until it is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come about in time")
        time.sleep(0.005)


def until_ready(client) -> None:
    until(lambda: client.get("/readyz").status_code == 200)


def hold(browser) -> None:
    """Let a page refresh itself no more, once all that is under way is drawn."""
    browser.execute_script("hold()")
    until(lambda: browser.execute_script("return isQuiet()"))
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def free_port() -> int:
    """A port for a server that is started later, and perhaps again.

    Not one that the system gives to others: those for outgoing connections are above 32767. No
    other process of the tests gets it, since this one keeps what has the same number in UDP.
    """
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        held = socket.socket(type=socket.SOCK_DGRAM)
        with socket.socket() as probe, suppress(OSError):
            held.bind(("127.0.0.1", port))
            probe.bind(("127.0.0.1", port))
            HELD.append(held)
            return port
        held.close()
    raise OSError("no port is free")


@contextmanager
def served(app, **limits) -> Iterator[str]:
    """The address of an application that is served in a thread as the service's is."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = make_server(app, Limits(**PATIENT | limits))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@contextmanager
def service(path, *, clock=None, auth: bool = True, models: tuple[str, ...] = (), **settings):
    """A client of a service over a file, as the administrator, with models of arrays."""
    limits = {name: settings.pop(name) for name in vars(Limits()) if name in settings}
    engine = Engine(SqliteStore(path), clock=clock)
    admin = ADMIN if auth else None
    app = build(engine, admin=admin, auth=auth, limit=Limits(**limits), **settings)
    headers = bearer(ADMIN) if auth else {}
    with (
        served(app, **limits) as url,
        httpx.Client(base_url=url, headers=headers, timeout=120.0) as client,
    ):
        client.engine = engine
        until_ready(client)
        for name in models:
            make(engine, name)
        yield client
