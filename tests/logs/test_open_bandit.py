"""The Open Bandit data as a log of single tries: made up, and real where it is present."""

import csv
import runpy
from pathlib import Path

import numpy as np
import pytest

from longrank import Payoffs
from longrank.datasets import data_folder
from longrank.logs import check

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "logs" / "open_bandit.py"))
RATES = np.array([0.02, 0.5, 0.05, 0.1])
LIKED = np.array([0.1, 0.6, 0.1, 0.2])


@pytest.fixture
def folder(tmp_path):
    """Two logs of a campaign with four items, of which one policy likes the best most."""
    rng = np.random.default_rng(2)
    for behaviour, shares in (("random", np.full(4, 0.25)), ("bts", LIKED)):
        home = tmp_path / behaviour / "men"
        home.mkdir(parents=True)
        with (home / "men.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["timestamp", "item_id", "position", "click", "propensity_score"])
            for t in range(900):
                item = int(rng.choice(4, p=shares))
                click = int(rng.random() < RATES[item])
                time = f"2019-11-24 00:{t // 60:02}:{t % 60:02}+00:00"
                writer.writerow([time, item, t % 3 + 1, click, shares[item]])
        with (home / "item_context.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["item_id", "item_feature_0"], *enumerate(range(4))])
    return tmp_path


def test_the_value_of_one_policy_is_predicted_from_the_log_of_another(folder):
    found = SCRIPT["predict"](folder, "men")
    value, low, high = found["predicted"]
    assert low < float(RATES @ LIKED) < high
    assert value == pytest.approx(float(RATES @ LIKED), abs=0.08)
    assert found["random"][0] == pytest.approx(RATES.mean(), abs=0.04)
    assert found["bts"][1] < float(RATES @ LIKED) < found["bts"][2]


def test_every_row_is_a_decision_with_one_try(folder):
    rows = SCRIPT["read"](folder, "random", "men")
    log = list(SCRIPT["decisions"](rows, SCRIPT["item_numbers"](folder, "men")))
    found = check(log)
    assert (found.decisions, found.with_propensity) == (900, 900)
    assert {len(row["order"]) for row in log} == {1}


def test_the_policy_draws_items_by_their_shares_at_a_position():
    shares = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    policy = SCRIPT["Shares"](shares)
    one = Payoffs.vanilla(1)
    for position, expected in enumerate(shares, start=1):
        items = [[0.3, position / 3], [0.1, position / 3]]
        assert [policy.propensity(items, one, [i]) for i in (0, 1)] == expected.tolist()
    assert policy.rank([[0.3, 1.0], [0.1, 1.0]], one).order.tolist() == [1]


OBD = data_folder() / "obd"


@pytest.mark.skipif(not OBD.is_dir(), reason=f"needs the Open Bandit sample in {OBD}")
def test_the_random_log_predicts_what_thompson_sampling_earned():
    found = SCRIPT["predict"](OBD, "men")
    _, low, high = found["predicted"]
    assert max(low, found["bts"][1]) < min(high, found["bts"][2])
