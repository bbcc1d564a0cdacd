"""Outcomes: learned once, in part, late, or not at all."""

import numpy as np
import pytest
from serving import DIM, asked, make, told

from longrank import Payoffs, named
from longrank.errors import InvalidInput
from longrank.service import messages
from longrank.service.errors import Conflict, Unknown
from longrank.service.store.records import DECISION, OUTCOME
from longrank.service.upkeep import Upkeep


def test_an_outcome_can_be_the_id_of_what_succeeded_and_is_learned_once(engine):
    decision = engine.decide("m", asked("x"))
    second = decision.sequence[1].id
    answer = engine.settle("m", "x", messages.OutcomeRequest(succeeded_id=second))
    assert (answer.outcome, answer.learned) == (messages.Observed(2, True), True)
    assert engine.settle("m", "x", told(2, True)).repeated
    assert engine.model("m").stats.learned == engine.model("m").policy.learner.updates / 2 == 1
    with pytest.raises(Conflict):
        engine.settle("m", "x", told(1, False))
    for unknown in (("m", "nobody"), ("nobody", "x")):
        with pytest.raises(Unknown):
            engine.settle(*unknown, told())


def test_an_outcome_that_cannot_be_is_refused_and_changes_nothing(engine):
    engine.decide("m", asked("x"))
    for outcome in (
        {"tried": 4, "succeeded": False},
        {"tried": 0, "succeeded": True},
        {"tried": 1},
        {"succeeded_id": "nobody"},
        {"tried": 3, "succeeded_id": "c0"},
        {"tried": 1, "succeeded": True, "not_attributable": [1]},
    ):
        with pytest.raises(InvalidInput):
            engine.settle("m", "x", messages.OutcomeRequest(**outcome))
    assert engine.model("m").stats.outcomes == 0


@pytest.mark.parametrize(
    ("why", "outcome"),
    [
        ("expired", told(1, True)),
        ("not attributable", told(2, False, attributable=False, reason="expired card")),
        ("nothing was tried", told(0, False)),
        ("frozen", told(1, True)),
    ],
)
def test_what_is_recorded_and_not_learned_says_why(engine, clock, why, outcome):
    make(engine, "m", mode="frozen" if why == "frozen" else "online")
    empty = {"ids": [], "features": []} if why == "nothing was tried" else {}
    engine.decide("m", asked("x", ttl=10.0, **empty))
    before = engine.model("m").state_hash()
    clock.now += 10.0 if why == "expired" else 9.0
    answer = engine.settle("m", "x", outcome)
    assert (answer.learned, answer.why, answer.reason) == (False, why, outcome.reason)
    assert engine.model("m").state_hash() == before
    observed = messages.Observed(outcome.tried, outcome.succeeded)
    assert engine.read("m", "x").outcome == observed


def test_of_an_outcome_only_the_attributable_part_is_learned(engine):
    policy = named("ind", dim=DIM, max_budget=5)
    request = asked("x")
    ranking = policy.rank(np.array(request.features), Payoffs(request.rewards, request.losses))
    engine.decide("m", request)
    assert engine.settle("m", "x", told(3, True, not_attributable=[1, 1])).learned  # said twice
    policy.learner.observe(ranking.features[1:3], True)
    assert engine.model("m").policy.to_bytes() == policy.to_bytes()
    engine.decide("m", asked("y"))
    assert engine.settle("m", "y", told(2, False, not_attributable=[1, 1])).learned


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


@pytest.mark.parametrize("missing", ["unobserved", "failed"])
def test_a_missing_outcome_means_what_the_model_says(engine, clock, reopen, missing):
    settings = {"missing": missing, "ttl": 60.0}
    strict, frozen = (make(engine, mode, mode=mode, **settings) for mode in ("online", "frozen"))
    decision = engine.decide("online", asked("x"))
    engine.decide("frozen", asked("x"))
    before = strict.state_hash(), frozen.state_hash()
    clock.now += 59.0
    Upkeep(engine).keep()
    assert strict.stats.outcomes == 0
    clock.now += 1.0
    for _ in range(2):
        Upkeep(engine).keep()
    stats, failed = engine.describe(strict).stats, missing == "failed"
    assert (stats.pending, stats.expired) == (0, not failed)
    assert strict.stats.outcomes == strict.stats.learned == failed
    assert (before[0] == strict.state_hash()) == (not failed)
    assert before[1] == frozen.state_hash()
    if failed:
        last = messages.Observed(len(decision.sequence), False)
        assert engine.read("online", "x").outcome == last
        assert engine.read("frozen", "x").outcome_record.why == "frozen"
        with pytest.raises(Conflict, match="expired and was recorded as failed"):
            engine.settle("online", "x", told())
    state = strict.snapshot()
    engine.close()
    assert reopen().model("online").snapshot() == state


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
        answers = engine.settle_many("nightly", items)
        assert [answer.id for answer in answers] == [item.id for item in items]
    model = engine.model("nightly")
    entries = engine.store.after(model.number, 0, limit=2_000)
    decided, settled = ([e.id for e in entries if e.kind == kind] for kind in (DECISION, OUTCOME))
    assert settled == decided
    assert model.stats.series.marks == []
