"""Scores, tables and commands, on rows with known answers."""

from __future__ import annotations

import csv
import math
from importlib import resources

import pytest
from made_up import as_published, row

from longrank.experiments.commands import commands
from longrank.experiments.scores import Key, Score, score_cells
from longrank.experiments.tables import (
    PAPER_TASKS,
    SIX,
    Comparison,
    PaperTable,
    label,
    published,
    tables,
)

CELL = Key("mnist-0", "vanilla", 1, "ind")


def entry(table: PaperTable, scenario: str, policy: str, budget: int = 1) -> Comparison:
    [found] = [
        one
        for one in table.entries()
        if (one.column.scenario, one.column.policy, one.budget) == (scenario, policy, budget)
    ]
    return found


def table_of(rows, task: str = "mnist-0") -> PaperTable:
    return next(table for table in tables(score_cells(rows)) if table.task == task)


def test_a_score_is_that_of_the_best_setting_of_the_grid():
    rows = [row(reward=reward, settings={"rate": reward}) for reward in (50.0, 90.0, 70.0)]
    score = score_cells(rows)[CELL]
    assert score.settings == ('{"rate": 90.0}',)
    assert (score.cumulative_reward, score.tried, score.seeds) == (90.0, 3, 1)
    assert score.ncr_published == pytest.approx(80 / 91)
    assert score.ncr == pytest.approx(80 / 90)


def test_of_equally_good_settings_the_first_counts():
    rows = [row(reward=90.0, settings={"rate": rate}) for rate in (2, 1)]
    assert score_cells(rows)[CELL].settings == ('{"rate": 2}',)


def test_with_several_seeds_it_is_the_mean_of_the_best_of_each():
    rewards = {(0, "a"): 50.0, (0, "b"): 60.0, (1, "a"): 80.0, (1, "b"): 40.0}
    rows = [row(reward=x, seed=s, settings={"name": n}) for (s, n), x in rewards.items()]
    score = score_cells(rows)[CELL]
    assert (score.cumulative_reward, score.seeds, score.tried) == (70.0, 2, 2)
    assert score.settings == ('{"name": "b"}', '{"name": "a"}')


def test_held_out_shuffles_give_a_mean_and_a_deviation_and_do_not_choose():
    rows = [row(reward=50.0)]
    rows += [row(reward=r, seed=s, protocol="held-out") for s, r in ((1, 55.5), (2, 64.6))]
    score = score_cells(rows)[CELL]
    assert score.cumulative_reward == 50.0
    assert score.held_out is not None
    assert score.held_out.mean == pytest.approx(0.55)
    assert score.held_out.deviation == pytest.approx(0.1 / math.sqrt(2))
    assert score.held_out.seeds == 2


def test_one_held_out_shuffle_has_no_deviation():
    score = score_cells([row(), row(seed=1, protocol="held-out")])[CELL]
    assert score.held_out is not None
    assert math.isnan(score.held_out.deviation)


def test_where_there_is_nothing_to_gain_held_out_scores_are_not_defined():
    rows = [row(cr_rand=100.0), *(row(seed=s, protocol="held-out", cr_rand=100.0) for s in (1, 2))]
    held_out = score_cells(rows)[CELL].held_out
    assert held_out is not None
    assert math.isnan(held_out.ncr)
    assert math.isnan(held_out.ncr_deviation)
    assert held_out.deviation == 0.0


def test_the_grid_with_the_most_settings_counts():
    rows = [row(reward=r, grid="paper", settings={"rate": r}) for r in (60.0, 70.0)]
    score = score_cells([row(reward=99.0), *rows])[CELL]
    assert (score.grid, score.cumulative_reward) == ("paper", 70.0)


def test_the_time_of_a_round_is_the_median_over_settings():
    rows = [row(seconds=seconds) for seconds in (1.0, 2.0, 900.0)]
    assert score_cells(rows)[CELL].seconds == 2.0 / 100


def test_all_published_numbers_are_there_by_our_names():
    assert len(published()) == 585
    assert published()[Key("mnist-9", "vanilla", 50, "eps")] == -4.56
    assert published()[Key("movielens-25m", "vanilla", 1, "ind")] == 0.40


def test_the_tables_have_the_layout_of_the_paper():
    all_tables = tables({})
    assert [table.task for table in all_tables] == list(PAPER_TASKS)
    for number, table in enumerate(all_tables, start=1):
        assert table.number == number
        assert [row[0].budget for row in table.rows] == [1, 5, 10, 50, 100]
        columns = [(column.scenario, column.label) for column in table.columns]
        assert columns == [
            *(("vanilla", n) for n in ("Rand", "Eps", "C-UCB1", "GL-CDCM", "Ind", "Dep")),
            *(("exponential", name) for name in ("Rand", "Ind", "Dep")),
        ]


