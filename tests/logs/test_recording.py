"""Rows of decisions, and files of them."""

import sys

import pytest

from longrank import InvalidInput, MissingExtra, Payoffs
from longrank.logs import History, check, record, write


def test_parquet_without_pyarrow_says_what_to_install(sound, tmp_path, monkeypatch):
    write(tmp_path / "log.parquet", sound())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"reading Parquet .* '\.\[logs\]'"):
        History(tmp_path / "log.parquet")
    with pytest.raises(MissingExtra, match=r"writing Parquet .* '\.\[logs\]'"):
        write(tmp_path / "again.parquet", sound())


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_keep_every_column_or_say_which_comes_too_late(ending, sound, tmp_path, monkeypatch):
    path, rows = tmp_path / f"log.{ending}", sound()
    rows[2] |= {"learned": False, "shop": "x"}
    write(path, rows)
    assert [decision.learned for decision in History(path).decisions()] == [True, True, False]
    assert check(History(path)).ignored == ("shop",)
    assert write(path, []) == 0
    assert [str(problem) for problem in check(History(path)).problems] == [
        f"log.{ending}: the log must hold at least one decision, got an empty log"
    ]
    if ending != "jsonl":
        monkeypatch.setattr(sys.modules[write.__module__], "BATCH", 2)
        rule = r"only columns of the first 2 rows, got learned, shop"
        with pytest.raises(InvalidInput, match=rule):
            write(path, rows)


def test_a_row_wants_a_propensity_for_each_prefix_and_a_file_an_ending_that_is_known(sound):
    ranking, outcome = next(iter(History(sound())))
    with pytest.raises(InvalidInput, match="propensities must have 3 numbers"):
        record(1, ranking, outcome, Payoffs.vanilla(3), propensities=[0.5])
    with pytest.raises(InvalidInput, match=r"path must end in .parquet, .csv or .jsonl"):
        write("log.txt", [])
