"""Decisions: ranked as the library does, logged once, answered again; in the shadow, or frozen."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from serving import DIM, asked, fresh, make, play, told

from longrank import Outcome, Payoffs, named
from longrank.decision import PROBE
from longrank.errors import InvalidInput
from longrank.kernels import probe_is_due
from longrank.packing import pack
from longrank.service import messages
from longrank.service.errors import Conflict


def stored(engine, model, name):
    """A decision as it stands in the log."""
    return engine.store.find(engine.model(model).number, name)[0].decision()


def test_it_ranks_as_the_library_does_and_learns_the_same_bytes(engine):
    policy = named("ind", dim=DIM, max_budget=5)
    for i in range(20):
        request = asked(f"d{i}", seed=i)
        payoffs = Payoffs(request.rewards, request.losses)
        ranking = policy.rank(np.array(request.features), payoffs)
        decision = engine.decide("m", request)
        assert [choice.id for choice in decision.sequence] == [f"c{j}" for j in ranking.order]
        assert [choice.estimate for choice in decision.sequence] == ranking.estimates.tolist()
        assert [choice.optimistic for choice in decision.sequence] == ranking.probabilities.tolist()
        assert decision.values == ranking.values.tolist()
        assert decision.expected_value == ranking.value
        assert decision.version == i
        policy.learn(ranking, Outcome(min(1, len(ranking)), i % 3 == 0))
        engine.settle("m", decision.id, told(1, i % 3 == 0))
    assert engine.model("m").policy.to_bytes() == policy.to_bytes()


def same_but_for_chance(theirs, mine):
    """Looks are drawn by the service's own chances."""
    for part in ("learner", "features", "given_up"):
        assert pack(theirs.state()[part]) == pack(mine.state()[part]), part


@pytest.mark.parametrize("policy", ["recommended", "ind"])
def test_a_policy_that_gives_up_counts_and_probes_as_in_the_library(engine, reopen, policy):
    hopeless = {"rewards": [0.1], "losses": [0.0, -5.0]}
    make(engine, "p", policy=policy)
    mine = named(policy, dim=DIM, max_budget=5)
    lengths, probes = [], 0
    for i in range(40):
        request = asked(f"d{i}", seed=i, **hopeless)
        ranking = mine.rank(np.array(request.features), Payoffs(*hopeless.values()))
        decision = engine.decide("p", request)
        assert engine.decide("p", request) == decision
        lengths.append(len(decision.sequence))
        assert len(ranking) == lengths[-1]
        if len(ranking):
            shown = engine.read("p", f"d{i}")
            is_probe = ranking.value < ranking.values[0]
            assert (shown.stopped == PROBE, PROBE in shown.explanation) == (is_probe, is_probe)
            assert (PROBE in ranking.explain()) == is_probe
            probes += is_probe
            engine.settle("p", f"d{i}", told(1, False))
            mine.learn(ranking, Outcome(1, False))
    same_but_for_chance(engine.model("p").policy, mine)
    assert sum(lengths) > 0 or policy == "ind"
    assert probes > 0 or policy == "ind"
    engine.close()
    same_but_for_chance(reopen().model("p").policy, mine)


def test_the_same_id_gives_the_same_answer_also_after_a_restart_and_another_body_a_conflict(
    engine, reopen
):
    decision = engine.decide("m", asked("x"))
    engine.decide("m", asked("y"))
    outcome = engine.settle("m", "y", told())
    for again in (engine, None):
        if again is None:
            engine.close()
            again = reopen()
        assert again.decide("m", asked("x")) == decision
        assert again.settle("m", "y", told()) == msgspec.structs.replace(outcome, repeated=True)
        assert (again.model("m").stats.decisions, again.model("m").stats.learned) == (2, 1)
        for other in ({"seed": 1}, {"ttl": 5.0}, {"patience": 0.5}):
            with pytest.raises(Conflict):
                again.decide("m", asked("x", **other))


