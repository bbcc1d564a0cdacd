"""Decisions: ranked as the library does, logged once, answered again."""

from __future__ import annotations

import numpy as np
import pytest
from serving import DIM, asked, make, told

from longrank import Outcome, Payoffs, named
from longrank.errors import InvalidInput
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
    lengths = []
    for i in range(40):
        request = asked(f"d{i}", seed=i, **hopeless)
        ranking = mine.rank(np.array(request.features), Payoffs(*hopeless.values()))
        decision = engine.decide("p", request)
        assert engine.decide("p", request) == decision
        lengths.append(len(decision.sequence))
        assert len(ranking) == lengths[-1]
        if len(ranking):
            engine.settle("p", f"d{i}", told(1, False))
            mine.learn(ranking, Outcome(1, False))
    same_but_for_chance(engine.model("p").policy, mine)
    assert sum(lengths) > 0 or policy == "ind"
    engine.close()
    same_but_for_chance(reopen().model("p").policy, mine)


def test_another_request_of_the_same_id_is_a_conflict(engine):
    engine.decide("m", asked("x"))
    for other in ({"seed": 1}, {"ttl": 5.0}, {"patience": 0.5}, {"budget": 1}):
        with pytest.raises(Conflict):
            engine.decide("m", asked("x", **other))


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_packed_matrix_means_the_same_as_lists(engine, kind):
    request = asked("x")
    items = np.array(request.features, kind)
    packed = messages.Packed(items.astype(items.dtype.newbyteorder("<")).tobytes(), kind)
    answer = engine.decide("m", asked("x", features=packed))
    as_lists = asked("x", features=items.astype(float).tolist())
    assert engine.decide("m", as_lists) == answer
    named_one_by_one = messages.DecisionRequest(
        id="x",
        candidates=list(map(messages.Candidate, as_lists.ids, as_lists.features)),
        rewards=request.rewards,
        losses=request.losses,
    )
    assert engine.decide("m", named_one_by_one) == answer


BROKEN = [
    {"features": [[0.1, 0.2]] * 5},
    {"features": [[0.1, 0.2, 0.3]] * 4},
    {"features": [[0.1], [0.1, 0.2]] + [[0.1]] * 3},
    {"features": [[float("nan")] * 3] * 5},
    {"features": [[9.0] * 3] * 5},
    {"features": messages.Packed(b"abc")},
    {"features": None},
    {"ids": ["a"] * 5},
    {"candidates": []},
    {"rewards": [1.0, 2.0, 3.0]},
    {"rewards": [float("inf"), 1.0, 0.0]},
    {"losses": [0.0]},
    {"losses": None},
    {"budget": 4},
    {"rewards": [1.0] * 6, "losses": [0.0] * 7},
    {"baseline": ["nobody"]},
    {"baseline": ["c1", "c1"]},
    {"baseline": ["c0", "c1", "c2", "c3"]},
    {"id": "odd id"},
    {"id": "x\n"},
]


def test_a_round_that_breaks_a_rule_is_refused_and_not_logged(engine):
    request = {name: getattr(asked(), name) for name in asked().__struct_fields__}
    for change in BROKEN:
        with pytest.raises(InvalidInput):
            engine.decide("m", messages.DecisionRequest(**request | change))
    assert engine.latest("m").decisions == []


def test_a_round_without_candidates_has_an_empty_answer(engine):
    decision = engine.decide("m", asked("x", ids=[], features=[]))
    assert decision.sequence == []
    assert engine.settle("m", "x", told(0, False)).why == "nothing was tried"


def test_without_payoffs_a_success_is_worth_one(engine):
    engine.decide("m", asked("x", rewards=None, losses=None, budget=2))
    assert engine.read("m", "x").rewards == [1.0, 1.0]


def test_all_candidates_are_stored_where_the_model_says_so(engine):
    make(engine, "full", store_candidates=True)
    engine.decide("full", asked("x"))
    record = stored(engine, "full", "x")
    assert record.candidates == asked().ids
    assert record.items.array().tolist() == asked().features


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


def test_what_is_drawn_depends_on_the_model_and_on_the_id(engine):
    drawn = {}
    for model in ("a", "b"):
        make(engine, model, policy="rand")
        rounds = [engine.decide(model, asked(f"d{i}")).sequence for i in range(20)]
        drawn[model] = [tuple(choice.id for choice in sequence) for sequence in rounds]
    assert len(set(drawn["a"])) > 5
    assert drawn["a"] != drawn["b"]


def test_where_nothing_is_left_to_chance_there_are_no_propensities(engine):
    engine.decide("m", asked("x"))
    assert stored(engine, "m", "x").propensities is None
    make(engine, "s", policy="eps", mode="shadow")
    engine.decide("s", asked("x", baseline=["c1"]))
    assert stored(engine, "s", "x").propensities is None
