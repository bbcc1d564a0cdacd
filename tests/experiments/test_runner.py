"""Running cells: results kept, resumed, equal everywhere."""

import os
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longrank import Outcome
from longrank.errors import BadFile, InvalidInput
from longrank.experiments import runner
from longrank.experiments.results import ResultRow, choose, finished, read_results, write_cell
from longrank.experiments.runner import run, run_cell
from longrank.experiments.settings import Cell, cells, held_out, payoffs
from longrank.experiments.streams import SYNTHETIC, all_tasks, mixture, situation, stream
from longrank.simulation import Stream, run_stream

POLICIES = ["rand", "eps", "c-ucb1", "ind", "dep"]
SOME = list(cells(["digits-3"], ["exponential"], [5], POLICIES, "quick", 1))
SETTING = '{"rate": 3, "exploration": 0.01, "radius": 3}'
ONE_SETTING = Cell("payments-8", "exponential", 5, "ind", "quick", 1, SETTING)


@pytest.fixture(autouse=True)
def data(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.getbasetemp() / "data"
    monkeypatch.setenv("LONGRANK_DATA", str(folder))


def numbers(out: Path) -> list[ResultRow]:
    """All but what may differ between two runs: the time they took."""
    return [row | {"seconds": 0.0} for row in read_results([out])]  # type: ignore[misc]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The results of one process."""
    out = tmp_path_factory.mktemp("alone")
    os.environ["LONGRANK_DATA"] = str(tmp_path_factory.getbasetemp() / "data")
    assert run(SOME, out) == []
    yield numbers(out)
    del os.environ["LONGRANK_DATA"]


def test_a_row_tells_all_and_the_best_of_a_cell_has_its_rewards(alone):
    assert len(alone) == sum(len(cell.settings()) for cell in SOME)
    for row in alone:
        room = row["cr_max"] - row["cr_rand"]
        assert row["ncr"] == (row["cumulative_reward"] - row["cr_rand"]) / room
        assert row["ncr_published"] == (row["cumulative_reward"] - row["cr_rand"]) / (room + 1.0)
        assert row["rounds"] == 13
        assert row["protocol"] == "grid"
    for cell in SOME:
        rows = [row for row in alone if row["policy"] == cell.policy]
        best = max(row["cumulative_reward"] for row in rows)
        [curve] = [row["curve"] for row in rows if row["curve"] is not None]
        assert sum(curve) == pytest.approx(best, abs=1e-12)


def test_results_tell_what_was_spent_where_items_have_fees(tmp_path):
    cell = Cell("digits-3", "fees-0.1-0.2", 1, "rand", "quick", 0)
    [made] = run_cell(cell)
    assert 0.1 <= made["mean_spent"] <= 0.2
    write_cell(tmp_path, cell, [made])
    plain = run_cell(Cell("digits-3", "vanilla", 1, "rand", "quick", 0))
    assert plain[0]["mean_spent"] is None
    write_cell(tmp_path, Cell("digits-3", "vanilla", 1, "rand", "quick", 0), plain)
    assert read_results([tmp_path]) == [made, *plain]


def test_compiling_is_no_part_of_the_time_of_a_run(monkeypatch):
    seen: list[int] = []
    real = runner.run_stream

    def watched(policy: Any, dealt: Any, worth: Any) -> Any:
        seen.append(dealt.rounds)
        return real(policy, dealt, worth)

    monkeypatch.setattr(runner, "run_stream", watched)
    cell = Cell("digits-3", "vanilla", 3, "c-ucb1", "quick", 0)
    run_cell(cell)
    assert seen == [min(runner.FIRST, 13), *[13] * len(cell.settings())]


def test_the_beginning_of_a_stream_is_its_first_rounds():
    whole = situation("digits-3", "ind", {"rate": 1, "radius": 1}, 5, 0, None)[1]
    whole = whole.with_fees(0.1, 0.2, 0)
    short = whole.beginning(4)
    assert short.rounds == 4
    end = short.starts[-1]
    assert len(short.items) == len(short.wins) == len(short.costs) == end == whole.starts[4]
    assert whole.beginning(99).rounds == whole.rounds


def test_two_processes_give_the_same_numbers_to_the_last_bit(alone, tmp_path):
    assert run(SOME, tmp_path, jobs=2) == []
    assert numbers(tmp_path) == alone


@pytest.mark.filterwarnings("default")  # the cluster's own
@pytest.mark.long
def test_a_dask_cluster_gives_the_same_numbers_to_the_last_bit(alone, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        assert run(SOME, tmp_path, jobs=2, backend="dask", address=address) == []
    assert numbers(tmp_path) == alone


@pytest.mark.filterwarnings("default")
@pytest.mark.long
def test_a_ray_cluster_gives_the_same_numbers_to_the_last_bit(alone, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_gcs_server_request_timeout_seconds", "600")
    monkeypatch.setenv("RAY_health_check_timeout_ms", "600000")
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    for left in reversed(range(5)):  # a node gives up after 30 s, too few on a busy machine
        try:
            cluster.add_node(num_cpus=2)
            break
        except Exception:
            if not left:
                raise
    try:
        cluster.wait_for_nodes(timeout=600)
        assert run(SOME, tmp_path, jobs=2, backend="ray", address=cluster.address) == []
    finally:
        cluster.shutdown()
    assert numbers(tmp_path) == alone


def test_a_stopped_run_goes_on_where_it_was(alone, tmp_path):
    def stop(cell: Cell) -> None:
        if cell.policy == "c-ucb1":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(SOME, tmp_path, done=stop)
    assert [finished(tmp_path, cell) for cell in SOME] == [True, True, True, False, False]
    rerun: list[str] = []
    assert run(SOME, tmp_path, done=lambda cell: rerun.append(cell.policy)) == []
    assert rerun == ["ind", "dep"]
    assert numbers(tmp_path) == alone
    assert not list(tmp_path.glob("*.part"))


def test_a_failing_cell_is_reported_and_the_others_are_not_lost(tmp_path, monkeypatch):
    def fail(cell: Cell, folder: str | None = None) -> list[ResultRow]:
        if cell.policy == "eps":
            raise ZeroDivisionError("on purpose")
        return run_cell(cell, folder)

    monkeypatch.setattr(runner, "run_cell", fail)
    failures = run(SOME[:3], tmp_path)
    assert [failure.cell.policy for failure in failures] == ["eps"]
    assert "on purpose" in failures[0].reason
    assert [finished(tmp_path, cell) for cell in SOME[:3]] == [True, False, True]


def test_nothing_is_overwritten_and_what_is_no_result_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="backend must be one of processes, dask, ray"):
        run(SOME[:1], tmp_path, backend="slurm")
    with pytest.raises(InvalidInput, match=r"results must be a folder with \.parquet files"):
        read_results([tmp_path])
    rows = run_cell(SOME[0])
    write_cell(tmp_path, SOME[0], rows)
    with pytest.raises(InvalidInput, match="out must not hold this cell already"):
        write_cell(tmp_path, SOME[0], rows)
    (tmp_path / "x.parquet").write_bytes(b"no")
    with pytest.raises(BadFile, match="is not a results file of longrank"):
        read_results([tmp_path])


def test_the_setting_for_held_out_shuffles_is_the_best_of_the_others(tmp_path):
    some = list(cells(["digits-3"], ["exponential"], [5], ["c-ucb1"], "quick", 2))
    run(some, tmp_path)
    rows = read_results([tmp_path])
    totals: dict[str, float] = {}
    for row in rows:
        totals[row["settings"]] = totals.get(row["settings"], 0.0) + row["cumulative_reward"]
    chosen = choose(tmp_path, some)
    assert chosen == {some[0].name: max(totals, key=lambda name: totals[name])}
    run(list(held_out(some, chosen, 2)), tmp_path)
    held = [row for row in read_results([tmp_path]) if row["protocol"] == "held-out"]
    assert sorted(row["seed"] for row in held) == [2, 3]
    assert {row["settings"] for row in held} == set(chosen.values())


def test_synthetic_tasks_are_learned_and_ind_on_the_latent_space_sees_topics_as_items():
    [row] = run_cell(ONE_SETTING)
    assert row["protocol"] == "held-out"
    assert row["ncr"] > 0.1
    sizes = {task: stream(task, 0, None).items.shape for task in SYNTHETIC}
    expected = {"logistic": (50_000, 10), "payments-8": (4_000, 12), "payments-100": (50_000, 104)}
    assert sizes == expected
    settings = {"topics": 10, "rate": 3, "exploration": 0.1, "radius": 3}
    policy, seen = situation("digits-3", "ind-gmm", settings, 5, 0, None)
    assert seen.items.shape[1] == 10
    assert run_stream(policy, seen, payoffs("vanilla", 5)).rewards.sum() > 0.0


def test_a_damaged_mixture_is_fitted_anew(tmp_path):
    first = mixture.__wrapped__("digits-3", 5, str(tmp_path))
    (file,) = (tmp_path / "prepared").glob("topics-5-*")
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    again = mixture.__wrapped__("digits-3", 5, str(tmp_path))
    assert file.read_bytes() == whole
    assert again.means.tobytes() == first.means.tobytes()


@pytest.mark.parametrize("budget", [2, 4])
@pytest.mark.parametrize("fees", [False, True])
def test_the_expected_reward_of_a_random_order_is_the_mean_of_all(budget, fees):
    wins = np.array([1, 0, 0, 1, 0, 0, 0, 0, 1, 1], np.bool_)
    rounds = Stream(np.zeros((10, 1)), np.array([0, 4, 7, 8, 10]), wins)
    rounds = rounds.with_fees(0.1, 0.4, 0) if fees else rounds
    worth, total = payoffs("exponential", budget), 0.0
    for t, (start, end) in enumerate(pairwise(rounds.starts.tolist())):
        earned = []
        for order in permutations(range(end - start), min(budget, end - start)):
            hits = np.flatnonzero(wins[start:end][list(order)])
            outcome = Outcome(int(hits[0]) + 1, True) if hits.size else Outcome(len(order), False)
            earned.append(rounds.paid(worth, t).along(order).reward(outcome))
        total += sum(earned) / len(earned)
    assert rounds.random_reward(worth) == pytest.approx(total, abs=1e-12)
    assert rounds.hindsight(worth).max() <= (0.9 if fees else 1.0)


def test_a_task_may_stand_for_all_its_classes():
    others = [f"mnist-{i}" for i in range(10) if i != 3]
    assert all_tasks(["mnist-3", "mnist"]) == ["mnist-3", *others]
    assert all_tasks(["logistic", "msd"]) == ["logistic", "msd"]
    with pytest.raises(InvalidInput, match="task must be one of digits, fashion"):
        all_tasks(["netflix"])
