"""Outcome and Ranking: what happened, and the receipt."""

import copy
import itertools
import json
import pickle
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from longrank import BadFile, MissingExtra, OnlineNewton, Outcome, Payoffs, Random, Ranking
from longrank.packing import pack, unpack
from longrank.policies import UCB

# -- Outcome --------------------------------------------------------------------------------------


def test_failures_the_success_and_the_unobserved_are_told_apart():
    for outcome, signs in (
        (Outcome(0, False), []),
        (Outcome(0, False), [0, 0, 0]),
        (Outcome(1, True), [1, 0, 0]),
        (Outcome(1, False), [-1, 0, 0]),
        (Outcome(3, True), [-1, -1, 1]),
        (Outcome(3, False), [-1, -1, -1]),
    ):
        assert outcome.signs(len(signs)).tolist() == signs
    with pytest.raises(FrozenInstanceError):
        outcome.tried = 2


def test_numbers_of_numpy_are_as_good_as_those_of_python():
    for tried, succeeded in itertools.product((2, np.int64(2), np.uint8(2)), (True, np.True_)):
        outcome = Outcome(tried, succeeded)
        assert outcome == Outcome(2, True)
        assert (type(outcome.tried), type(outcome.succeeded)) == (int, bool)


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


def test_a_ranking_has_a_length_and_a_value_and_is_equal_by_its_content():
    ranking = RANKINGS["long"]
    assert len(ranking) == len(ranking.order) == 3
    assert ranking.value == ranking.values[3] == ranking.values.max()
    assert repr(ranking) == f"Ranking(order={ranking.order.tolist()}, value={ranking.value:.4g})"
    assert ranking != RANKINGS["short"]
    assert ranking != "long"
    with pytest.raises(TypeError, match="unhashable"):
        hash(ranking)


def test_a_ranking_comes_back_bit_for_bit_from_every_form(ranking):
    text = json.dumps(ranking.to_dict(), allow_nan=False)
    for again in (
        Ranking.from_bytes(ranking.to_bytes()),
        Ranking.from_dict(json.loads(text)),
        pickle.loads(pickle.dumps(ranking)),
        copy.deepcopy(ranking),
    ):
        assert again == ranking
        assert again.to_bytes() == ranking.to_bytes()
        for part in PARTS:
            assert getattr(again, part).dtype == getattr(ranking, part).dtype


def test_a_ranking_cannot_be_changed(ranking):
    for part in PARTS:
        with pytest.raises(AttributeError, match=f"'{part}' of 'Ranking' object has no setter"):
            setattr(ranking, part, None)
        with pytest.raises(ValueError, match="read-only"):
            getattr(ranking, part)[...] = 0


def test_what_lacks_a_part_or_whose_parts_do_not_fit_is_no_ranking():
    whole, tree = RANKINGS["long"].to_dict(), unpack(RANKINGS["long"].to_bytes())
    for part in (*PARTS, "dim"):
        with pytest.raises(BadFile, match=f"not a ranking: .*{part}"):
            Ranking.from_dict({name: whole[name] for name in whole if name != part})
    for part, value in (
        ("features", [[1.0]]),
        ("features", [[0.1, 0.1, None]] * 3),
        ("dim", 7),
        ("order", "ab"),
        ("probabilities", []),
        ("estimates", [0.5]),
        ("values", ["a"]),
        ("values", [0.0, 0.0, 0.0]),
    ):
        with pytest.raises(BadFile, match="not a ranking"):
            Ranking.from_dict(whole | {part: value})
    del tree["order"]
    with pytest.raises(BadFile, match="the ranking must have the parts"):
        Ranking.from_bytes(pack(tree))
    with pytest.raises(BadFile, match="checksum"):
        Ranking.from_bytes(RANKINGS["long"].to_bytes() + b"x")


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
    assert RANKINGS["random"].explain().endswith("It uses all 3 tries.")  # it knows no more
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


def test_errors_travel_between_processes():
    error = pickle.loads(pickle.dumps(MissingExtra("x", "experiments")))
    assert str(error) == str(MissingExtra("x", "experiments"))
