"""Outcome and Ranking: what happened, and the receipt."""

from __future__ import annotations

import copy
import json
import pickle
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from longrank import (
    BadFile,
    InvalidInput,
    MissingExtra,
    OnlineNewton,
    Outcome,
    Payoffs,
    Random,
    Ranking,
    named,
)
from longrank.packing import pack, unpack
from longrank.policies import UCB

# -- Outcome --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "signs"),
    [
        (Outcome(0, False), [0, 0, 0]),
        (Outcome(1, True), [1, 0, 0]),
        (Outcome(1, False), [-1, 0, 0]),
        (Outcome(3, True), [-1, -1, 1]),
        (Outcome(3, False), [-1, -1, -1]),
    ],
)
def test_failures_the_success_and_the_unobserved_are_told_apart(outcome, signs):
    assert outcome.signs(3).tolist() == signs


@pytest.mark.parametrize("tried", [2, np.int64(2), np.uint8(2)])
@pytest.mark.parametrize("succeeded", [True, np.True_])
def test_numbers_of_numpy_are_as_good_as_those_of_python(tried, succeeded):
    outcome = Outcome(tried, succeeded)
    assert outcome == Outcome(2, True)
    assert (type(outcome.tried), type(outcome.succeeded)) == (int, bool)


@pytest.mark.parametrize(
    ("tried", "succeeded", "message"),
    [
        (-1, False, r"tried must be at least 0, got -1"),
        (1.0, False, r"tried must be a whole number, got 1\.0"),
        ("1", False, r"tried must be a whole number, got '1'"),
        (True, False, r"tried must be a whole number, got True"),
        (None, False, r"tried must be a whole number, got None"),
        (1, 1, r"succeeded must be True or False, got 1"),
        (1, None, r"succeeded must be True or False, got None"),
        (0, True, r"tried must be at least 1 if the last attempt succeeded, got 0"),
    ],
)
def test_a_bad_outcome_is_refused_in_one_sentence(tried, succeeded, message):
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        Outcome(tried, succeeded)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([0.1, -0.2], "costs must be at least 0, got -0.2 at index 1"),
        ([0.1], "costs must have 2 numbers, one for each try, got 1"),
        ([0.1, None], "costs must hold numbers, got None at index 1"),
    ],
)
def test_bad_costs_of_an_outcome_are_refused_in_one_sentence(costs, message):
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        Outcome(2, True, costs)


def test_more_tries_than_the_ranking_has_are_refused():
    message = r"^outcome\.tried must be at most 2, the length of the ranking, got 3$"
    with pytest.raises(InvalidInput, match=message):
        Outcome(3, False).signs(2)


def test_an_outcome_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Outcome(1, True).tried = 2


# -- Ranking --------------------------------------------------------------------------------------


def ranking_of(name):
    items = np.eye(4)[:, :3] * 0.7
    if name == "random":
        return Random(rng=1).rank(items, Payoffs.exponential(3))
    policy = UCB(OnlineNewton(3, max_budget=3), exploration=0.4)
    losses = {"long": [0.0] * 4, "short": [0.0, -0.1, -2.0, -6.0]}
    if name == "empty":
        return policy.rank([], Payoffs.vanilla(3))
    policy.learn(policy.rank(items, Payoffs.vanilla(2)), Outcome(2, True))
    return policy.rank(items, Payoffs([1.0] * 3, losses[name]))


RANKINGS = {name: ranking_of(name) for name in ("long", "short", "empty", "random")}
PARTS = ("order", "probabilities", "estimates", "values", "features")


@pytest.fixture(params=RANKINGS)
def ranking(request):
    return RANKINGS[request.param]


def test_a_ranking_has_a_length_and_a_value():
    ranking = RANKINGS["long"]
    assert len(ranking) == len(ranking.order) == 3
    assert ranking.value == ranking.values[3] == ranking.values.max()
    assert repr(ranking) == f"Ranking(order={ranking.order.tolist()}, value={ranking.value:.4g})"


