"""Modes: a model in the shadow, and a frozen one."""

from __future__ import annotations

import numpy as np
import pytest
from serving import DIM, asked, fresh, make, play, told

from longrank import named
from longrank.errors import InvalidInput
from longrank.kernels import probe_is_due
from longrank.service.errors import Conflict

HOPELESS = {"rewards": [0.1], "losses": [0.0, -5.0]}


def test_a_shadow_model_plays_the_baseline_and_learns_from_it(engine):
    model = make(engine, "shadow", mode="shadow")
    request = asked("x", baseline=["c4", "c1"])
    decision = engine.decide("shadow", request)
    assert [choice.id for choice in decision.sequence] == ["c4", "c1"]
    online = engine.decide("m", asked("x"))
    assert decision.proposal.sequence == online.sequence
    assert decision.proposal.values == online.values
    assert engine.settle("shadow", "x", told(2, True)).learned
    policy = named("ind", dim=DIM, max_budget=5)
    policy.learner.observe(np.array(request.features)[[4, 1]], True)
    assert model.policy.to_bytes() == policy.to_bytes()
    make(engine, "m", mode="shadow")
    assert engine.decide("m", asked("x")) == online  # from before, without a baseline
    with pytest.raises(Conflict):
        engine.decide("m", asked("x", seed=1))
    with pytest.raises(InvalidInput, match="baseline"):
        engine.decide("m", asked("y"))


def test_what_a_shadow_model_counts_of_its_own_choices_a_replay_counts_too(engine):
    model = make(engine, "p", policy="recommended", mode="shadow")
    decisions = play(engine, "p", 40, **HOPELESS, baseline=["c1"])
    assert {len(decision.proposal.sequence) for decision in decisions} == {0, 1}
    assert fresh(engine, "p").snapshot() == model.snapshot()


def test_a_policy_without_a_belief_can_stand_in_the_shadow(engine):
    make(engine, "r", policy="rand", mode="shadow")
    decision = engine.decide("r", asked("x", baseline=["c2"]))
    assert [choice.id for choice in decision.sequence] == ["c2"]
    assert decision.sequence[0].estimate is None
    assert engine.settle("r", "x", told()).learned
    assert "baseline is played" in engine.read("r", "x").explanation
    with pytest.raises(InvalidInput, match="columns"):
        engine.decide("r", asked("y", features=[[0.1, 0.2]] * 5, baseline=[]))


def test_a_frozen_model_neither_counts_nor_probes(engine):
    """Though a probe is due, which the model would make if it were not frozen."""
    model = make(engine, "p", policy="recommended")
    decided = 0
    while not probe_is_due(model.policy.given_up):
        engine.decide("p", asked(f"d{decided}", seed=decided, **HOPELESS))
        decided += 1
    assert model.policy.given_up == decided > 0
    make(engine, "p", policy="recommended", mode="frozen")
    before = model.state_hash()
    decisions = [engine.decide("p", asked(f"e{i}", seed=i, **HOPELESS)) for i in range(40)]
    assert not any(decision.sequence for decision in decisions)
    assert model.state_hash() == before
    make(engine, "p", policy="recommended")
    assert len(engine.decide("p", asked("f", **HOPELESS)).sequence) == 1
