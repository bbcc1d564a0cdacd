"""Experiments as data."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from longrank.errors import InvalidInput
from longrank.experiments.results import ResultRow
from longrank.experiments.settings import (
    GRIDS,
    Cell,
    cells,
    fees,
    grid_of,
    held_out,
    payoffs,
    policies,
)
from longrank.payoffs import Payoffs


def test_a_cell_has_every_combination_of_its_grid_once():
    for policy in policies():
        for grid in GRIDS:
            found = Cell("digits-3", "vanilla", 5, policy, grid, 0).settings()
            expected = int(np.prod([len(axis) for axis in grid_of(policy, grid).values()]))
            assert len({json.dumps(one) for one in found}) == len(found) == expected


def test_the_paper_grid_spans_the_ranges_of_the_paper():
    grid = {name: grid_of(name, "paper") for name in policies()}
    assert grid["ind-gmm"] == grid["dep"]
    assert (min(grid["ind"]["rate"]), max(grid["ind"]["rate"])) == (1, 100)
    assert (min(grid["ind"]["exploration"]), max(grid["ind"]["exploration"])) == (1e-9, 10)
    assert (min(grid["eps"]["epsilon"]), max(grid["eps"]["epsilon"])) == (0.01, 0.5)
    assert (min(grid["gl-cdcm"]["penalty"]), max(grid["gl-cdcm"]["penalty"])) == (1e-7, 1e3)
    assert (min(grid["dep"]["topics"]), max(grid["dep"]["topics"])) == (3, 30)


def test_scenarios_are_named():
    assert payoffs("vanilla", 3) == Payoffs.vanilla(3)
    assert payoffs("exponential", 3) == Payoffs.exponential(3)
    assert payoffs("linear-0.08", 3) == Payoffs.linear(3, attempt_cost=0.08)
    assert payoffs("fees-0.02-0.2", 3) == Payoffs.vanilla(3)
    assert (fees("fees-0.02-0.2"), fees("vanilla")) == ((0.02, 0.2), None)


def test_a_cell_that_makes_no_sense_is_refused():
    for wrong, message in [
        ({"scenario": "linear-x"}, "scenario must be vanilla, exponential, linear-COST or fees-"),
        ({"scenario": "fees-x-0.1"}, "scenario must be fees-LOW-HIGH, such as fees-0.02-0.2, got"),
        ({"scenario": "fees-0.2-0.1"}, "scenario must have LOW at most HIGH in fees-LOW-HIGH, got"),
        ({"policy": "best"}, "policy must be one of recommended, .*rand, eps"),
        ({"grid": "huge"}, "grid must be one of paper, quick, got 'huge'"),
        ({"budget": -1}, "budget must be at least 0"),
    ]:
        right = {"task": "mnist-1", "scenario": "vanilla", "budget": 1, "policy": "ind"}
        with pytest.raises(InvalidInput, match=message):
            Cell(**(right | {"grid": "quick", "seed": 0} | wrong))  # type: ignore[arg-type]


def test_cells_are_all_combinations_with_names_of_their_own():
    some = list(cells(["a", "b"], ["vanilla", "exponential"], [1, 5], ["ind", "dep"], "quick", 2))
    assert len({cell.name for cell in some}) == len(some) == 32
    assert [cell.task for cell in some] == ["a"] * 16 + ["b"] * 16


def test_held_out_cells_run_the_chosen_setting_on_later_shuffles():
    some = list(cells(["a"], ["vanilla"], [1], ["c-ucb1"], "quick", 2))
    chosen = {some[0].name: '{"exploration": 0.1}'}
    further = list(held_out(some, chosen, 3))
    assert [cell.seed for cell in further] == [2, 3, 4]
    assert all(cell.settings() == [{"exploration": 0.1}] for cell in further)
    assert not {cell.name for cell in further} & {cell.name for cell in some}


def test_every_column_of_the_results_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text("utf-8")
    _, _, table = page.partition("| column | meaning |")
    documented = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]*) \|", table, re.M))))
    assert documented == set(ResultRow.__annotations__)
