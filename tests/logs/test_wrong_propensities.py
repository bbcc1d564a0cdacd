"""Propensities that cannot be right, and logs that need none: no verdict rests on them."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from small_world import JUDGED, always, chance, greedy, logged, one_try, said, weighted

from longrank.logs import History, evaluate, fit, gate
from longrank.logs.evaluation.evidence import gather
from longrank.logs.evaluation.intervals import betting
from longrank.logs.evaluation.support import wrong_propensities


def drawn(n, propensity=1.0 / 3.0, seed=0):
    rng = np.random.default_rng(seed)
    items = rng.integers(3, size=n)
    return one_try([(0, int(i), propensity, bool(rng.random() < 0.5)) for i in items])


@pytest.mark.parametrize("tiny", [1e-8, 1e-150, 1e-300, 5e-324])
def test_one_propensity_next_to_nothing_promotes_nobody(tiny):
    rows = drawn(200)
    rows[0] |= {"order": [0], "tried": 1, "succeeded": True}
    rows[0] |= {"propensity": tiny, "prefix_propensities": [tiny]}
    found = evaluate(rows, {"x": always(0)}, resamples=2)
    verdict = found.verdicts["x"]
    assert "propensities in the log are too small" in verdict.refused
    assert verdict.low <= 0.5 <= verdict.high
    assert verdict.advice == "not enough data"
    answer = gate(rows, {"x": always(0)})["x"]
    assert answer.answer == "not enough data"
    assert "too small" in answer.reason
    json.dumps(found.to_dict(), allow_nan=False)


def test_right_weights_with_a_long_tail_are_hardly_ever_called_wrong():
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(300):
        weights = np.where(rng.random((200, 1)) < 0.01, 100.0, 0.0)
        wrong += bool(wrong_propensities(weighted(weights)))
    assert wrong <= 3


def test_bounds_beside_a_refusal_do_not_rest_on_wrong_propensities():
    """At half their value they said 0.66 to 0.66 where 0.5 is true."""
    verdict = evaluate(drawn(400, 1.0 / 6.0), {"x": always(0)}, resamples=2).verdicts["x"]
    assert "propensities in the log are too small" in verdict.refused
    assert verdict.low < 0.4
    assert verdict.high > 0.6


def test_bounds_that_contradict_each_other_say_nothing():
    assert betting(np.full(200, 2.0), np.full(200, 2.0), 0.05) == (0.0, 1.0)
    assert betting(np.full(200, 2.0), np.zeros(200), 0.05) == (0.0, 1.0)


def test_a_policy_that_stops_earlier_than_a_log_without_chance_does_not_earn_the_same():
    rng = np.random.default_rng(0)
    rows = []
    for t in range(300):
        won = rng.random(2) < 0.9
        rows.append(
            {"id": t, "items": np.eye(3).tolist(), "order": [0, 1]}
            | {"tried": 1 if won[0] else 2, "succeeded": bool(won.any())}
            | {"rewards": [1.0, 0.2], "losses": [0.0, -0.3, -0.6]}
            | {"propensity": 1.0, "prefix_propensities": [1.0, 1.0]}
        )
    found = evaluate(rows, {"none": greedy([-20.0] * 3)}, resamples=2)
    verdict, logged = found.verdicts["none"], found[0].value
    assert verdict.value == 0.0
    assert verdict.gain.value == pytest.approx(-logged)
    assert verdict.gain.low < -logged < verdict.gain.high < 0.0
    assert verdict.advice == "keep"
    assert not math.isnan(verdict.low)


def test_halved_propensities_show_in_an_even_choice_of_the_first_item():
    """Also where the policy's own weights are too few to tell."""
    rows = logged(chance(), 60)
    history = History(rows)
    found = gather(JUDGED["greedy"](), history, fit(history), draws=0)
    expected = [1.0 / (len(r["items"]) * r["prefix_propensities"][0]) for r in rows if r["order"]]
    np.testing.assert_allclose(found.even[found.even > 0.0], expected)
    few = replace(found, masses=np.zeros(found.masses.shape))
    assert wrong_propensities(few) == ""
    assert "too small" in wrong_propensities(replace(few, even=2.0 * found.even))


def test_a_log_without_propensities_has_no_effective_decisions(tmp_path):
    rows = [row | {"propensity": None, "prefix_propensities": None} for row in drawn(60)]
    verdict = evaluate(rows, {"x": always(0)}, resamples=2).verdicts["x"]
    assert "have no propensity" in verdict.refused
    assert math.isnan(verdict.effective)
    shown = said(tmp_path, rows, "--learn", 0).stdout
    line = next(line for line in shown.splitlines() if " refused " in line)
    assert re.search(r" to 0\.\d+$", line.rstrip())  # the interval, and nothing after it
