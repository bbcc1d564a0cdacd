"""Power cuts, full disks, failing syncs and flipped bits."""

from __future__ import annotations

import numpy as np
import pytest
from cuts import check, cuts, record
from power import Journal
from serving import DIM, asked, told

from longrank.service import messages
from longrank.service.engine.apply import replay
from longrank.service.engine.engine import Engine
from longrank.service.errors import StoreDamaged, StoreFailed
from longrank.service.store.sqlite import SqliteStore


@pytest.fixture
def journal():
    journal = Journal("longrank-test")
    yield journal
    journal.unregister()


@pytest.mark.parametrize("points", [60, pytest.param(2000, marks=pytest.mark.long)])
def test_a_power_cut_loses_nothing_that_was_acknowledged(journal, folder, points):
    record(journal, folder / "decisions.db", rounds=12, clients=4, seed=1)
    rng = np.random.default_rng(2)
    left = folder / "left"
    left.mkdir()
    for i, disk in enumerate(cuts(journal, points, rng)):
        disk.cut(rng, left)
        check(left, left / "decisions.db", disk.acknowledged, whole=i % 10 == 0)


def test_a_full_disk_is_told_and_nothing_is_half_there_when_space_comes_back(journal, path):
    with Engine(SqliteStore(path, vfs=journal.name)) as engine:
        engine.create("m", messages.ModelRequest(dim=DIM, policy="ind"))
        engine.decide("m", asked("before"))
        journal.full = True
        for _ in range(3):
            with pytest.raises(StoreFailed, match="could not write"):
                engine.decide("m", asked("during"))
        journal.full = False
        engine.decide("m", asked("after"))
        engine.settle("m", "before", told())
        shown = [found.id for found in engine.latest("m").decisions]
        assert shown == ["after", "before"]
        assert engine.model("m").stats.decisions == 2


def test_after_a_failing_fsync_nothing_is_acknowledged_until_the_disk_works_again(journal, path):
    with Engine(SqliteStore(path, vfs=journal.name)) as engine:
        engine.create("m", messages.ModelRequest(dim=DIM, policy="ind"))
        engine.decide("m", asked("before"))
        journal.broken_sync = True
        with pytest.raises(StoreFailed, match="could not write"):
            engine.settle("m", "before", told())
        with pytest.raises(StoreFailed, match="could not write"):
            engine.decide("m", asked("during"))
        journal.broken_sync = False
        engine.decide("m", asked("during"))
        answer = engine.settle("m", "before", told())
        assert answer.learned
        model = engine.model("m")
        assert model.stats.outcomes == model.stats.learned == 1
        fresh = replay(engine.store, engine.store.models()[0], fresh=True)
        assert fresh.snapshot() == model.snapshot()


@pytest.fixture
def filled(path, clock):
    """A file with decisions, outcomes and two snapshots, and the state that it holds."""
    with Engine(SqliteStore(path), clock=clock, snapshot_every=10) as engine:
        engine.create("m", messages.ModelRequest(dim=DIM, policy="ind", max_budget=5))
        for i in range(30):
            decision = engine.decide("m", asked(f"d{i}", seed=i))
            engine.settle("m", f"d{i}", told(min(1, len(decision.sequence)), i % 2 == 0))
            if i in (10, 20):
                engine.save(engine.model("m"))
        state = engine.model("m").snapshot()
    return path.read_bytes(), state


@pytest.mark.parametrize("flips", [40, pytest.param(300, marks=pytest.mark.long)])
def test_a_flipped_bit_anywhere_in_the_file_is_refused_or_does_no_harm(filled, path, clock, flips):
    data, state = filled
    rng = np.random.default_rng(3)
    refused = 0
    for place in rng.integers(0, len(data), flips):
        damaged = bytearray(data)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            engine = Engine(SqliteStore(path), clock=clock)
        except (StoreDamaged, StoreFailed):
            refused += 1
            continue
        try:
            engine.store.verify()
            engine.start()
            assert engine.model("m").snapshot() == state
            assert len(engine.latest("m", limit=100).decisions) == 30
        except (StoreDamaged, StoreFailed):
            refused += 1
        finally:
            engine.ready = False
            engine.close()
    assert 0 < refused < flips


def test_a_damaged_snapshot_is_passed_over_for_an_older_one(filled, path, clock, caplog):
    _, state = filled
    store = SqliteStore(path)
    damaged = "CAST(substr(body, 1, 100) || x'00' || substr(body, 102) AS BLOB)"
    store.writer.call(
        lambda session: session.execute(
            f"UPDATE snapshots SET body = {damaged} WHERE seq = (SELECT max(seq) FROM snapshots)"
        )
    )
    with Engine(store, clock=clock) as engine:
        assert engine.model("m").snapshot() == state
    assert "damaged" in caplog.text


@pytest.mark.usefixtures("filled")
def test_a_changed_log_entry_is_refused_by_name(path):
    store = SqliteStore(path)
    store.writer.call(lambda session: session.execute("UPDATE log SET at = at + 1 WHERE seq = 7"))
    with pytest.raises(StoreDamaged, match="log entry 7 is damaged"):
        store.verify()
    store.close()
