"""Numbers over time: nothing is lost as buckets merge, and a replay gives the same."""

import math
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import asked, fresh, make, told

from longrank.service.engine import stats as module
from longrank.service.engine.stats import DECISIONS, FIRST, MAX_NAMES, TIERS, Series
from longrank.service.store.records import DecisionRecord, Matrix, OutcomeRecord, Plan

NOW = 1_800_000_000.0


def decision(at, ids=("a", "b"), budget=3, estimate=0.5):
    estimates = [estimate] * len(ids)
    played = Plan(list(ids), list(range(len(ids))), estimates, estimates, [0.0] * (budget + 1))
    payoffs = {"rewards": [1.0] * budget, "losses": [0.0] * (budget + 1)}
    times = {"created": at, "expires": at + 60.0}
    rest = {"digest": b"", "mode": "online", "learned": 0, "rows": Matrix(0, b"")}
    return DecisionRecord(id="d", **times, **payoffs, **rest, played=played)


def outcome(at, succeeded, reward=0.0, paid=(), **more):
    told = {"id": "d", "recorded": at, "tried": 1, "succeeded": bool(succeeded), "learn": True}
    return OutcomeRecord(**told, reward=reward, spent=sum(paid), paid=list(paid), **more)


STEP = st.tuples(
    st.one_of(st.floats(0, 20), st.floats(0, 4e5), st.floats(-7_200, 0)),
    st.sampled_from(["a", "b", "c"]),
    st.booleans(),
    st.integers(0, 64),
)


@settings(deadline=None)
@given(st.lists(STEP, max_size=60))
def test_merging_keeps_all_sums(steps):
    series, now = Series(), NOW
    for passed, name, good, quarters in steps:
        now += passed
        made = decision(now, [name, "z"])
        series.decide(made)
        series.settle(made, outcome(now, good, 1.5, [quarters / 4.0]))
    span = series.within(None, max(now, NOW) + 1.0)
    for which, expected in (
        (module.DECISIONS, len(steps)),
        (module.OUTCOMES, len(steps)),
        (module.SUCCESSES, sum(good for _, _, good, _ in steps)),
        (module.REWARD, 1.5 * len(steps)),
        (module.SPENT, sum(quarters for *_, quarters in steps) / 4.0),
    ):
        assert sum(span.total(which)) == expected
    for i, name in enumerate(span.names):
        mine = [step for step in steps if step[1] == name]
        for which, expected in (
            (module.FIRST, len(mine)),
            (module.TRIED, len(mine)),
            (module.SUCCEEDED, sum(good for _, _, good, _ in mine)),
            (module.COST, sum(quarters for *_, quarters in mine) / 4.0),
        ):
            assert sum(span.candidate(i, which)) == expected
    assert span.starts == sorted(set(span.starts))
    assert sum(n for n, _, _ in span.calibration()) == len(steps)


def test_memory_is_bounded_however_long_it_runs(monkeypatch):
    monkeypatch.setattr(module, "TIERS", ((5, 50), (15, 150), (60, math.inf)))
    series = Series()
    for i in range(20_000):
        series.decide(decision(NOW + 3.0 * i, [f"c{i % 200}"]))
    assert sum(len(tier) for tier in series.tiers) <= 11 + 11 + module.MAX_OLDEST
    assert len(series.places) == MAX_NAMES
    assert len(series.numbers) <= module._NAMES + 5 * (MAX_NAMES + 1)
    span = series.within(None, NOW + 60_000.0)
    assert sum(span.total(DECISIONS)) == 20_000
    others = sum(span.candidate(MAX_NAMES, FIRST))
    assert others == 20_000 * (200 - MAX_NAMES) / 200


def test_a_younger_period_is_finer_and_counts_only_what_is_in_it():
    series = Series()
    for hour in range(400):
        series.decide(decision(NOW + 3600.0 * hour))
    end = NOW + 400 * 3600.0
    assert sum(series.within(86_400, end).total(DECISIONS)) in (24, 25)
    assert series.within(86_400, end).width < series.within(604_800, end).width
    assert sum(series.within(604_800, end).total(DECISIONS)) in (167, 168, 169, 170)
    assert sum(series.within(900, end + 10_000.0).total(DECISIONS)) == 0
    assert all(b[0] % a[0] == 0 for a, b in pairwise(TIERS))


def test_a_clock_that_was_in_the_future_hides_nothing_that_comes_later():
    series = Series()
    year = 366 * 86_400.0
    for at in (NOW, NOW + year, NOW + year + 60, NOW + 10, NOW + 500):
        series.decide(decision(at))
    assert sum(series.within(None, NOW + 600).total(DECISIONS)) == 5
    span = series.within(900, NOW + 600)
    assert sum(span.total(DECISIONS)) == 4  # the first has aged by a year
    assert span.starts[-1] <= NOW + 500


