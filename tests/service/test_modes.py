"""Modes: a model in the shadow, and a frozen one."""

from __future__ import annotations

import numpy as np
import pytest
from serving import DIM, asked, make, told

from longrank import named
from longrank.errors import InvalidInput
from longrank.kernels import probe_is_due
from longrank.service.engine.apply import replay
from longrank.service.errors import Conflict
from longrank.service.upkeep import Upkeep


def test_a_shadow_model_plays_the_baseline_and_learns_from_it(engine):
    model = make(engine, "shadow", mode="shadow")
    with pytest.raises(InvalidInput, match="baseline"):
        engine.decide("shadow", asked("x"))
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


def test_what_a_shadow_model_counts_of_its_own_choices_a_replay_counts_too(engine, reopen):
    model = make(engine, "p", policy="recommended", mode="shadow")
    hopeless = {"rewards": [0.1], "losses": [0.0, -5.0], "baseline": ["c1"]}
    found = [engine.decide("p", asked(f"d{i}", seed=i, **hopeless)) for i in range(40)]
    assert {len(decision.proposal.sequence) for decision in found} == {0, 1}
    state = model.snapshot()
    engine.close()
    store = reopen().store
    row = next(row for row in store.models() if row.name == "p")
    assert replay(store, row, fresh=True).snapshot() == state


def test_a_policy_without_a_belief_can_stand_in_the_shadow(engine):
    make(engine, "r", policy="rand", mode="shadow")
    decision = engine.decide("r", asked("x", baseline=["c2"]))
    assert [choice.id for choice in decision.sequence] == ["c2"]
    assert decision.sequence[0].estimate is None
    assert engine.settle("r", "x", told()).learned
    assert "baseline is played" in engine.read("r", "x").explanation
    with pytest.raises(InvalidInput, match="columns"):
        engine.decide("r", asked("y", features=[[0.1, 0.2]] * 5, baseline=[]))


def test_a_frozen_model_ranks_and_records_and_does_not_learn(engine):
    make(engine, "m", mode="frozen")
    engine.decide("m", asked("x"))
    before = engine.model("m").state_hash()
    assert engine.settle("m", "x", told()).why == "frozen"
    assert engine.model("m").state_hash() == before


def test_a_frozen_model_neither_counts_nor_probes(engine):
    """Though a probe is due, which the model would make if it were not frozen."""
    model = make(engine, "p", policy="recommended")
    hopeless = {"rewards": [0.1], "losses": [0.0, -5.0]}
    decided = 0
    while not probe_is_due(model.policy.given_up):
        engine.decide("p", asked(f"d{decided}", seed=decided, **hopeless))
        decided += 1
    assert model.policy.given_up == decided > 0
    make(engine, "p", policy="recommended", mode="frozen")
    before = model.state_hash()
    found = [engine.decide("p", asked(f"e{i}", seed=i, **hopeless)) for i in range(40)]
    assert not any(decision.sequence for decision in found)
    assert model.state_hash() == before
    make(engine, "p", policy="recommended")
    assert len(engine.decide("p", asked("f", **hopeless)).sequence) == 1


def test_a_decision_from_before_the_shadow_is_answered_again_without_a_baseline(engine):
    decision = engine.decide("m", asked("x"))
    make(engine, "m", mode="shadow")
    assert engine.decide("m", asked("x")) == decision
    with pytest.raises(Conflict):
        engine.decide("m", asked("x", seed=1))
    with pytest.raises(InvalidInput, match="baseline"):
        engine.decide("m", asked("y"))


def test_a_missing_outcome_of_a_frozen_model_says_why_it_is_not_learned(engine, clock):
    make(engine, "p", mode="frozen", missing="failed", ttl=10.0)
    engine.decide("p", asked("x"))
    clock.now += 10.0
    Upkeep(engine).keep()
    record = engine.read("p", "x").outcome_record
    assert (record.learned, record.why) == (False, "frozen")