BROKEN = [
    {"features": [[0.1, 0.2]] * 5},
    {"features": [[0.1, 0.2, 0.3]] * 4},
    {"features": [[float("nan")] * 3] * 5},
    {"features": [[9.0] * 3] * 5},
    {"features": messages.Packed(b"abc")},
    {"ids": ["a"] * 5},
    {"rewards": [1.0, 2.0, 3.0]},
    {"rewards": [float("inf"), 1.0, 0.0]},
    {"losses": None},
    {"budget": 4},
    {"rewards": [1.0] * 6, "losses": [0.0] * 7},
    {"rewards": [1.1e12], "losses": [0.0, 0.0]},
    {"rewards": [1.0], "losses": [-1.7e308] * 2},
    {"baseline": ["nobody"]},
    {"baseline": ["c0", "c1", "c2", "c3"]},
    {"id": "odd id"},
    {"id": "x\n"},
]


def test_a_round_that_breaks_a_rule_is_refused_and_not_logged(engine):
    request = msgspec.structs.asdict(asked())
    for change in BROKEN:
        with pytest.raises(InvalidInput):
            engine.decide("m", messages.DecisionRequest(**request | change))
    assert engine.latest("m").decisions == []


def test_without_payoffs_a_success_is_worth_one_and_all_candidates_are_stored_if_told(engine):
    make(engine, "full", store_candidates=True)
    engine.decide("full", asked("x", rewards=None, losses=None, budget=2))
    assert engine.read("full", "x").rewards == [1.0, 1.0]
    record = stored(engine, "full", "x")
    assert record.candidates == asked().ids
    assert record.items.array().tolist() == asked().features


@pytest.mark.parametrize("width", [3, 16])  # MessagePack has another head from 16 on
@pytest.mark.parametrize("number", [1, 1 << 40, -(1 << 40)])  # of one byte, or of nine as a float
def test_rows_of_whole_numbers_and_fractions_are_the_numbers_that_were_sent(engine, width, number):
    make(engine, "wide", policy="recommended", dim=width, store_candidates=True)
    rows = [[0.5 * i + j for j in range(width)] for i in range(5)]
    for at in (None, 0, 4):
        if at is not None:
            rows[at][-1] = number
        engine.decide("wide", asked(f"d{at}", features=rows))
        kept = stored(engine, "wide", f"d{at}").items.array()
        assert np.array_equal(kept, np.array(rows, np.float64))


@pytest.mark.parametrize("policy", ["eps", "plackett-luce"])
def test_where_a_policy_decides_by_chance_its_propensities_are_stored(engine, policy):
    settings = {"epsilon": 0.4} if policy == "eps" else {}
    model = make(engine, "p", policy=policy, settings=settings)
    for i in range(20):
        request = asked(f"d{i}", seed=i)
        payoffs = Payoffs(request.rewards, request.losses)
        decision = engine.decide("p", request)
        record = stored(engine, "p", f"d{i}")
        known = model.policy.propensities(np.array(request.features), payoffs, record.played.order)
        assert record.propensities == known.tolist()
        assert len(known) == len(decision.sequence) + 1
        assert 0.0 < known[-1] <= 1.0
        engine.settle("p", f"d{i}", told(1, i % 2 == 0))
    make(engine, "s", policy=policy, mode="shadow")
    engine.decide("s", asked("x", baseline=["c1"]))
    assert stored(engine, "s", "x").propensities is None  # nothing was left to chance


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


def test_what_is_drawn_depends_on_the_model_and_on_the_id(engine):
    drawn = {}
    for model in ("a", "b"):
        make(engine, model, policy="rand")
        rounds = [engine.decide(model, asked(f"d{i}")).sequence for i in range(20)]
        drawn[model] = [tuple(choice.id for choice in sequence) for sequence in rounds]
    assert len(set(drawn["a"])) > 5
    assert drawn["a"] != drawn["b"]
