"""A load whose every acknowledgement is noted, and the check that no power cut loses one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from power import Disk, Journal
from serving import DIM, asked, told

from longrank.service import messages
from longrank.service.engine.apply import replay
from longrank.service.engine.engine import Engine
from longrank.service.store.records import DECISION, OUTCOME
from longrank.service.store.sqlite import SqliteStore


def record(journal: Journal, path: Path, rounds: int, clients: int, seed: int) -> None:
    """Run several clients against a store on this VFS; note what was acknowledged, and when."""
    store = SqliteStore(path, vfs=journal.name)
    with Engine(store, snapshot_every=20) as engine:
        engine.create("m", messages.ModelRequest(dim=DIM, policy="ind", max_budget=5))
        journal.note("ack", ("model", "m"))

        def client(number: int) -> None:
            rng = np.random.default_rng([seed, number])
            for i in range(rounds):
                name = f"d{number}-{i}"
                engine.decide("m", asked(name, seed=i))
                journal.note("ack", (DECISION, name))
                if rng.random() < 0.8:
                    tried = int(rng.integers(0, 2))
                    engine.settle("m", name, told(tried, bool(tried and rng.random() < 0.5)))
                    journal.note("ack", (OUTCOME, name))

        threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        engine.save(engine.model("m"))


def check(folder: Path, path: Path, acknowledged: list, *, whole: bool) -> None:
    """Open what is left; all that was acknowledged must be there, and nothing damaged."""
    store = SqliteStore(path)
    try:
        store.verify()
        rows = {row.name: row for row in store.models()}
        if ("model", "m") not in acknowledged:
            return
        row = rows["m"]
        there, after = set(), 0
        while entries := store.after(row.model, after):
            there |= {(entry.kind, entry.id) for entry in entries}
            after = entries[-1].seq
        lost = [one for one in acknowledged if one[0] != "model" and one not in there]
        assert not lost, f"{lost} of {folder} were acknowledged and are lost"
        if whole:
            model, fresh = replay(store, row), replay(store, row, fresh=True)
            assert model.snapshot() == fresh.snapshot()
            outcomes = sum(kind == OUTCOME for kind, _ in there)
            assert model.stats.outcomes == outcomes
    finally:
        store.close()


def cuts(journal: Journal, points: int, rng: np.random.Generator) -> Iterator[Disk]:
    """Stop at random steps of the journal, in order, some of them several times."""
    stops = np.sort(rng.integers(1, len(journal.steps) + 1, points))
    disk, at = Disk(), 0
    for stop in stops:
        for step in journal.steps[at:stop]:
            disk.follow(step)
        at = int(stop)
        yield disk
