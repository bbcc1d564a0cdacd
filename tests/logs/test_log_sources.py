"""Frames, files and histories are taken alike, by every function that reads a log."""

from __future__ import annotations

import inspect
import pkgutil
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from small_world import JUDGED, chance, logged

import longrank.datasets
import longrank.experiments
import longrank.logs
from longrank import UCB, InvalidInput, Laplace, Polynomial, Random, recommended
from longrank.logs import History, check, evaluate, learn_from, report, write
from longrank.logs.rules import Rules

SOURCES = {
    "history": lambda rows, _: History(rows),
    "dictionaries": lambda rows, _: rows,
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "polars": lambda rows, _: pl.DataFrame(rows),
    "pyarrow": lambda rows, _: pa.Table.from_pylist(rows),
    "parquet": lambda rows, folder: _written(folder / "log.parquet", rows),
    "csv": lambda rows, folder: str(_written(folder / "log.csv", rows)),
    "jsonl": lambda rows, folder: _written(folder / "log.jsonl", rows),
}
POLICIES = {
    "polynomial": lambda: UCB(Laplace(15), features=Polynomial(2), exploration=0.1),
    "rand": lambda: Random(rng=1),
}


def _written(path, rows):
    write(path, rows)
    return path


@pytest.mark.parametrize("form", SOURCES)
def test_every_function_takes_every_source(form, tmp_path):
    rows = logged(chance(), 20)
    source = SOURCES[form](rows, tmp_path)
    assert check(source).decisions == 20
    policy = recommended(dim=4)
    assert learn_from(policy, source) == 20
    estimates = evaluate(source, {"x": policy}, resamples=5)
    wanted = evaluate(History(rows), {"x": policy}, resamples=5)
    assert list(map(str, estimates)) == list(map(str, wanted))
    assert report(source, {"x": policy}, tmp_path / "page.html", estimates).exists()


@pytest.mark.parametrize("name", POLICIES)
def test_both_ways_of_learning_from_a_history_give_the_same_policy(name):
    rows = logged(chance(), 60)
    by_function, by_method = POLICIES[name](), POLICIES[name]()
    assert learn_from(by_function, rows) == 60
    assert by_method.learn_from(History(rows)) == 60
    assert by_method.to_bytes() == by_function.to_bytes()


@pytest.mark.parametrize("package", [longrank.logs, longrank.experiments, longrank.datasets])
def test_no_function_shadows_a_module_of_its_own_package(package):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        parent, _, name = found.name.rpartition(".")
        there = getattr(__import__(parent, fromlist=[name]), name, None)
        assert there is None or inspect.ismodule(there), f"{found.name} is hidden by {there!r}"


def test_an_evaluation_reads_and_checks_a_log_once(tmp_path, monkeypatch):
    """Whatever the number of policies and estimators, and with the report."""
    path = _written(tmp_path / "log.jsonl", logged(chance(), 30))
    checked, read = [], Rules.read
    monkeypatch.setattr(
        Rules, "read", lambda self, *row: checked.append(row[0]) or read(self, *row)
    )
    history, policies = History(path), {name: make() for name, make in JUDGED.items()}
    evaluate(history.part(10), policies, resamples=5)
    assert len(checked) == 30
    kept = history.keep()
    learn_from(recommended(dim=4), kept.part(0, 10))
    evaluation = evaluate(kept.part(10), policies, resamples=5)
    report(kept.part(10), policies, tmp_path / "page.html", evaluation)
    assert len(checked) == 60


def test_what_is_kept_beyond_the_memory_lies_in_a_file_and_is_the_same(monkeypatch):
    rows = logged(chance(), 40)
    history = History(rows)
    kept = history.keep()
    monkeypatch.setattr("longrank.logs.history.MAX_KEPT_BYTES", 1000)
    spilled = history.keep()
    for one, other, third in zip(
        kept.decisions(), spilled.decisions(), spilled.decisions(), strict=True
    ):
        assert one.items.tobytes() == other.items.tobytes() == third.items.tobytes()
        assert one.features.tobytes() == other.features.tobytes()
        assert (one.id, one.order.tolist()) == (other.id, other.order.tolist())
    found = evaluate(spilled, {"x": JUDGED["chance"]()}, resamples=5)
    wanted = evaluate(kept, {"x": JUDGED["chance"]()}, resamples=5)
    assert list(map(str, found)) == list(map(str, wanted))
    assert np.isfinite(found[0].value)


def test_a_history_needs_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(logged(chance(), 5), {}, resamples=2)


def test_what_holds_no_pairs_is_refused_and_the_other_way_is_named():
    policy = recommended(dim=1)
    before = policy.to_bytes()
    for history in ("log.csv", 3, [{"id": 1}], [(1, 2, 3)], [("a", "b")], {"a": 1}):
        with pytest.raises(
            InvalidInput, match=r"^history must hold pairs .*longrank\.logs\.learn_from"
        ):
            policy.learn_from(history)
    assert policy.to_bytes() == before
