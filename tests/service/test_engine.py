"""The engine as a Python object."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from serving import DIM, asked, told, until

from longrank import Outcome, Payoffs, named
from longrank.errors import InvalidInput
from longrank.service import messages, sqlite
from longrank.service.engine import Engine
from longrank.service.errors import Conflict, NotReady, StoreDamaged, StoreFailed, Unknown
from longrank.service.records import DECISION, Draft
from longrank.service.replay import replay
from longrank.service.sqlite import SqliteStore
from longrank.service.upkeep import Upkeep


def make(engine, name, **settings):
    request = {"dim": DIM, "policy": "ind", "max_budget": 5, **settings}
    return engine.create(name, messages.ModelRequest(**request))[0]


def fresh(engine):
    return replay(engine.store, engine.store.models()[0], fresh=True)


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


def test_the_same_id_with_the_same_body_gives_the_same_answer(engine):
    first = engine.decide("m", asked("x"))
    engine.decide("m", asked("y"))
    engine.settle("m", "y", told())
    assert engine.decide("m", asked("x")) == first
    assert engine.model("m").stats.decisions == 2


def test_the_same_id_with_another_body_is_a_conflict(engine):
    engine.decide("m", asked("x"))
    with pytest.raises(Conflict):
        engine.decide("m", asked("x", seed=1))
    with pytest.raises(Conflict):
        engine.decide("m", asked("x", ttl=5.0))


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


def test_an_outcome_is_learned_once_however_often_it_is_told(engine):
    engine.decide("m", asked("x"))
    first = engine.settle("m", "x", told())
    again = engine.settle("m", "x", told())
    assert (first.learned, first.repeated, again.learned, again.repeated) == (
        True,
        False,
        True,
        True,
    )
    assert engine.model("m").stats.learned == 1
    with pytest.raises(Conflict):
        engine.settle("m", "x", told(1, False))


def test_an_outcome_can_be_the_id_of_what_succeeded(engine):
    decision = engine.decide("m", asked("x"))
    second = decision.sequence[1].id
    answer = engine.settle("m", "x", messages.OutcomeRequest(succeeded_id=second))
    assert answer.outcome == messages.Outcome(2, True)
    assert engine.settle("m", "x", told(2, True)).repeated


def test_an_outcome_of_nobodys_decision_is_unknown(engine):
    with pytest.raises(Unknown):
        engine.settle("m", "nobody", told())
    with pytest.raises(Unknown):
        engine.settle("nobody", "x", told())


@pytest.mark.parametrize(
    "outcome",
    [
        {"tried": 4, "succeeded": False},
        {"tried": 0, "succeeded": True},
        {"tried": 1},
        {"succeeded": True},
        {"succeeded_id": "nobody"},
        {"tried": 3, "succeeded_id": "c0"},
        {"tried": 1, "succeeded": True, "not_attributable": [1]},
    ],
)
def test_an_outcome_that_cannot_be_is_refused_and_changes_nothing(engine, outcome):
    engine.decide("m", asked("x"))
    with pytest.raises(InvalidInput):
        engine.settle("m", "x", messages.OutcomeRequest(**outcome))
    assert engine.model("m").stats.outcomes == 0


def test_after_expiry_an_outcome_is_recorded_and_not_learned(engine, clock):
    engine.decide("m", asked("x", ttl=10.0))
    before = engine.model("m").state_hash()
    clock.now += 10.0
    answer = engine.settle("m", "x", told())
    assert (answer.learned, answer.why) == (False, "expired")
    assert engine.model("m").state_hash() == before
    assert engine.read("m", "x").outcome == messages.Outcome(1, True)


def test_a_failure_that_is_not_attributable_is_recorded_and_not_learned(engine):
    engine.decide("m", asked("x"))
    before = engine.model("m").state_hash()
    answer = engine.settle("m", "x", told(2, False, attributable=False, reason="expired card"))
    assert (answer.learned, answer.why, answer.reason) == (
        False,
        "not attributable",
        "expired card",
    )
    assert engine.model("m").state_hash() == before


def test_of_an_outcome_only_the_attributable_part_is_learned(engine):
    policy = named("ind", dim=DIM, max_budget=5)
    request = asked("x")
    ranking = policy.rank(np.array(request.features), Payoffs(request.rewards, request.losses))
    engine.decide("m", request)
    assert engine.settle("m", "x", told(3, True, not_attributable=[1])).learned
    policy.learner.observe(ranking.features[1:3], True)
    assert engine.model("m").policy.to_bytes() == policy.to_bytes()


def test_a_missing_outcome_means_unobserved(engine, clock):
    engine.decide("m", asked("x"))
    before = engine.model("m").state_hash()
    clock.now += 1e6
    Upkeep(engine).once()
    assert engine.model("m").state_hash() == before
    stats = engine.describe(engine.model("m")).stats
    assert (stats.pending, stats.expired, stats.outcomes) == (0, 1, 0)


def test_a_missing_outcome_means_failed_where_the_model_says_so(engine, clock, reopen):
    model = make(engine, "strict", missing="failed", ttl=60.0)
    decision = engine.decide("strict", asked("x"))
    clock.now += 59.0
    Upkeep(engine).once()
    assert model.stats.outcomes == 0
    clock.now += 1.0
    for _ in range(2):
        Upkeep(engine).once()
    assert (model.stats.outcomes, model.stats.learned) == (1, 1)
    assert engine.read("strict", "x").outcome == messages.Outcome(len(decision.sequence), False)
    with pytest.raises(Conflict, match="when it expired"):
        engine.settle("strict", "x", told())
    state = model.snapshot()
    engine.close()
    assert reopen().model("strict").snapshot() == state


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


def test_a_frozen_model_ranks_and_records_and_does_not_learn(engine):
    make(engine, "m", mode="frozen")
    engine.decide("m", asked("x"))
    before = engine.model("m").state_hash()
    assert engine.settle("m", "x", told()).why == "frozen"
    assert engine.model("m").state_hash() == before


@pytest.mark.parametrize("policy", ["recommended", "rand", "eps", "c-ucb1", "gl-cdcm", "ind"])
def test_every_policy_of_a_name_comes_back_with_the_same_bytes(engine, reopen, policy):
    model = make(engine, "p", policy=policy)
    answers = []
    for i in range(30):
        decision = engine.decide("p", asked(f"d{i}", seed=i))
        answers.append(decision)
        if decision.sequence:
            engine.settle("p", f"d{i}", told(1, i % 2 == 0))
        if i == 10:
            engine.save(model)
    state = model.snapshot()
    engine.close()
    again = reopen()
    assert again.model("p").snapshot() == state
    row = next(row for row in again.store.models() if row.name == "p")
    assert replay(again.store, row, fresh=True).snapshot() == state
    for i, answer in enumerate(answers):
        assert again.decide("p", asked(f"d{i}", seed=i)) == answer


def test_a_coverage_model_takes_its_topics_as_a_matrix(engine):
    make(engine, "dep", policy="dep", dim=2, settings={"topics": [[1, 0], [0, 1], [0.5, 0.5]]})
    request = asked("x", features=np.abs(np.array(asked().features)).tolist())
    assert engine.decide("dep", request).sequence
    assert engine.settle("dep", "x", told()).learned


@pytest.mark.parametrize(
    "settings",
    [
        {"policy": "nobody"},
        {"settings": {"exploration": -1}},
        {"settings": {"exploration": {"a": []}}},
        {"settings": {"nobody": 1}},
        {"settings": {"dim": 3}},
        {"settings": {"radius": 1e308}},
        {"policy": "dep"},
        {"policy": "dep", "settings": {"topics": "x"}},
        {"policy": "oracle", "settings": {"weights": [[None]]}},
    ],
)
def test_settings_that_a_policy_refuses_make_no_model(engine, settings):
    with pytest.raises(InvalidInput):
        make(engine, "bad", **settings)
    with pytest.raises(Unknown):
        engine.model("bad")


@pytest.mark.parametrize(
    "change",
    [
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
    ],
)
def test_a_round_that_breaks_a_rule_is_refused_and_not_logged(engine, change):
    request = {name: getattr(asked(), name) for name in asked().__struct_fields__}
    with pytest.raises(InvalidInput):
        engine.decide("m", messages.DecisionRequest(**{**request, **change}))
    assert engine.latest("m").decisions == []


def test_a_round_without_candidates_has_an_empty_answer(engine):
    decision = engine.decide("m", asked("x", ids=[], features=[]))
    assert decision.sequence == []
    assert engine.settle("m", "x", told(0, False)).why == "nothing was tried"


def test_without_payoffs_a_success_is_worth_one(engine):
    engine.decide("m", asked("x", rewards=None, losses=None, budget=2))
    assert engine.read("m", "x").rewards == [1.0, 1.0]


def test_a_list_goes_from_new_to_old_in_pages(engine, clock):
    for i in range(7):
        engine.decide("m", asked(f"d{i}", ttl=10.0))
    engine.settle("m", "d6", told())
    page = engine.latest("m", limit=3)
    assert [one.id for one in page.decisions] == ["d6", "d5", "d4"]
    assert [one.status for one in page.decisions] == ["settled", "pending", "pending"]
    clock.now += 10.0
    page = engine.latest("m", page.next, limit=3)
    assert (page.decisions[0].id, page.decisions[0].status) == ("d3", "expired")
    assert [one.id for one in engine.latest("m", page.next, limit=3).decisions] == ["d0"]
    with pytest.raises(InvalidInput):
        engine.latest("m", "-1")


def test_a_decision_that_is_read_tells_its_story(engine, clock):
    engine.decide("m", asked("x", ttl=10.0))
    assert [event.event for event in engine.read("m", "x").history] == ["decided"]
    clock.now += 11.0
    assert engine.read("m", "x").status == "expired"
    engine.settle("m", "x", told())
    found = engine.read("m", "x")
    assert [event.event for event in found.history] == ["decided", "expired", "outcome"]
    assert "tries" in found.explanation
    with pytest.raises(Unknown):
        engine.read("m", "nobody")


def test_the_numbers_of_a_model_are_right(engine):
    for i in range(6):
        engine.decide("m", asked(f"d{i}", ttl=100.0))
    engine.settle("m", "d0", told(1, True))
    engine.settle("m", "d1", told(2, True))
    engine.settle("m", "d2", told(3, False))
    engine.settle("m", "d3", told(2, False, attributable=False))
    stats = engine.describe(engine.model("m")).stats
    assert (stats.decisions, stats.outcomes, stats.pending, stats.learned) == (6, 4, 2, 3)
    assert stats.total_reward == pytest.approx(1.0 + 0.5 - 0.3 - 0.2)
    assert stats.mean_length == 3.0
    assert (stats.give_ups, stats.success_rate) == (2, 0.5)
    assert [(p.tried, p.succeeded) for p in stats.by_position] == [(4, 1), (3, 1), (1, 0)]
    assert stats.curve.outcomes == [1, 1, 1, 1]


def test_the_curve_keeps_its_size_and_its_sum(engine):
    stats = engine.model("m").stats
    for i in range(5000):
        stats._bin(float(i), 2, i % 2 == 0)
    shown = stats.shown(0).curve
    assert len(shown.outcomes) <= 200
    assert sum(shown.outcomes) == 5000
    total = sum(n * r for n, r in zip(shown.outcomes, shown.reward, strict=True))
    assert total == pytest.approx(sum(range(5000)))


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
    upkeep.once()
    assert engine.latest("short").decisions == []


def test_what_is_dropped_needs_a_good_snapshot(engine, clock, path):
    engine.decide("m", asked("x", ttl=10.0))
    clock.now += 1000.0
    engine.drop("m", 500.0)
    engine.store.writer.call(lambda session: session.execute("DELETE FROM snapshots"))
    engine.close()
    with pytest.raises(Exception, match="no good snapshot"):
        Engine(SqliteStore(path)).start()


def test_all_candidates_are_stored_where_the_model_says_so(engine):
    make(engine, "full", store_candidates=True)
    engine.decide("full", asked("x"))
    entry, _ = engine.store.find(engine.model("full").number, "x")
    record = entry.decision()
    assert record.candidates == asked().ids
    assert np.array_equal(np.frombuffer(record.features).reshape(5, DIM), asked().features)


def test_models_are_apart(engine):
    make(engine, "other")
    engine.decide("m", asked("x"))
    with pytest.raises(Unknown):
        engine.read("other", "x")
    engine.decide("other", asked("x", seed=5))
    engine.settle("other", "x", told())
    assert (engine.model("m").version, engine.model("other").version) == (0, 1)


def test_a_deleted_model_is_gone_and_its_name_is_free(engine, reopen):
    engine.decide("m", asked("x"))
    engine.delete("m")
    with pytest.raises(Unknown):
        engine.decide("m", asked("y"))
    make(engine, "m", dim=2)
    assert engine.latest("m").decisions == []
    engine.close()
    assert reopen().model("m").spec.request.dim == 2


def test_the_same_model_again_is_no_conflict_but_another_is(engine):
    model = engine.model("m")
    assert make(engine, "m") is model
    assert make(engine, "m", mode="frozen").spec.request.mode == "frozen"
    with pytest.raises(Conflict):
        make(engine, "m", dim=DIM + 1)


def test_many_outcomes_at_once_have_a_result_each(engine):
    for i in range(3):
        engine.decide("m", asked(f"d{i}"))
    told_so = [("d0", True), ("d1", False), ("nobody", True), ("d0", True), ("d0", False)]
    items = [messages.BatchItem(id=name, tried=1, succeeded=good) for name, good in told_so]
    found = engine.settle_many("m", items)
    kinds = [type(one).__name__ for one in found]
    assert kinds == ["OutcomeAnswer", "OutcomeAnswer", "Unknown", "OutcomeAnswer", "Conflict"]
    assert engine.model("m").stats.learned == 2


def test_it_does_nothing_before_it_has_started(path):
    engine = Engine(SqliteStore(path))
    with pytest.raises(NotReady):
        engine.decide("m", asked())
    engine.close()


def test_a_second_process_cannot_open_the_same_file(engine, path):  # noqa: ARG001
    with pytest.raises(StoreFailed, match="in use by another process"):
        SqliteStore(path)


def test_a_snapshot_is_taken_every_so_often(engine, reopen):
    engine.snapshot_every = 3
    upkeep = Upkeep(engine)
    for i in range(7):
        engine.decide("m", asked(f"d{i}"))
        engine.settle("m", f"d{i}", told())
        upkeep.once()
    assert len(list(engine.store.snapshots(engine.model("m").number))) == 2
    state = fresh(engine).snapshot()
    engine.close()
    assert reopen().model("m").snapshot() == state


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
    assert engine.model("p").policy.to_bytes() == mine.to_bytes()
    assert sum(lengths) > 0 or policy == "ind"
    engine.close()
    assert reopen().model("p").policy.to_bytes() == mine.to_bytes()


def test_a_frozen_model_neither_counts_nor_probes(engine):
    model = make(engine, "p", policy="recommended", mode="frozen")
    before = model.state_hash()
    hopeless = {"rewards": [0.1], "losses": [0.0, -5.0]}
    found = [engine.decide("p", asked(f"d{i}", seed=i, **hopeless)) for i in range(40)]
    assert not any(decision.sequence for decision in found)
    assert model.state_hash() == before


def test_a_policy_without_a_belief_can_stand_in_the_shadow(engine):
    make(engine, "r", policy="rand", mode="shadow")
    decision = engine.decide("r", asked("x", baseline=["c2"]))
    assert [choice.id for choice in decision.sequence] == ["c2"]
    assert decision.sequence[0].estimate is None
    assert engine.settle("r", "x", told()).learned
    assert "baseline is played" in engine.read("r", "x").explanation
    with pytest.raises(InvalidInput, match="columns"):
        engine.decide("r", asked("y", features=[[0.1, 0.2]] * 5, baseline=[]))


def test_an_entry_that_cannot_be_learned_stops_everything(engine, path):
    """A decision whose rows fit no model of this dimension, as only a fault could write it."""
    other = engine.create("other", messages.ModelRequest(dim=2, policy="ind"))[0]
    engine.decide("m", asked("x"))
    entry, _ = engine.store.find(engine.model("m").number, "x")
    engine.store.append(Draft(other.number, DECISION, "x", *entry[4:])).result()
    with pytest.raises(StoreFailed, match="could not learn"):
        engine.settle("other", "x", told())
    with pytest.raises(StoreFailed, match="could not learn"):
        engine.decide("m", asked("y"))
    engine.close()
    again = Engine(SqliteStore(path))
    with pytest.raises(InvalidInput):
        again.start()
    again.close()


def test_an_outcome_whose_decision_is_gone_is_not_passed_over(engine, path):
    engine.decide("m", asked("x"))
    engine.settle("m", "x", told())
    change = "DELETE FROM log WHERE kind = 0"
    engine.store.writer.call(lambda session: session.execute(change))
    engine.ready = False
    engine.close()
    again = Engine(SqliteStore(path))
    with pytest.raises(StoreDamaged, match="has lost its decision"):
        again.start()
    again.close()


def test_upkeep_goes_on_after_a_failure(engine):
    upkeep = Upkeep(engine)
    engine.snapshot_every = 1
    engine.decide("m", asked("x"))
    engine.store.writer.most_waiting = 0
    upkeep.start()
    try:
        engine.store.writer.most_waiting = 100
        engine.settle("m", "x", told())
        until(lambda: engine.model("m").saved == 1)
    finally:
        upkeep.stop()


def test_a_model_that_many_make_at_once_is_one(engine):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(make(engine, "race"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(model) for model in found}) == 1
    assert len(engine.models()) == 2


def test_an_old_sqlite_is_refused(path, monkeypatch):
    monkeypatch.setattr(sqlite, "LEAST", (99, 0, 0))
    with pytest.raises(StoreFailed, match=r"99\.0\.0 or newer is needed"):
        SqliteStore(path)