def test_a_ranking_comes_back_from_bytes_bit_for_bit(ranking):
    again = Ranking.from_bytes(ranking.to_bytes())
    assert again == ranking
    assert again.to_bytes() == ranking.to_bytes()


def test_a_ranking_comes_back_from_json_bit_for_bit(ranking):
    text = json.dumps(ranking.to_dict(), allow_nan=False)
    again = Ranking.from_dict(json.loads(text))
    assert again.to_bytes() == ranking.to_bytes()
    for part in PARTS:
        assert getattr(again, part).dtype == getattr(ranking, part).dtype


def test_a_ranking_cannot_be_changed(ranking):
    for part in PARTS:
        with pytest.raises(AttributeError, match=f"'{part}' of 'Ranking' object has no setter"):
            setattr(ranking, part, None)
        with pytest.raises(ValueError, match="read-only"):
            getattr(ranking, part)[...] = 0


def test_rankings_are_equal_by_their_content():
    assert RANKINGS["long"] != RANKINGS["short"]
    assert RANKINGS["long"] != "long"
    with pytest.raises(TypeError, match="unhashable"):
        hash(RANKINGS["long"])


@pytest.mark.parametrize("part", [*PARTS, "dim"])
def test_a_dictionary_without_a_part_is_no_ranking(part):
    data = RANKINGS["long"].to_dict()
    del data[part]
    with pytest.raises(BadFile, match=f"not a ranking: .*{part}"):
        Ranking.from_dict(data)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("features", [[1.0]]),
        ("features", [[0.1, 0.1, None]] * 3),
        ("dim", 7),
        ("order", "ab"),
        ("probabilities", []),
        ("estimates", [0.5]),
        ("values", ["a"]),
        ("values", [0.0, 0.0, 0.0]),
    ],
)
def test_a_dictionary_whose_parts_do_not_fit_is_no_ranking(part, value):
    with pytest.raises(BadFile, match="not a ranking"):
        Ranking.from_dict(RANKINGS["long"].to_dict() | {part: value})


def test_a_file_without_a_part_is_no_ranking():
    tree = unpack(RANKINGS["long"].to_bytes())
    del tree["order"]
    with pytest.raises(BadFile, match="the ranking must have the parts"):
        Ranking.from_bytes(pack(tree))


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("long", r"It uses all 3 tries: no shorter sequence is worth more\."),
        (
            "short",
            r"It stops after 1 of 3 tries: the best longer .* worth 0\.\d+, this one 0\.\d+\.",
        ),
        ("empty", r"It uses all 0 tries: no shorter sequence is worth more\."),
    ],
)
def test_an_explanation_has_a_line_per_try_and_says_why_it_stopped(name, end):
    ranking = RANKINGS[name]
    title, start, *lines, last = ranking.explain().splitlines()
    assert title.split()[:3] == ["try", "item", "estimate"]
    assert float(start.split()[1]) == pytest.approx(ranking.values[0], abs=5.1e-5)
    assert re.fullmatch(end, last)
    assert len(lines) == len(ranking)
    for i, line in enumerate(lines):
        numbers = [float(word) for word in line.split()]
        added = ranking.values[i + 1] - ranking.values[i]
        exact = [ranking.estimates[i], ranking.probabilities[i], ranking.values[i + 1], added]
        assert numbers[:2] == [i + 1, ranking.order[i]]
        np.testing.assert_allclose(numbers[2:], exact, atol=5.1e-5)


def test_a_ranking_of_all_tries_says_so_and_no_more_where_it_knows_no_more():
    items = np.eye(3)
    drawn = named("rand", rng=0).rank(items, Payoffs.vanilla(3))
    assert drawn.explain().endswith("It uses all 3 tries.")


def test_what_travels_between_processes_arrives_as_it_was():
    ranking = named("ind", dim=3, max_budget=2).rank(np.eye(3), Payoffs.exponential(2))
    assert pickle.loads(pickle.dumps(ranking)) == ranking
    assert copy.deepcopy(ranking) == ranking
    error = pickle.loads(pickle.dumps(MissingExtra("x", "experiments")))
    assert str(error) == str(MissingExtra("x", "experiments"))
