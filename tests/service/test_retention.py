"""Retention: old decisions go, the state stays."""

from __future__ import annotations

import numpy as np
import pytest
from serving import asked, fresh, make, told

from longrank.service.engine.apply import Recent, catch_up
from longrank.service.engine.model import Model
from longrank.service.errors import Conflict, Unknown
from longrank.service.upkeep import Upkeep


def test_dropping_old_decisions_keeps_the_state(engine, clock, reopen):
    for i in range(10):
        engine.decide("m", asked(f"d{i}", ttl=10.0))
        engine.settle("m", f"d{i}", told(1, i % 2 == 0))
    clock.now += 1000.0
    engine.decide("m", asked("young"))
    state = engine.model("m").state_hash()
    assert engine.drop("m", 500.0) == 10
    with pytest.raises(Unknown):
        engine.read("m", "d1")
    with pytest.raises(Unknown):
        engine.settle("m", "d1", told())
    assert engine.settle("m", "young", told()).learned
    after = engine.model("m").snapshot()
    assert after.state_hash != state
    engine.close()
    assert reopen().model("m").snapshot() == after


def test_a_model_drops_by_itself_what_it_does_not_keep(engine, clock):
    make(engine, "short", keep=100.0, ttl=10.0)
    upkeep = Upkeep(engine)
    engine.decide("short", asked("x"))
    clock.now += 200.0
    upkeep.keep()
    assert engine.latest("short").decisions == []


def test_a_replay_from_any_snapshot_that_is_kept_gives_the_same_bytes(engine, clock):
    """Outcomes come late and out of order, while old decisions are dropped again and again."""
    rng = np.random.default_rng(0)
    refused = 0
    for i in range(120):
        engine.decide("m", asked(f"d{i}", seed=i, ttl=20.0))
        name = f"d{rng.integers(max(0, i - 40), i + 1)}"
        try:
            engine.settle("m", name, told(1, bool(rng.random() < 0.5)))
        except (Conflict, Unknown):
            refused += 1
        clock.now += 1.0
        if i % 15 == 14:
            engine.drop("m", 10.0)
    model = engine.model("m")
    (row,) = engine.store.models()
    assert 0 < refused < 100
    *found, first = engine.store.snapshots(model.number)
    assert (len(found), first.seq) == (3, 0)
    assert 0 < row.floor <= min(snapshot.seq for snapshot in found)
    for snapshot in found:
        again = Model(model.number, "m", model.created, model.spec, snapshot)
        catch_up(engine.store, again, Recent(engine.store, 5))
        assert again.snapshot() == model.snapshot()


def test_who_is_behind_when_decisions_are_dropped_goes_on_from_a_snapshot(engine, clock):
    behind = fresh(engine)  # as in another process, which has not seen what follows
    for i in range(10):
        engine.decide("m", asked(f"d{i}", ttl=10.0))
        engine.settle("m", f"d{i}", told(1, i % 2 == 0))
    clock.now += 1000.0
    assert engine.drop("m", 500.0) == 10
    catch_up(engine.store, behind, Recent(engine.store, 5))
    assert behind.snapshot() == engine.model("m").snapshot()
    engine.decide("m", asked("young"))
    engine.settle("m", "young", told())
    catch_up(engine.store, behind, Recent(engine.store, 5))
    assert behind.snapshot() == engine.model("m").snapshot()
