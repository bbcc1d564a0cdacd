"""Power cuts: a SQLite VFS that notes what happens, the disks that it may leave, and a load."""

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
from serving import DIM, asked, told

from longrank.service import messages
from longrank.service.engine.apply import replay
from longrank.service.engine.engine import Engine
from longrank.service.store.records import DECISION, OUTCOME
from longrank.service.store.sqlite import SqliteStore

SECTOR = 512


class Journal(apsw.VFS):
    """A VFS that notes every write, truncation, sync and deletion; and fails when told to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps: list[tuple] = []
        self.full = False
        self.broken_sync = False
        self.lock = threading.Lock()
        super().__init__(name, "unix")

    def xOpen(self, name, flags):  # noqa: N802
        return _File(self, name, flags)

    def xDelete(self, name, syncdir):  # noqa: N802
        super().xDelete(name, syncdir)
        self.note("delete", Path(name).name)

    def note(self, *step) -> None:
        with self.lock:
            self.steps.append(step)


class _File(apsw.VFSFile):
    def __init__(self, journal, name, flags) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._journal, self._name = journal, Path(path).name if path else ""
        super().__init__("unix", name, flags)

    def xWrite(self, data, offset):  # noqa: N802
        if self._journal.full:
            raise apsw.FullError("no space left")
        super().xWrite(data, offset)
        self._journal.note("write", self._name, offset, bytes(data))

    def xTruncate(self, size):  # noqa: N802
        super().xTruncate(size)
        self._journal.note("truncate", self._name, size)

    def xSync(self, flags):  # noqa: N802
        if self._journal.broken_sync:
            raise apsw.IOError("fsync failed")
        super().xSync(flags)
        self._journal.note("sync", self._name)


class Disk:
    """Follows a journal step by step; what is not synced yet is kept apart."""

    def __init__(self) -> None:
        self.safe: dict[str, bytearray] = {}
        self.loose: dict[str, list[tuple]] = {}
        self.acknowledged: list = []

    def follow(self, step: tuple) -> None:
        kind = step[0]
        if kind == "ack":
            self.acknowledged.append(step[1])
        elif kind == "sync":
            file = self.safe.setdefault(step[1], bytearray())
            for change in self.loose.pop(step[1], []):
                apply(file, change)
        elif kind == "delete":
            self.safe.pop(step[1], None)
            self.loose.pop(step[1], None)
        else:
            self.loose.setdefault(step[1], []).append(step)

    def cut(self, rng: np.random.Generator, folder: Path) -> None:
        """Write down a disk that a power cut at this moment may leave behind."""
        for old in folder.iterdir():
            old.unlink()
        manner = rng.integers(4)  # all lost, all there, some, some in another order
        for name in self.safe.keys() | self.loose.keys():
            file = bytearray(self.safe.get(name, b""))
            changes = list(self.loose.get(name, []))
            if manner == 0:
                changes = []
            elif manner >= 2:
                changes = [torn(rng, change) for change in changes if rng.random() < 0.6]
                if manner == 3:
                    changes = [changes[i] for i in rng.permutation(len(changes))]
            for change in changes:
                apply(file, change)
            (folder / name).write_bytes(file)


def apply(file: bytearray, change: tuple) -> None:
    if change[0] == "truncate":
        del file[change[2] :]
        file.extend(bytes(max(0, change[2] - len(file))))
        return
    _, _, offset, data = change
    file.extend(bytes(max(0, offset + len(data) - len(file))))
    file[offset : offset + len(data)] = data


def torn(rng: np.random.Generator, change: tuple) -> tuple:
    """Half of the writes get through only up to some sector."""
    if change[0] != "write" or rng.random() < 0.5:
        return change
    kept = SECTOR * int(rng.integers(0, len(change[3]) // SECTOR + 1))
    return (*change[:3], change[3][:kept])


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