def test_a_replay_and_a_restart_give_the_same_numbers(engine, clock, reopen):
    model = make(engine, "shadow", mode="shadow")
    for i in range(40):
        clock.now += 7.0
        engine.decide("shadow", asked(f"d{i}", seed=i, baseline=["c1", "c0"]))
        if i % 3:
            engine.settle("shadow", f"d{i}", told(1, i % 2 == 0))
    live = engine.series(model)
    assert (sum(live.totals.decisions), sum(live.totals.outcomes)) == (40, 26)
    assert fresh(engine, "shadow").snapshot() == model.snapshot()
    engine.close()
    again = reopen()
    assert again.series(again.model("shadow")) == live


def tries(series, name, results, at=NOW, apart=0.1, estimate=0.5):
    """Count tries of a candidate, so many seconds apart; return when the last one was."""
    for good in results:
        at += apart
        series.settle(decision(at, [name], estimate=estimate), outcome(at, good))
    return at


@pytest.mark.parametrize(("phase", "estimate"), [(0.0, 0.9), (4.9, 0.9), (3.4, math.nan)])
def test_an_outage_within_one_bucket_is_marked_and_so_is_its_end(phase, estimate):
    """Ten tries a second, of which 90 % succeed; then twelve fail, and it works again."""
    series, rng = Series(), np.random.default_rng(0)
    began = tries(series, "a", rng.random(300) < 0.9, NOW + phase, estimate=estimate)
    ended = tries(series, "a", [False] * 12, began, estimate=estimate)
    (fall,) = series.marks
    assert fall.candidate == "a"
    assert abs(fall.at - began) < 1.0
    assert fall.before > 0.85
    assert fall.since < 0.3
    tries(series, "a", rng.random(300) < 0.9, ended, estimate=estimate)
    _, rise = series.marks
    assert abs(rise.at - ended) < 1.0
    assert rise.before < 0.3 < 0.7 < rise.since


def test_random_results_are_seldom_a_change():
    for rate in (0.3, 0.6, 0.9, 0.97):
        marks = 0
        for seed in range(10):
            series = Series()
            tries(series, "a", np.random.default_rng(seed).random(3_000) < rate, estimate=rate)
            marks += len(series.marks)
        assert marks <= 1, rate


def test_harder_cases_and_failures_of_others_are_no_change():
    series, rng = Series(), np.random.default_rng(0)
    at = tries(series, "a", rng.random(300) < 0.9, estimate=0.9)
    at = tries(series, "a", rng.random(300) < 0.3, at, estimate=0.3)
    assert series.marks == []
    for i in range(100):  # nor are failures that are not the candidate's
        told = outcome(at + i, False, attributable=False)
        series.settle(decision(at + i, ["a"], estimate=0.9), told)
    assert series.marks == []
    tries(series, "a", [False] * 30, at + 100, estimate=0.9)
    assert len(series.marks) == 1


def test_marks_are_few_and_copies_keep_theirs(monkeypatch):
    monkeypatch.setattr(module, "MAX_MARKS", 3)
    series, at, kept = Series(), NOW, []
    for round_ in range(4):
        series.decide(decision(at, [f"new {round_}"]))
        at = tries(series, "a", [True] * 60, at, estimate=math.nan)
        at = tries(series, "a", [False] * 40, at, estimate=math.nan)
        copy = series.copy()
        kept.append((copy, msgspec.msgpack.encode(copy)))
    assert len(series.marks) == 3
    assert series.marks == sorted(series.marks, key=lambda mark: mark.at)
    assert all(msgspec.msgpack.encode(copy) == before for copy, before in kept)
    again = msgspec.msgpack.decode(kept[-1][1], type=Series)
    assert again == series


def test_the_numbers_of_a_model_are_right(engine):
    for i in range(6):
        engine.decide("m", asked(f"d{i}", ttl=100.0))
    outcomes = told(1), told(2), told(3, False), told(2, False, attributable=False)
    for i, outcome in enumerate(outcomes):
        engine.settle("m", f"d{i}", outcome)
    stats = engine.describe(engine.model("m")).stats
    assert (stats.decisions, stats.outcomes, stats.pending, stats.learned) == (6, 4, 2, 3)
    assert stats.total_reward == pytest.approx(1.0 + 0.5 - 0.3 - 0.2)
    assert stats.mean_length == 3.0
    assert (stats.give_ups, stats.declined, stats.success_rate) == (0, 2, 0.5)
    assert [(p.tried, p.succeeded) for p in stats.by_position] == [(4, 1), (3, 1), (1, 0)]
    assert stats.curve.outcomes == [1, 1, 1, 1]


def test_the_curve_keeps_its_size_and_its_sum(engine):
    stats = engine.model("m").stats
    for i in range(403):
        stats._bin(float(i), 2, i % 2 == 0)
    shown = stats.shown(0).curve
    assert (shown.size, shown.outcomes) == (4, [4] * 100 + [3])
    assert shown.reward == [4 * i + 1.5 for i in range(100)] + [401.0]
    assert (shown.length, shown.give_ups[:100]) == ([2.0] * 101, [0.5] * 100)


