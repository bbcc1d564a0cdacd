"""Histories from every format, and what iterating them gives."""

import datetime

import numpy as np
import pytest
from small_world import FORMS, chance, logged

from longrank import InvalidInput, Outcome, Payoffs
from longrank.logs import History, check, formats


def _plain(decision):
    return (
        str(decision.id),
        decision.order.tolist(),
        decision.outcome,
        decision.items.tobytes(),
        decision.features.tobytes(),
        decision.payoffs,
        decision.budget,
        decision.propensity,
        decision.prefix_propensities.tobytes(),
        decision.time,
    )


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_decisions(form, tmp_path):
    rows = logged(chance(), 40)
    wanted = [_plain(decision) for decision in History(rows).decisions()]
    history = History(FORMS[form](rows, tmp_path))
    assert [_plain(decision) for decision in history.decisions()] == wanted
    assert [_plain(decision) for decision in history.decisions()] == wanted  # and again
    assert len(history) == 40


def test_ids_of_candidates_and_missing_columns_are_read(sound, tmp_path):
    rows = [{k: v for k, v in row.items() if k != "items"} for row in sound()]
    for form, make in FORMS.items():
        history = History(make(rows, tmp_path))
        first = next(history.decisions())
        assert first.order.tolist() == [2, 0], form
        assert (first.items, first.policy_version, first.budget) == (None, "v1", 3), form
        assert {a.name: a.possible for a in check(history).abilities}["warm start"], form


def test_files_are_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "BATCH", 7)
    rows = logged(chance(), 40)
    wanted = [_plain(decision) for decision in History(rows).decisions()]
    for form in ("parquet", "pandas", "polars", "pyarrow"):
        data = FORMS[form](rows, tmp_path)
        assert [_plain(decision) for decision in History(data).decisions()] == wanted


@pytest.mark.parametrize(
    "moments",
    [
        [1.5, 2.5, 2.5],
        ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-01-02T00:00:00Z"],
        [datetime.datetime(2026, 1, day) for day in (1, 2, 3)],
        [np.datetime64(f"2026-01-0{day}") for day in (1, 2, 3)],
    ],
)
def test_times_are_numbers_texts_or_timestamps(sound, moments):
    rows = [row | {"time": moment} for row, moment in zip(sound(), moments, strict=True)]
    times = [decision.time for decision in History(rows).decisions()]
    assert times == sorted(times)


def test_a_part_is_counted_from_its_own_beginning(sound):
    history = History(sound())
    assert [d.id for d in history.part(1).decisions()] == ["d1", "d2"]
    assert [d.id for d in history.part(1).part(1).decisions()] == ["d2"]
    assert [d.id for d in history.part(1).part(0, 1).decisions()] == ["d1"]
    assert (len(history.part(1)), len(history.part(0, 2)), len(history.part(5))) == (2, 2, 0)
    with pytest.raises(InvalidInput, match="last must be at least first"):
        history.part(2, 1)


def test_a_smaller_budget_cuts_sequences_outcomes_and_propensities(sound):
    rows = sound()
    rows[0] |= {"succeeded": True, "tried": 1}
    first, second, _ = History(rows).under(budget=1).decisions()
    assert (first.outcome, first.reward) == (Outcome(1, True), 1.0)
    assert (second.outcome, second.reward) == (Outcome(1, False), -0.1)
    assert second.order.tolist() == [2]
    assert (second.propensity, second.budget) == (0.3, 1)
    assert second.prefix_propensities.tolist() == [0.3]
    assert next(History(rows).under(budget=0).decisions()).propensity == 1.0
    # where a smaller budget ends the sequence, stopping there was no choice
    for budget, order, propensity in ((3, [2, 0], 0.05), (2, [2, 0], 0.1), (1, [2], 0.3)):
        first = next(History(rows).under(budget=budget).decisions())
        assert (first.order.tolist(), first.propensity) == (order, propensity)


def test_other_payoffs_change_what_was_earned(sound):
    history = History(sound()).under(lambda p: Payoffs(2.0 * p.rewards, 2.0 * p.losses))
    assert [decision.reward for decision in history.decisions()] == [-0.4, 1.0, -0.4]
    history = History(sound()).under(Payoffs.vanilla(3))
    assert [decision.reward for decision in history.decisions()] == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("form", ["parquet", "csv", "pandas"])
def test_a_round_without_candidates_is_a_decision_too(form, sound, tmp_path):
    none = {"candidates": [], "items": [], "order": [], "features": [], "tried": 0}
    rows = sound()
    rows[1] |= none | {"succeeded": False, "prefix_propensities": []}
    history = History(FORMS[form](rows, tmp_path))
    decision = list(history.decisions())[1]
    assert (decision.items.shape, decision.features.shape, decision.reward) == ((0, 2), (0, 2), 0.0)
    assert [len(ranking) for ranking, _ in history] == [2, 0, 2]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_learned_follows_the_outcomes_without_what_says_nothing(form, sound, tmp_path):
    told = [
        {"outcome_seq": 30, "learned": True, "not_attributable": []},
        {"outcome_seq": 10, "learned": True, "not_attributable": [1]},  # the second succeeded
        {"outcome_seq": 20, "learned": False, "not_attributable": []},  # too late
        {"outcome_seq": 15, "learned": True, "not_attributable": [2, 1]},
        {"outcome_seq": None, "learned": None, "tried": None, "succeeded": None},  # still open
    ]
    rows = [*sound(), *sound()[2:], *sound()[2:]]
    rows = [row | {"id": f"d{i}"} | told[i] for i, row in enumerate(rows)]
    history = History(FORMS[form](rows, tmp_path))
    assert [decision.id for decision in history.decisions()] == ["d0", "d1", "d2", "d3"]
    assert [decision.id for decision in history.learned()] == ["d1", "d3", "d0"]
    assert [decision.id for decision in history.part(0, 2).learned()] == ["d1", "d0"]
    (first, one), (second, none), (third, two) = history
    assert (one, none, two) == (Outcome(1, True), Outcome(0, False), Outcome(2, False))
    assert (first.order.tolist(), third.order.tolist(), len(second)) == ([0], [2, 0], 0)
    assert first.features.tolist() == rows[1]["features"][1:]
    warm = check(history).abilities[0]
    told = "4 decisions with 8 attempts; 1 of them excluded from learning"
    assert warm.reason == f"{told}; 1 more without an outcome"
