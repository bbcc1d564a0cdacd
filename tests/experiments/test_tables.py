"""Scores, tables and commands, on rows with known answers."""

import csv
import math
from importlib import resources

import pytest
from made_up import as_published, row

from longrank.experiments.commands import commands
from longrank.experiments.scores import Key, deviation, mean, score_cells
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
    entries = {(x.column.scenario, x.column.policy, x.budget): x for x in table.entries()}
    return entries[scenario, policy, budget]


def table_of(rows, task: str = "mnist-0") -> PaperTable:
    return next(table for table in tables(score_cells(rows)) if table.task == task)


def test_a_score_is_that_of_the_best_setting_and_the_first_of_equally_good_ones():
    rows = [row(reward=x, settings={"rate": n}) for n, x in enumerate((50.0, 90.0, 70.0, 90.0))]
    for one, seconds in zip(rows, (1.0, 2.0, 3.0, 900.0), strict=True):
        one["seconds"] = seconds
    score = score_cells(rows)[CELL]
    assert score.settings == ('{"rate": 1}',)
    assert (score.cumulative_reward, score.tried, score.seeds) == (90.0, 4, 1)
    assert score.ncr_published == pytest.approx(80 / 91)
    assert score.ncr == pytest.approx(80 / 90)
    assert score.seconds == 2.5 / 100  # the median over settings, of a round


def test_with_several_seeds_a_score_is_the_mean_of_the_best_of_each_and_of_the_finest_grid():
    rewards = {(0, "a"): 50.0, (0, "b"): 60.0, (1, "a"): 80.0, (1, "b"): 40.0}
    rows = [row(reward=x, seed=s, settings={"name": n}) for (s, n), x in rewards.items()]
    rows.append(row(reward=99.0, grid="paper"))
    score = score_cells(rows)[CELL]
    assert (score.grid, score.cumulative_reward, score.seeds, score.tried) == ("quick", 70.0, 2, 2)
    assert score.settings == ('{"name": "b"}', '{"name": "a"}')


def test_held_out_shuffles_give_a_mean_and_a_deviation_and_do_not_choose():
    rows = [row(reward=50.0)]
    rows += [row(reward=r, seed=s, protocol="held-out") for s, r in ((1, 55.5), (2, 64.6))]
    score = score_cells(rows)[CELL]
    assert score.cumulative_reward == 50.0
    assert len(score.held_out) == 2
    assert mean(score.held_out, "ncr_published") == pytest.approx(0.55)
    assert deviation(score.held_out, "ncr_published") == pytest.approx(0.1 / math.sqrt(2))
    assert math.isnan(deviation(score_cells(rows[:2])[CELL].held_out, "ncr_published"))
    rows = [one | {"cr_rand": 100.0, "ncr": math.nan} for one in rows]  # there is nothing to gain
    held_out = score_cells(rows)[CELL].held_out
    assert math.isnan(mean(held_out, "ncr"))
    assert math.isnan(deviation(held_out, "ncr"))


def test_the_published_numbers_are_there_by_our_names_and_compared_with_ours():
    assert len(published()) == 585
    assert published()[Key("mnist-9", "vanilla", 50, "eps")] == -4.56
    assert published()[Key("movielens-25m", "vanilla", 1, "ind")] == 0.40
    assert set(SIX) == {key.policy for key in published()}
    compared = entry(table_of([row(reward=10 + 91 * 0.95)]), "vanilla", "ind")
    assert compared.published == 0.97
    assert compared.difference == pytest.approx(-0.02)
    assert entry(table_of([row()]), "vanilla", "dep").difference is None


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


def test_the_best_is_found_at_two_decimals_for_each_protocol():
    rows = [row("ind", 90.0), row("dep", 90.1), row("eps", 88.0)]
    rows += [row(p, r, seed=1, protocol="held-out") for p, r in (("ind", 60.0), ("dep", 70.0))]
    table = table_of(rows)
    fields = [entry(table, "vanilla", policy) for policy in ("ind", "dep", "eps", "rand")]
    assert [field.best for field in fields] == [True, True, False, False]
    assert [field.best_held_out for field in fields] == [False, True, False, False]


def test_a_column_of_ours_only_is_marked_and_takes_nothing_from_the_papers():
    rewards = {"ind": 90.0, "eps": 95.0, "c-ucb1": 80.0}
    table = table_of([row(policy, r, scenario="exponential") for policy, r in rewards.items()])
    fields = [entry(table, "exponential", policy) for policy in rewards]
    assert [field.column.ours_only for field in fields] == [False, True, True]
    assert [field.best for field in fields] == [True, True, False]


def test_other_tasks_and_scenarios_get_columns_for_what_was_run():
    rows = [row(task="digits-3", scenario="linear-0.08", budget=7), row("dep", task="digits-3")]
    table = table_of(rows, "digits-3")
    assert table.number is None
    columns = [(c.scenario, c.policy) for c in table.columns]
    assert columns == [("vanilla", "dep"), ("linear-0.08", "ind")]
    assert entry(table, "linear-0.08", "ind", 7).best
    assert table_of([row(scenario="linear-0.08")]).columns[-1].ours_only


def test_commands_give_all_that_was_run_alike_at_once_and_quote_strange_names():
    def lines(rows) -> list[str]:
        return commands(score_cells(rows).values())

    rows = [one for one in as_published(tasks=("mnist-0",)) if one["policy"] in ("ind", "dep")]
    assert lines(rows) == [
        "longrank run mnist-0 --scenario vanilla,exponential --budgets 1,5,10,50,100 "
        "--policies ind,dep --grid quick"
    ]
    rows = [row("ind"), row("ind", budget=5), row("dep", grid="paper"), row("dep", seed=1)]
    rows += [row("ind", budget=5, seed=s, protocol="held-out") for s in (1, 2)]
    assert lines(rows) == [
        "longrank run mnist-0 --scenario vanilla --budgets 1 --policies ind --grid quick",
        "longrank run mnist-0 --scenario vanilla --budgets 5 --policies ind --grid quick "
        "--held-out 2",
        "longrank run mnist-0 --scenario vanilla --budgets 1 --policies dep --grid paper",
    ]
    [command] = lines([row(task=f"mnist-{i}", seed=s) for i in range(10) for s in (0, 1)])
    assert command.startswith("longrank run mnist --scenario vanilla --budgets 1 --policies ind")
    assert command.endswith("--seeds 2")
    assert "'a; b'" in lines([row(task="a; b")])[0]