def test_the_published_numbers_are_compared_with_ours():
    found = entry(table_of([row(reward=10 + 91 * 0.95)]), "vanilla", "ind")
    assert found.published is not None
    assert found.published == 0.97
    assert found.difference == pytest.approx(-0.02)
    assert entry(table_of([row()]), "vanilla", "dep").difference is None


def test_our_rule_for_bold_gives_the_papers_bold_but_for_one_slip_of_it():
    text = resources.files("longrank.experiments").joinpath("published.csv").read_text("utf-8")
    names = {**{label(policy): policy for policy in SIX}, "movielens": "movielens-25m"}
    bold = {
        Key(names.get(x["task"], x["task"]), x["scenario"], int(x["budget"]), names[x["policy"]])
        for x in csv.DictReader(text.splitlines())
        if x["bold"] == "1"
    }
    compared = [x for table in tables(score_cells(as_published())) for x in table.entries()]
    differing = [x.score.key for x in compared if x.score and x.best != (x.score.key in bold)]
    assert differing == [Key("mnist-4", "vanilla", 1, "eps")]  # 0.93, as GL-CDCM's, which is bold


def test_equal_at_two_decimals_is_equally_best():
    rows = [row("ind", 90.0), row("dep", 90.1), row("eps", 88.0)]
    table = table_of(rows)
    assert entry(table, "vanilla", "ind").best
    assert entry(table, "vanilla", "dep").best
    assert not entry(table, "vanilla", "eps").best
    assert not entry(table, "vanilla", "rand").best


def test_a_column_of_ours_only_is_marked_and_takes_nothing_from_the_papers():
    rewards = {"ind": 90.0, "eps": 95.0, "c-ucb1": 80.0}
    table = table_of([row(policy, r, scenario="exponential") for policy, r in rewards.items()])
    assert entry(table, "exponential", "eps").column.ours_only
    assert not entry(table, "exponential", "ind").column.ours_only
    best = {policy: entry(table, "exponential", policy).best for policy in rewards}
    assert best == {"ind": True, "eps": True, "c-ucb1": False}


def test_the_best_on_held_out_shuffles_is_found_by_itself():
    rows = [row("ind", 90.0), row("dep", 80.0)]
    rows += [row(p, r, seed=1, protocol="held-out") for p, r in (("ind", 60.0), ("dep", 70.0))]
    table = table_of(rows)
    assert [entry(table, "vanilla", p).best_held_out for p in ("ind", "dep")] == [False, True]


def test_other_tasks_and_scenarios_get_columns_for_what_was_run():
    rows = [row(task="digits-3", scenario="linear-0.08", budget=7), row("dep", task="digits-3")]
    table = table_of(rows, "digits-3")
    assert table.number is None
    assert [(c.scenario, c.policy) for c in table.columns] == [
        ("vanilla", "dep"),
        ("linear-0.08", "ind"),
    ]
    assert entry(table, "linear-0.08", "ind", 7).best
    assert table_of([row(scenario="linear-0.08")]).columns[-1].ours_only


def score_of(**settings) -> list[Score]:
    return list(score_cells([row(**settings)]).values())


def test_one_command_gives_all_that_was_run_alike():
    rows = as_published(tasks=("mnist-0",))
    rows = [one for one in rows if one["policy"] in ("ind", "dep")]
    assert commands(score_cells(rows).values()) == [
        "longrank run mnist-0 --scenario vanilla,exponential --budgets 1,5,10,50,100 "
        "--policies ind,dep --grid quick"
    ]


def test_what_was_run_otherwise_has_its_own_command():
    rows = [row("ind"), row("ind", budget=5), row("dep", grid="paper"), row("dep", seed=1)]
    rows += [row("ind", budget=5, seed=s, protocol="held-out") for s in (1, 2)]
    assert commands(score_cells(rows).values()) == [
        "longrank run mnist-0 --scenario vanilla --budgets 1 --policies ind --grid quick",
        "longrank run mnist-0 --scenario vanilla --budgets 5 --policies ind --grid quick "
        "--held-out 2",
        "longrank run mnist-0 --scenario vanilla --budgets 1 --policies dep --grid paper",
    ]


def test_all_ten_classes_have_one_name_and_strange_names_are_quoted():
    rows = [row(task=f"mnist-{pivot}", seed=s) for pivot in range(10) for s in (0, 1)]
    [command] = commands(score_cells(rows).values())
    assert command.startswith("longrank run mnist --scenario vanilla --budgets 1 --policies ind")
    assert command.endswith("--seeds 2")
    assert "'a; b'" in commands(score_of(task="a; b"))[0]


def test_the_six_policies_are_those_of_the_paper():
    assert set(SIX) == {key.policy for key in published()}
