"""The benchmarks run and their results are right; how long things take is not tested."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from longrank import kernels
from longrank.cli import app
from longrank.experiments import bench
from longrank.experiments.bench import dependent, growth, likelihood, long, many, plain, simulated
from longrank.experiments.bench.measure import Row, Times, alternate, ratio, shown


def test_times_have_units_that_fit():
    assert [shown(2.0), shown(0.25), shown(3e-6)] == ["2 s", "250 ms", "3 us"]
    assert Times((3.0, 1.0, 2.0)).median == 2.0
    assert Times((4.0,)).per(2).least == 2.0


def test_plays_alternate_after_one_that_is_not_timed():
    calls: list[str] = []
    plays = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    alternate(plays, blocks=2, calls=2, threads=True)
    assert "".join(calls) == "ab" + 2 * "aabb"


def test_a_row_knows_whether_its_aim_is_met():
    row = ratio("x", Times((1.0,)), Times((4.0,)), 0.1)
    assert row.value == 0.25
    assert not row.met
    assert Row("x", 9.0, None, "").met


def test_the_plain_greedy_is_ours():
    case = dependent.usual(50, 7)
    order = kernels.greedy_coverage(*case, np.inf, 20)[0]
    assert np.array_equal(order, plain.greedy(*case, 20))


def test_every_dependent_ranking_is_that_of_the_plain_greedy():
    assert all("same sequence" in row.raw for row in dependent.figures())


def test_many_candidates_are_ranked_as_one_would_rank_them_all():
    rows = many.figures((5_000,))
    ranked = [row for row in rows if row.what.startswith("rank")]
    assert ranked
    assert all("result as exhaustive" in row.raw for row in ranked)


def test_the_fit_is_that_of_a_cold_one():
    assert likelihood.figures()[1].met


@pytest.mark.parametrize("module", [simulated, long, bench.rounds])
def test_the_others_run(module):
    assert all(row.value > 0.0 for row in module.figures())


def test_pictures_of_growth(tmp_path):
    for name, (axis, title, sizes, pair) in growth.SUBJECTS.items():
        subject = (axis, title, sizes[:2], pair)
        png = growth.draw(subject, growth.measured(subject, blocks=1), tmp_path / name)
        assert png.exists()


def test_the_command_prints_a_table(monkeypatch):
    rows = [Row("a thing", 2.0, 1.0, "raw"), Row("another", 0.5, 2.0, "raw", "s")]
    monkeypatch.setitem(bench.BENCHMARKS, "round", lambda: rows)
    told = CliRunner().invoke(app, ["bench", "--only", "round"])
    assert told.exit_code == 0
    assert "| a thing | 2 | ≤ 1 | missed | raw |" in told.output
    assert "| another | 0.5 s | ≤ 2 s | met | raw |" in told.output
    assert CliRunner().invoke(app, ["bench", "--only", "nothing"]).exit_code != 0