def test_the_numbers_of_a_period_are_told(http, clock):
    http.put("/v1/models/cards", json={"currency": "EUR", "max_budget": 2})
    offered = [{"id": "adyen", "cost": 0.25}, {"id": "stripe", "cost": 0.5}]
    body = {"candidates": offered, "rewards": [4.0, 4.0], "losses": [0.0, 0.0, 0.0]}
    for i in range(10):
        clock.now += 60.0
        made = http.post("/v1/models/cards/decisions", json={"id": f"d{i}", **body}).json()
        told = {"tried": len(made["sequence"]), "succeeded": i != 4}
        http.put(f"/v1/models/cards/decisions/d{i}/outcome", json=told)
    period = http.get("/v1/models/cards/series?seconds=900").json()
    model = http.get("/v1/models/cards").json()["stats"]
    sums = {name: sum(values) for name, values in period["totals"].items()}
    assert period["currency"] == "EUR"
    assert sums["decisions"] == sums["outcomes"] == 10
    assert sums["declined"] + sums["gave_up"] == 1
    assert sums["reward"] == pytest.approx(model["total_reward"])
    assert sums["spent"] == pytest.approx(model["total_spent"])
    parts = {
        name: sum(sum(candidate[name]) for candidate in period["candidates"])
        for name in ("cost", "first", "tried")
    }
    assert (parts["cost"], parts["first"]) == (pytest.approx(model["total_spent"]), 10)
    assert sum(each["tried"] for each in period["calibration"]) == parts["tried"]
    assert sum(http.get("/v1/models/cards/series?seconds=100").json()["totals"]["decisions"]) < 4
    (short,) = http.get("/v1/summaries").json()["models"]
    assert (short["name"], short["decisions"], short["currency"]) == ("cards", 10, "EUR")
    assert http.get("/v1/models/cards/series?seconds=x").status_code == 422
    assert http.get("/v1/models/none/series").status_code == 404


def test_decisions_are_listed_by_candidate_result_and_id_and_tell_their_story(http, clock):
    http.put("/v1/models/m", json={"max_budget": 1, "ttl": 50.0})
    for i in range(12):
        body = {"id": f"d{i}", "candidates": ["a"] if i % 2 else ["<b>", "ü"]}
        http.post("/v1/models/m/decisions", json=body)
        if i < 8:
            told = {"tried": 1, "succeeded": i < 4}
            http.put(f"/v1/models/m/decisions/d{i}/outcome", json=told)

    def listed(**query):
        return http.get("/v1/models/m/decisions", params=query).json()

    def ids(**query):
        return [each["id"] for each in listed(**query)["decisions"]]

    def story(name):
        read = http.get(f"/v1/models/m/decisions/{name}").json()
        return read["status"], [event["event"] for event in read["history"]]

    assert ids(candidate="a") == [f"d{i}" for i in (11, 9, 7, 5, 3, 1)]
    assert ids(result="succeeded") == ["d3", "d2", "d1", "d0"]
    assert set(ids(result="declined") + ids(result="gave_up")) == {"d4", "d5", "d6", "d7"}
    assert ids(result="pending", candidate="a") == ["d11", "d9"]
    assert ids(search="d1") == ["d11", "d10", "d1"]
    assert ids(candidate="nobody") == []
    assert story("d9") == ("pending", ["decided"])
    clock.now += 60.0
    assert ids(result="expired") == ["d11", "d10", "d9", "d8"]
    assert story("d9") == ("expired", ["decided", "expired"])
    http.put("/v1/models/m/decisions/d9/outcome", json={"tried": 1, "succeeded": True})
    assert story("d9") == ("settled", ["decided", "expired", "outcome"])
    first = listed(limit=3)
    statuses = [(each["id"], each["status"]) for each in first["decisions"]]
    assert statuses == [("d11", "expired"), ("d10", "expired"), ("d9", "settled")]
    rest = listed(candidate="a", limit=4, cursor=first["next"])
    assert [each["id"] for each in rest["decisions"]] == ["d7", "d5", "d3", "d1"]
    cursor = listed(candidate="a", limit=4)["next"]
    assert ids(limit=4, candidate="a", cursor=cursor) == ["d3", "d1"]
    assert listed(candidate="a")["next"] is None
    for bad in ({"limit": "0"}, {"limit": "x"}, {"limit": "501"}, {"cursor": "x"}, {"result": "x"}):
        assert http.get("/v1/models/m/decisions", params=bad).status_code == 422
    read = http.get("/v1/models/m/decisions/d4").json()
    assert read["result"] in ("declined", "gave_up")
    assert read["stopped"] == "It uses the whole budget of 1 try."
    assert "tries" in read["explanation"]
    assert http.get("/v1/models/m/decisions/nobody").status_code == 404
