"""The contest on data sets: its tasks are what they say, and its verdicts are counted right."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
MODULES = ("contest", "fields", "play", "players", "sets", "table", "tasks", "worlds")


@pytest.fixture
def module(monkeypatch, tmp_path):
    """Import a module of the benchmark, whose data is kept in a folder of its own."""
    monkeypatch.setenv("LONGRANK_QUALITY", str(tmp_path))
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "quality"))
    yield importlib.import_module
    for name in MODULES:
        sys.modules.pop(name, None)


def test_data_sets_become_numbers_and_tasks_and_a_missing_package_is_named(module):
    sets = module("sets")
    assert len(sets.names("choose")) == len(sets.names("report")) == 15
    assert not set(sets.names("choose")) & set(sets.names("report"))
    assert sets.coded(["b", "a", "b"]).tolist() == [1.0, 0.0, 1.0]
    assert sets.coded(["1", "nan", "3", "9"]).tolist() == [1.0, 3.0, 3.0, 9.0]  # the median
    classes = np.repeat(np.arange(6), [700, 100, 80, 60, 57, 3])
    assert sets.pivots(classes) == [1, 3, 4]  # from frequent to rare
    with pytest.raises(sets.Missing, match="no_such_package"):
        sets._inside("no_such_package", "file")


def test_hindsight_scores_one_and_the_columns_stay_as_they_are(module):
    sets, tasks = module("sets"), module("tasks")
    cell = next(tasks.cells("choose", ["digits"], 1))
    stream, items = cell.stream(), sets.load("digits")[0]
    assert stream.items.shape == (50_000, 64)
    assert stream.items.max() == items.max() == 16.0
    assert cell.score(float(stream.hindsight(cell.payoffs).sum())) == 1.0
    assert cell.score(stream.random_reward(cell.payoffs)) == 0.0


def test_a_cell_is_lost_by_the_best_rival_alone(module):
    table = module("table")
    scores = {
        ("wine", 0, "vanilla"): {
            "recommended": {"{}": {0: (0.9, 0.0), 1: (0.8, 0.0)}},
            "ind": {"a": {0: (0.5, 0.0), 1: (0.5, 0.0)}, "b": {0: (0.85, 0.0), 1: (0.85, 0.0)}},
            "forest": {"{}": {0: (0.95, 0.0)}},
        }
    }
    (with_trees,) = table.summaries(table.tuned(scores), trees=True)
    (without,) = table.summaries(table.tuned(scores), trees=False)
    (first,) = table.summaries(table.as_they_come(scores), trees=False)
    assert with_trees.leads == pytest.approx([-0.05])  # only the seed that both have played
    assert (with_trees.wins, with_trees.ties, with_trees.losses) == (0, 0, 1)
    assert (without.wins, without.ties, without.losses) == (0, 1, 0)
    assert first.leads == pytest.approx([0.35])


@pytest.mark.long
def test_a_second_call_plays_nothing_again(module, monkeypatch, tmp_path, capsys):
    contest = module("contest")
    asked = ["--sets", "routes-8", "--players", "recommended", "c-ucb1", "--seeds", "1"]
    image = ["--jobs", "1", "--image", str(tmp_path / "picture")]
    monkeypatch.setattr(sys, "argv", ["contest.py", *asked, *image])
    contest.main()
    once = (tmp_path / "results.jsonl").read_text()
    assert len(once.splitlines()) == 3 * (1 + 6)
    assert "| routes-8 | 3 |" in capsys.readouterr().out
    assert (tmp_path / "picture.png").exists()
    contest.main()
    assert (tmp_path / "results.jsonl").read_text() == once
