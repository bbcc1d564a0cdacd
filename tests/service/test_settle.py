"""Outcomes: learned once, in part, late, or not at all."""

from __future__ import annotations

import numpy as np
import pytest
from serving import DIM, asked, make, told

from longrank import Payoffs, named
from longrank.errors import InvalidInput
from longrank.service import messages
from longrank.service.errors import Conflict
from longrank.service.store.records import DECISION, OUTCOME
from longrank.service.upkeep import Upkeep


def test_an_outcome_can_be_the_id_of_what_succeeded(engine):
    decision = engine.decide("m", asked("x"))
    request = messages.OutcomeRequest(succeeded_id=decision.sequence[1].id)
    assert engine.settle("m", "x", request).outcome == messages.Observed(2, True)
    assert engine.settle("m", "x", told(2, True)).repeated


def test_what_is_recorded_and_not_learned_says_why(engine, clock):
    before = engine.model("m").state_hash()
    engine.decide("m", asked("late", ttl=10.0))
    engine.decide("m", asked("card"))
    clock.now += 10.0
    assert engine.settle("m", "late", told()).why == "expired"
    answer = engine.settle("m", "card", told(2, False, attributable=False, reason="expired card"))
    assert (answer.why, answer.reason) == ("not attributable", "expired card")
    assert engine.model("m").state_hash() == before
    assert engine.read("m", "late").outcome == messages.Observed(1, True)


def test_an_outcome_that_cannot_be_is_refused_and_changes_nothing(engine):
    engine.decide("m", asked("x"))
    for outcome in (
        {"tried": 4, "succeeded": False},
        {"tried": 0, "succeeded": True},
        {"tried": 1},
        {"succeeded": True},
        {"succeeded_id": "nobody"},
        {"tried": 3, "succeeded_id": "c0"},
        {"tried": 1, "succeeded": True, "not_attributable": [1]},
    ):
        with pytest.raises(InvalidInput):
            engine.settle("m", "x", messages.OutcomeRequest(**outcome))
    assert engine.model("m").stats.outcomes == 0


def test_of_an_outcome_only_the_attributable_part_is_learned(engine):
    policy = named("ind", dim=DIM, max_budget=5)
    request = asked("x")
    ranking = policy.rank(np.array(request.features), Payoffs(request.rewards, request.losses))
    engine.decide("m", request)
    assert engine.settle("m", "x", told(3, True, not_attributable=[1, 1])).learned  # said twice
    policy.learner.observe(ranking.features[1:3], True)
    assert engine.model("m").policy.to_bytes() == policy.to_bytes()


def test_a_sequence_cut_short_is_given_up_and_one_tried_to_the_end_declined(engine):
    free = {"rewards": [1.0, 1.0], "losses": [0.0, 0.0, 0.0]}
    payoffs = {
        "cut": (1, {"rewards": [1.0, 1.0], "losses": [0.0, 0.0, -9.0]}),
        "whole": (2, free),
        "final": (1, free),
        "nothing": (0, {"rewards": [0.0, 0.0], "losses": [0.0, -1.0, -2.0]}),
    }
    for name, (tried, given) in payoffs.items():
        sequence = engine.decide("m", asked(name, **given)).sequence
        assert len(sequence) == (2 if name == "final" else tried)
        assert not engine.settle("m", name, told(tried, False)).outcome.succeeded
    stats = engine.describe(engine.model("m")).stats
    assert (stats.give_ups, stats.declined, stats.empty) == (2, 2, 1)
    assert stats.curve.give_ups == [1.0, 0.0, 0.0, 1.0]


def test_a_missing_outcome_means_failed_where_the_model_says_so(engine, clock, reopen):
    model = make(engine, "strict", missing="failed", ttl=60.0)
    decision = engine.decide("strict", asked("x"))
    engine.decide("m", asked("x", ttl=60.0))
    clock.now += 59.0
    Upkeep(engine).keep()
    assert model.stats.outcomes == 0
    clock.now += 1.0
    for _ in range(2):
        Upkeep(engine).keep()
    assert (model.stats.outcomes, model.stats.learned) == (1, 1)
    stats = engine.describe(engine.model("m")).stats  # there it means unobserved
    assert (stats.pending, stats.expired, stats.outcomes) == (0, 1, 0)
    assert engine.read("strict", "x").outcome == messages.Observed(len(decision.sequence), False)
    with pytest.raises(Conflict, match="expired and was recorded as failed"):
        engine.settle("strict", "x", told())
    state = model.snapshot()
    engine.close()
    assert reopen().model("strict").snapshot() == state


def test_many_outcomes_at_once_have_a_result_each(engine):
    for i in range(3):
        engine.decide("m", asked(f"d{i}"))
    told_so = [("d0", True), ("d1", False), ("nobody", True), ("d0", True), ("d0", False)]
    items = [messages.BatchItem(id=name, tried=1, succeeded=good) for name, good in told_so]
    found = engine.settle_many("m", items)
    kinds = [type(one).__name__ for one in found]
    assert kinds == ["OutcomeAnswer", "OutcomeAnswer", "Unknown", "OutcomeAnswer", "Conflict"]
    assert engine.model("m").stats.learned == 2


def test_outcomes_of_one_request_are_learned_in_the_order_of_their_decisions(engine, clock):
    """A nightly file, failures first, is no outage; the answers keep the order of the file."""
    make(engine, "nightly", policy="recommended", dim=None, max_budget=1)
    rng = np.random.default_rng(0)
    for night in range(3):
        good = {f"d{night}-{i}": bool(rng.random() < 0.85) for i in range(300)}
        for name in good:
            clock.now += 60.0
            engine.decide("nightly", messages.DecisionRequest(id=name, candidates=["adyen"]))
        items = [
            messages.BatchItem(id=name, tried=1, succeeded=good[name])
            for name in sorted(good, key=lambda name: (good[name], name))
        ]
        found = engine.settle_many("nightly", items)
        assert [answer.id for answer in found] == [item.id for item in items]
    model = engine.model("nightly")
    entries = engine.store.after(model.number, 0, limit=2_000)
    decided, settled = ([e.id for e in entries if e.kind == kind] for kind in (DECISION, OUTCOME))
    assert settled == decided
    assert model.stats.series.marks == []
