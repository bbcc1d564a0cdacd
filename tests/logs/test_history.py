"""Histories from every format, and what iterating them gives."""

from __future__ import annotations

import datetime
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from small_world import chance, logged

from longrank import InvalidInput, MissingExtra, Outcome, Payoffs
from longrank.logs import History, check, record, write
from longrank.logs import sources as reading

FORMS = {
    "parquet": lambda rows, folder: _written(folder / "log.parquet", rows),
    "csv": lambda rows, folder: _written(folder / "log.csv", rows),
    "jsonl": lambda rows, folder: _written(folder / "log.jsonl", rows),
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "polars": lambda rows, _: pl.DataFrame(rows),
    "pyarrow": lambda rows, _: pa.Table.from_pylist(rows),
    "dictionaries": lambda rows, _: rows,
}


def _written(path, rows):
    assert write(path, rows) == len(rows)
    return path


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
        decision.prefix.tobytes(),
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


@pytest.mark.parametrize("form", FORMS)
def test_ids_of_candidates_and_missing_columns_are_read(form, sound, tmp_path):
    rows = [{k: v for k, v in row.items() if k != "items"} for row in sound()]
    history = History(FORMS[form](rows, tmp_path))
    first = next(history.decisions())
    assert first.order.tolist() == [2, 0]
    assert (first.items, first.version, first.budget) == (None, "v1", 3)
    assert {a.name: a.possible for a in check(history).abilities}["warm start"]


def test_files_are_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 7)
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
    assert (second.propensity, second.prefix.tolist(), second.budget) == (0.3, [0.3], 1)
    assert next(History(rows).under(budget=0).decisions()).propensity == 1.0


def test_other_payoffs_change_what_was_earned(sound):
    history = History(sound()).under(lambda p: Payoffs(2.0 * p.rewards, 2.0 * p.losses))
    assert [decision.reward for decision in history.decisions()] == [-0.4, 1.0, -0.4]
    history = History(sound()).under(Payoffs.vanilla(3))
    assert [decision.reward for decision in history.decisions()] == [0.0, 1.0, 0.0]


def test_parquet_without_pyarrow_says_what_to_install(sound, tmp_path, monkeypatch):
    write(tmp_path / "log.parquet", sound())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"reading Parquet .* 'longrank\[logs\]'"):
        History(tmp_path / "log.parquet")
    with pytest.raises(MissingExtra, match=r"writing Parquet .* 'longrank\[logs\]'"):
        write(tmp_path / "again.parquet", sound())


def test_a_row_wants_a_propensity_for_each_prefix(sound):
    ranking, outcome = next(iter(History(sound())))
    with pytest.raises(InvalidInput, match="propensities must have 3 numbers"):
        record(1, ranking, outcome, Payoffs.vanilla(3), propensities=[0.5])


def test_what_is_no_table_is_refused():
    with pytest.raises(InvalidInput, match="history must be a path, a pandas or polars frame"):
        History(7)
    with pytest.raises(InvalidInput, match=r"path must end in .parquet, .csv or .jsonl"):
        write("log.txt", [])


def test_check_says_what_can_be_done_and_why_not_the_rest(sound):
    def able(rows):
        return {a.name: (a.possible, a.reason) for a in check(History(rows)).abilities}

    assert all(possible for possible, _ in able(sound()).values())
    kept = ("id", "order", "features", "tried", "succeeded", "candidates")
    rows = [{name: row[name] for name in kept} for row in sound()]
    found = able(rows)
    assert found["warm start"][0]
    assert found["bounds"] == (
        False,
        "3 of 3 decisions have no items; 3 of 3 decisions have no payoffs",
    )
    rows = [row | {"propensity": 1.0, "prefix_propensities": [1.0, 1.0]} for row in sound()]
    found = able(rows)
    assert found["bounds"][0]
    assert found["importance sampling"] == (
        False,
        "every propensity is 1: a deterministic log shows only what it played",
    )
    rows = [{k: v for k, v in row.items() if k != "prefix_propensities"} for row in sound()]
    found = able(rows)
    assert found["importance sampling"][0]
    assert "have no prefix_propensities" in found["doubly robust"][1]


def test_an_export_of_the_service_is_read_as_it_is(sound):
    names = {"time": "created", "policy_version": "version", "items": "candidate_features"}
    rows = [{names.get(k, k): v for k, v in row.items()} | {"learned": True} for row in sound()]
    rows[0] |= {"tried": None, "succeeded": None}  # still open
    rows[1] |= {"learned": False}  # known, but too late
    history = History(pa.Table.from_pylist(rows))
    assert [d.id for d in history.decisions()] == ["d1", "d2"]
    assert all(d.items is not None and d.time and d.version == "v1" for d in history.decisions())
    assert len(list(history)) == 1
    assert check(history).decisions == 2


def test_columns_that_are_not_of_the_format_are_named(sound):
    rows = [row | {"propensty": 0.1} for row in sound()]
    assert check(History(rows)).ignored == ("propensty",)
