"""Load from several clients while a server is killed; and what must be there afterwards."""

from __future__ import annotations

import io
import math
import threading
from contextlib import closing

import msgspec
import numpy as np
import pyarrow.parquet as pq
from process import Server, Wire, once
from serving import DIM, asked, exported, until

from longrank.service.engine.apply import replay
from longrank.service.engine.engine import Engine
from longrank.service.store.records import OUTCOME

BASE = "/v1/models/m"


class Load:
    """Clients that go on through every failure, and remember what was acknowledged."""

    def __init__(self, ports: list[int], clients: int = 6) -> None:
        self.decisions: dict[str, dict] = {}
        self.outcomes: dict[str, dict] = {}
        self.refused: list[tuple[int, object]] = []
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._client, args=(ports[i % len(ports)], i))
            for i in range(clients)
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    @property
    def acknowledged(self) -> int:
        return len(self.decisions) + len(self.outcomes)

    def more(self, count: int, seconds: float = 60.0) -> None:
        """Wait until so many more are acknowledged."""
        goal = self.acknowledged + count
        until(lambda: self.acknowledged >= goal, seconds)

    def _client(self, port: int, number: int) -> None:
        with closing(Wire(port)) as wire:
            self._go_on(wire, number)

    def _go_on(self, wire: Wire, number: int) -> None:
        rng = np.random.default_rng(number)
        i = 0
        while not self._stopping.is_set():
            name = f"d{number}-{i}"
            body = {**msgspec.to_builtins(asked(seed=i % 50)), "id": name}
            if i % 4:  # what candidates cost and are worth, in cents
                body["costs"] = np.round(rng.uniform(0.0, 0.1, 5), 2).tolist()
                body["values"] = np.round(rng.uniform(0.0, 2.0, 5), 2).tolist()
            decided = self._until_answered(wire, "POST", f"{BASE}/decisions", body, 201)
            if decided is None:
                return
            self.decisions[name] = decided
            i += 1
            if rng.random() < 0.8:
                tried = min(int(rng.integers(0, 4)), len(decided["sequence"]))
                told = {"tried": tried, "succeeded": bool(tried and rng.random() < 0.4)}
                if i % 3:  # what the tries really cost
                    told["costs"] = np.round(rng.uniform(0.0, 0.2, tried), 4).tolist()
                path = f"{BASE}/decisions/{name}/outcome"
                settled = self._until_answered(wire, "PUT", path, told, 200)
                if settled is None:
                    return
                self.outcomes[name] = settled

    def _until_answered(self, wire, method, path, body, good):
        """The same call with the same id until it is answered; None when it is time to stop."""
        while not self._stopping.is_set():
            try:
                status, answer = wire.call(method, path, body)
            except OSError:
                self._stopping.wait(0.01)
                continue
            if status == good:
                return answer
            if status != 503:
                self.refused.append((status, answer))
                return None
            self._stopping.wait(0.01)
        return None


def make_model(port: int) -> None:
    settings = {"policy": "ind", "dim": DIM, "max_budget": 5}
    status, _ = once(port, "PUT", BASE, settings)
    assert status == 201


def kill_often(server: Server, kills: int, seed: int, told=str) -> Load:
    """Kill a server at random moments under load, and start it again each time."""
    rng = np.random.default_rng(seed)
    server.start().ready()
    make_model(server.port)
    with Load([server.port]) as load:
        for i in range(kills):
            load.more(int(rng.integers(1, 200)))
            server.kill()
            server.start().ready()
            told(f"{i + 1} kills, {load.acknowledged} acknowledged")
        load.more(50)
    server.stop()
    return load


def check(engine: Engine, load: Load) -> None:
    """All that was acknowledged is there, learned once, and the state is that of the log."""
    assert load.refused == []
    row = next(row for row in engine.store.models() if row.name == "m")
    engine.store.verify()
    entries, after = [], 0
    while found := engine.store.after(row.model, after):
        entries += found
        after = found[-1].seq
    names = [(entry.kind, entry.id) for entry in entries]
    assert len(names) == len(set(names))
    for name, answer in load.decisions.items():
        found = msgspec.to_builtins(engine.read("m", name))
        assert {key: found[key] for key in answer} == answer
    for name, answer in load.outcomes.items():
        found = msgspec.to_builtins(engine.read("m", name))["outcome_record"]
        assert {**found, "repeated": answer["repeated"]} == answer
    model, fresh = engine.model("m"), replay(engine.store, row, fresh=True)
    assert model.snapshot() == fresh.snapshot()
    outcomes = [entry.outcome() for entry in entries if entry.kind == OUTCOME]
    assert model.stats.learned == sum(outcome.learn for outcome in outcomes)
    tries = sum(outcome.tried for outcome in outcomes if outcome.learn)
    assert model.policy.learner.updates == tries
    check_sums(engine, load)


def check_sums(engine: Engine, load: Load) -> None:
    """Sums of money are those of the export, and of the answers, to the last bit."""
    shown = engine.describe(engine.model("m")).stats
    rows = pq.read_table(io.BytesIO(exported(engine, "m"))).to_pylist()
    rows = {row["id"]: row for row in rows if row["tried"] is not None}
    for part, total in (("reward", shown.total_reward), ("spent", shown.total_spent)):
        assert math.fsum(row[part] for row in rows.values()) == total
        assert all(rows[name][part] == answer[part] for name, answer in load.outcomes.items())
    assert shown.total_spent > 0.0
