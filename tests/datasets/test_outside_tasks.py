"""Tasks of installed packages: by an entry point, without editing longrank."""

import numpy as np
import pytest
from small_world import call

from longrank.datasets import TASKS, Table, available, table
from longrank.datasets.tasks import task
from longrank.errors import InvalidInput
from longrank.experiments.results import read_results

CODE = """
import numpy as np
from longrank import Policy
from longrank.datasets import Table

def shop(seed, folder):
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(700, 4))
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    return Table("whatever", items[:600], (items[:600, 0] > 0.5) * 1.0, items[600:])

def wrong(seed, folder):
    return [1, 2]

class Reversed(Policy):
    "Tries the last candidates first, and learns nothing."

    def propose(self, items, payoffs, budget=None, *, rng=None, probe=True):
        count = min(payoffs.tries(budget), len(items))
        return self.receipt(items, payoffs, np.arange(len(items))[::-1][:count])

    def learn(self, ranking, outcome):
        pass

    def state(self):
        return {}

    @classmethod
    def from_state(cls, state, features):
        return cls()
"""


POINTS = """
[longrank.tasks]
shop = shop_tasks:shop
wrong = shop_tasks:wrong
[longrank.policies]
reversed = shop_tasks:Reversed
"""


@pytest.fixture
def installed(install_package):
    """A package that offers tasks and a policy."""
    install_package("shop_tasks", CODE, POINTS)


def test_a_task_of_a_package_is_a_task_like_ours(request, tmp_path):
    assert "shop" not in TASKS
    request.getfixturevalue("installed")
    assert {"shop", "digits-3"} <= set(TASKS)
    assert len(TASKS) == len(list(TASKS))
    assert available("shop")
    data = table("shop", 0, tmp_path)
    assert (data.name, data.items.shape, data.embedding_items.shape) == ("shop", (600, 4), (100, 4))
    assert task("shop").source == "shop"
    with pytest.raises(InvalidInput, match="dim must not be given for shop"):
        table("shop", 0, tmp_path, dim=3)
    with pytest.raises(InvalidInput, match=r"be one of .*shop"):
        table("shops", 0, tmp_path)
    with pytest.raises(InvalidInput, match="must return a longrank"):
        table("wrong", 0, tmp_path)


@pytest.mark.usefixtures("installed")
def test_a_task_and_a_policy_of_a_package_run_by_the_command_line(tmp_path):
    results, report = tmp_path / "results", tmp_path / "page"
    settings = ["--scenario", "vanilla", "--budgets", "1", "--policies", "rand,c-ucb1,reversed"]
    call("run", "shop", *settings, "--jobs", 1, "--out", results)
    assert {row["task"] for row in read_results([results])} == {"shop"}
    call("report", results, "--out", report)
    text = (report / "report.md").read_text("utf-8")
    assert "## shop" in text
    assert "| b | vanilla Rand | vanilla C-UCB1 | vanilla reversed |" in text


def test_a_table_that_makes_no_sense_is_refused():
    for wrong, message in [
        ({"items": [[1.0]]}, "items must be an array of float64"),
        ({"items": np.full((3, 2), 5.0)}, "items must be finite with rows of norm at most 1"),
        ({"embedding_items": np.zeros((2, 3))}, "embedding_items must have 2 columns"),
        ({"chances": np.zeros(2)}, r"chances must have shape \(3,\)"),
        ({"chances": np.full(3, 1.5)}, "chances must be probabilities"),
        ({"labels": np.zeros(4, np.int64)}, r"labels must have shape \(3,\)"),
    ]:
        right = {"items": np.zeros((3, 2)), "chances": np.zeros(3)}
        right |= {"embedding_items": np.zeros((2, 2))}
        with pytest.raises(InvalidInput, match=message):
            Table("t", **(right | wrong))
