"""Decisions at hand: as many as were asked for, the others from the store."""

from __future__ import annotations

from longrank.service.recent import Recent
from serving import asked


def test_only_so_many_are_kept_in_memory_and_the_others_are_found_in_the_store(engine):
    for i in range(5):
        engine.decide("m", asked(f"d{i}", seed=i))
    number = engine.model("m").number
    entries = [engine.store.find(number, f"d{i}")[0] for i in range(5)]
    recent = Recent(engine.store, 3)
    for entry in entries:
        recent.remember(entry, entry.decision())
    asked_for = []
    find = engine.store.find
    engine.store.find = lambda model, name: asked_for.append(name) or find(model, name)
    found = [recent.find(number, f"d{i}") for i in range(5)]
    assert [entry.id for entry, _ in found] == [f"d{i}" for i in range(5)]
    assert [record for _, record in found] == [entry.decision() for entry in entries]
    assert asked_for == ["d0", "d1"]
