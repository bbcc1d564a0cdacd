"""The log defines the model: a replay asks no registry, and knows no defaults."""

from __future__ import annotations

import pytest
from serving import asked, make, told

from longrank.policies import default, registry


def lived(engine, name, policy, **settings):
    """A model that has learned, without a snapshot but the first; its state."""
    model = make(engine, name, policy=policy, **settings)
    for i in range(20):
        decision = engine.decide(name, asked(f"d{i}", seed=i))
        if decision.sequence:
            engine.settle(name, f"d{i}", told(1, i % 3 == 0))
    return model.snapshot()


def crash(engine):
    engine.ready = False  # no last snapshot
    engine.close()


@pytest.mark.parametrize("policy", ["recommended", "thompson", "ind", "eps", "rand"])
def test_another_default_changes_no_replay(engine, reopen, monkeypatch, policy):
    state = lived(engine, "p", policy)
    crash(engine)
    monkeypatch.setattr(default, "PENALTY", 5.0)
    monkeypatch.setattr(default, "EXPLORATION", 2.0)
    monkeypatch.setattr(registry, "_OWN", {})
    assert reopen().model("p").snapshot() == state
