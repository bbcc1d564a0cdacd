"""Reading: lists, stories and numbers."""

from __future__ import annotations

import pytest
from serving import asked, told

from longrank.logs import columns
from longrank.service import export
from longrank.service.errors import Unknown
from longrank.service.store.records import DecisionRecord, OutcomeRecord, Plan


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


def test_every_field_of_a_decision_is_a_column_of_its_export_or_internal():
    kinds = {"": DecisionRecord, "played.": Plan, "outcome.": OutcomeRecord}
    fields = {path + name for path, kind in kinds.items() for name in kind.__struct_fields__}
    internal = {"version", "digest", "planned_patience", "expected", "sparse", "sample", "records"}
    internal |= {"played", "played.reasons", "outcome"}
    of_outcomes = "version id paid reported gave_up why attributable automatic"
    internal |= {f"outcome.{name}" for name in of_outcomes.split()}
    assert fields - {column.field for column in export.COLUMNS} == internal


def test_a_column_of_the_history_format_has_its_type_from_there():
    untyped = {column.name for column in export.COLUMNS if column.kind is None}
    assert untyped == set(columns.COLUMNS) - {"policy_version"}  # a number here, any text there
