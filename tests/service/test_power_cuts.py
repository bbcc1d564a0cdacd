"""Kills, power cuts, full disks, failing syncs and flipped bits."""

import numpy as np
import power
import pytest
from killing import check, kill_often
from power import Journal
from process import Server
from serving import asked, execute, free_port, fresh, make, play, told

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
    power.record(journal, folder / "decisions.db", rounds=12, clients=4, seed=1)
    rng = np.random.default_rng(2)
    left = folder / "left"
    left.mkdir()
    for i, disk in enumerate(power.cuts(journal, points, rng)):
        disk.cut(rng, left)
        power.check(left, left / "decisions.db", disk.acknowledged, whole=i % 10 == 0)


@pytest.mark.parametrize("fault", ["full", "broken_sync"])
def test_what_the_disk_refuses_is_told_and_nothing_is_half_there_later(journal, path, fault):
    with Engine(SqliteStore(path, vfs=journal.name)) as engine:
        model = make(engine, "m")
        engine.decide("m", asked("before"))
        setattr(journal, fault, True)
        for _ in range(2):
            with pytest.raises(StoreFailed, match="could not write"):
                engine.decide("m", asked("during"))
            with pytest.raises(StoreFailed, match="could not write"):
                engine.settle("m", "before", told())
        setattr(journal, fault, False)
        engine.decide("m", asked("during" if fault == "broken_sync" else "after"))
        assert engine.settle("m", "before", told()).learned
        assert (model.stats.decisions, model.stats.outcomes, model.stats.learned) == (2, 1, 1)
        assert fresh(engine).snapshot() == model.snapshot()


@pytest.fixture
def filled(path, clock):
    """A file with decisions, outcomes and two snapshots, and the state that it holds."""
    with Engine(SqliteStore(path), clock=clock, snapshot_every=10) as engine:
        make(engine, "m")
        play(engine, count=10)
        engine.save(engine.model("m"))
        for i in range(10, 30):
            engine.decide("m", asked(f"d{i}", seed=i))
            engine.settle("m", f"d{i}", told(0, False))
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
    last = "(SELECT max(seq) FROM snapshots)"
    execute(store, f"UPDATE snapshots SET body = {damaged} WHERE seq = {last}")
    with Engine(store, clock=clock) as engine:
        assert engine.model("m").snapshot() == state
    assert "damaged" in caplog.text


@pytest.mark.parametrize("kills", [2, pytest.param(30, marks=pytest.mark.long)])
def test_a_server_that_is_killed_again_and_again_loses_nothing(kills, tmp_path):
    path = tmp_path / "decisions.db"
    server = Server(str(path), free_port(), "--snapshot-every", "50", "--log-level", "warning")
    try:
        load = kill_often(server, kills, seed=7)
    finally:
        server.kill()
    with Engine(SqliteStore(path)) as engine:
        check(engine, load)
    assert load.acknowledged > 50 * kills
