"""The benchmarks report what they measure; how long things take is not tested."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from longrank import kernels
from longrank.cli import app
from longrank.cli.bench import NAMES
from longrank.experiments import bench, measure
from longrank.experiments.measure import Measure, Times, alternate, ratio, shown

DEAL = measure.rounds


@pytest.fixture
def targets(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import targets

    yield targets
    del sys.modules["targets"]


def pretend(monkeypatch, module: Any, times: Callable[[str], Times]) -> None:
    """Every play is called once, and takes the time that it pretends."""

    def pretended(plays, blocks, calls=1, threads=False):  # noqa: ARG001
        for play in plays.values():
            play()
        return {name: times(name) for name in plays}

    monkeypatch.setattr(module, "alternate", pretended)


def test_times_have_units_that_fit_and_a_figure_knows_whether_its_aim_is_met():
    assert [shown(2.0), shown(0.25), shown(3e-6)] == ["2 s", "250 ms", "3 us"]
    assert Times((3.0, 1.0, 2.0)).median == 2.0
    assert Times((4.0,)).per(2).minimum == 2.0
    row = ratio("x", Times((1.0,)), Times((4.0,)), 0.1)
    assert row.value == 0.25
    assert not row.met
    assert Measure("x", 9.0, None, "").met


def test_plays_alternate_after_one_that_is_not_timed():
    calls: list[str] = []
    plays = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    alternate(plays, blocks=2, calls=2, threads=True)
    assert "".join(calls) == "ab" + 2 * "aabb"


def test_every_dependent_ranking_is_that_of_the_plain_greedy(targets, monkeypatch):
    pretend(monkeypatch, targets, lambda _: Times((1.0,)))
    case = targets.usual(50, 7)
    order = kernels.greedy_coverage(*case, np.inf, 20)[0]
    assert np.array_equal(order, targets.greedy(*case, 20))
    assert all("same sequence" in row.raw for row in targets.measure_dependent(60, 10))


def test_many_candidates_are_ranked_as_all_would_be_in_little_memory(targets, monkeypatch):
    for module in (bench, targets):
        pretend(monkeypatch, module, lambda _: Times((1.0,)))
    monkeypatch.setattr(measure, "rounds", lambda dim, *_, **__: DEAL(dim, 8, 5))
    tied, *memory = targets.measure_memory(60)
    for row in (*bench.measure_many((60,)), tied):
        assert row.what.startswith("rank")
        assert "result as exhaustive" in row.raw
    assert [row.what.removeprefix("memory to rank 60 ") for row in memory] == [
        *("items, warm", "items, cold", "one-hot items, warm", "one-hot items, cold"),
        "items, by the default",
    ]
    assert all(row.value > 1.0 and row.aim == 1.2 for row in memory)


class Clock:
    """Time passes only where work is done, and twice as fast on the wall as in the processor."""

    def __init__(self) -> None:
        self.now = 0.0

    def process_time(self) -> float:
        return self.now

    def perf_counter(self) -> float:
        return 2.0 * self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def work(self, seconds: float) -> Callable[[], None]:
        def done() -> None:
            self.now += seconds

        return done


@pytest.fixture
def clock(targets, monkeypatch):
    made = Clock()
    for module in (measure, targets):
        monkeypatch.setattr(module, "time", made)
    return made


@pytest.mark.parametrize(("threads", "pace"), [(False, 1.0), (True, 2.0)])
def test_what_is_timed_is_the_work_and_nothing_else(clock, threads, pace):
    plays = {"ours": clock.work(3.0), "other": clock.work(12.0)}
    times = alternate(plays, blocks=3, calls=5, threads=threads)
    assert times["ours"].blocks == pytest.approx([3.0 * pace] * 3)
    assert times["other"].blocks == pytest.approx([12.0 * pace] * 3)
    row = ratio("x", times["ours"], times["other"], 0.25, "other")
    assert row.value == pytest.approx(0.25)
    assert f"longrank {times['ours']}, other {times['other']}" in row.raw


def test_every_figure_is_the_ratio_of_what_was_measured_beside_its_aim(targets, monkeypatch):
    seconds = {"longrank": 30.0, "numpy": 60.0, "n": 2.0, "2n": 5.0, "best": 30.0, "sum": 1.0}
    for module in (bench, targets):
        pretend(monkeypatch, module, lambda name: Times((0.1, seconds[name], 99.0)))
    monkeypatch.setattr(targets, "N", 50)
    monkeypatch.setattr(targets, "LENGTHS", 1_000)
    [row] = bench.measure_round()
    assert (row.value, row.aim, row.met) == (pytest.approx(0.5), None, True)
    rows = targets.measure_long()
    assert [row.value for row in rows] == pytest.approx([1 / 30, 2.5, 30.0])
    assert [(row.aim, row.met) for row in rows] == [(0.1, True), (2.2, False), (20.0, False)]


def test_the_default_is_measured_against_ind_by_the_minima(monkeypatch):
    times = {"default": Times((6.0, 12.0, 15.0)), "Ind": Times((2.0, 3.0, 4.0))}
    pretend(monkeypatch, bench, times.__getitem__)
    monkeypatch.setattr(bench, "SETTLING", 30)
    monkeypatch.setattr(measure, "rounds", lambda dim=10, count=5: DEAL(dim, 20, count))
    monkeypatch.setattr(bench, "SIZES", ((300, 10, 6.0), (400, 10, 8.0)))
    rows = bench.measure_default()
    assert [(row.value, row.aim) for row in rows] == [(3.0, aim) for aim in (3.0, 4.0, 6.0, 8.0)]
    assert [row.what.split(",")[0] for row in rows] == [
        *("a round of the default", "learning from 10 failures", "rank 300 x 10", "rank 400 x 10")
    ]


def test_a_likelihood_round_is_timed_as_one_of_ind_and_its_fit_is_that_of_a_cold_one(
    clock, targets, monkeypatch
):
    plays = measure.playing

    def slow(policy, payoffs):
        play = plays(policy, payoffs)
        spend = clock.work(6.0 if "Likelihood" in repr(policy) else 2.0)

        def done(items, wins):
            play(items, wins)
            spend()

        return done

    monkeypatch.setattr(measure, "playing", slow)
    monkeypatch.setattr(targets, "BLOCKS", 1)
    monkeypatch.setattr(targets, "FIRST", 40)
    monkeypatch.setattr(targets, "LAST", 50)
    timed, fit = targets.measure_likelihood()
    assert timed.value == pytest.approx(3.0)
    assert (timed.aim, fit.aim) == (30.0, 1e-8)
    assert fit.met


def test_the_start_is_that_of_new_processes(targets, monkeypatch):
    starts = iter([(7.0, 9.0, "compiling"), *[(0.5, 0.4, "")] * targets.STARTS])
    monkeypatch.setattr(targets, "_start", lambda _: next(starts))
    cached, first = targets.measure_start()
    assert (cached.value, cached.aim, cached.unit) == (0.5, 2.0, "s")
    assert (first.value, first.aim) == (7.0, 15.0)
    assert "it says nothing" in cached.raw
    assert "it says: compiling" in first.raw


def test_a_process_that_starts_reports_its_times_and_what_it_says(targets, monkeypatch, tmp_path):
    told = "import os, sys; print(0.25, 0.5); print(os.environ['NUMBA_CACHE_DIR'], file=sys.stderr)"
    monkeypatch.setattr(targets, "CODE", told)
    assert targets._start(str(tmp_path)) == (0.25, 0.5, str(tmp_path))


def test_the_command_prints_a_table(monkeypatch):
    rows = [Measure("a thing", 2.0, 1.0, "raw"), Measure("another", 0.5, 2.0, "raw", "s")]
    assert tuple(bench.BENCHMARKS) == NAMES
    monkeypatch.setitem(bench.BENCHMARKS, "round", lambda: rows)
    told = CliRunner().invoke(app, ["bench", "--only", "round"])
    assert told.exit_code == 0
    assert "| a thing | 2 | ≤ 1 | missed | raw |" in told.output
    assert "| another | 0.5 s | ≤ 2 s | met | raw |" in told.output
    assert CliRunner().invoke(app, ["bench", "--only", "nothing"]).exit_code != 0
