"""Inputs: every form of the same numbers ranks alike, and bad input changes nothing."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from longrank import InvalidInput, OnlineNewton, Outcome, Payoffs, Random, Ridge, named, unit_rows
from longrank.policies import UCB

EIGHTHS = np.array([[0, 1, 2, 3], [5, 1, 0, 4], [0, 0, 8, 0], [3, 3, 3, 3], [1, 7, 2, 0]]) / 8.0
ONE_HOT = np.eye(4)[[2, 0, 3, 1, 1]]
PAYOFFS = Payoffs.linear(5, attempt_cost=0.05)


def frozen(items):
    copy = items.copy()
    copy.flags.writeable = False
    return copy


FORMS = {
    "list": np.ndarray.tolist,
    "tuples": lambda items: tuple(map(tuple, items.tolist())),
    "rows": list,
    "pandas": lambda items: pd.DataFrame(items, columns=list("abcd")),
    "pandas by index": lambda items: pd.DataFrame(items, index=list("vwxyz")),
    "pandas float32": lambda items: pd.DataFrame(items.astype(np.float32)),
    "polars": lambda items: pl.DataFrame(items, schema=list("abcd")),
    "polars float32": lambda items: pl.DataFrame(items.astype(np.float32), schema=list("abcd")),
    "float32": lambda items: items.astype(np.float32),
    "float16": lambda items: items.astype(np.float16),
    "big-endian": lambda items: items.astype(">f8"),
    "read-only": frozen,
    "read-only float32": lambda items: frozen(items.astype(np.float32)),
    "Fortran": np.asfortranarray,
    "every other": lambda items: np.repeat(np.repeat(items, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": lambda items: np.ascontiguousarray(items[::-1])[::-1],
}
WHOLE_FORMS = {
    "integers": lambda items: items.astype(int),
    "small integers": lambda items: items.astype(np.uint8),
    "flags": lambda items: items.astype(bool),
    "list of integers": lambda items: items.astype(int).tolist(),
    "pandas integers": lambda items: pd.DataFrame(items.astype(int)),
    "polars integers": lambda items: pl.DataFrame(items.astype(int), schema=list("abcd")),
    "pandas mixed": lambda items: pd.DataFrame(items).astype({0: int, 1: np.float32}),
    "polars mixed": lambda items: pl.DataFrame(items, schema=list("abcd")).cast({"a": pl.Int8}),
}


# One policy for each way in which candidates become rows.
WAYS = ["ucb/newton-logistic/plain", "epsilon-greedy/maximum", "recommended", "random"]


@pytest.mark.parametrize("items", [EIGHTHS, ONE_HOT], ids=["numbers", "whole numbers"])
@pytest.mark.parametrize("make_policy", WAYS, indirect=True)
def test_every_form_of_the_same_numbers_ranks_alike(policy, play, items):
    play(policy, range(6))
    expected = policy.propose(items, PAYOFFS)
    for form, make in (FORMS | (WHOLE_FORMS if items is ONE_HOT else {})).items():
        assert policy.propose(make(items), PAYOFFS) == expected, form


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_large_read_only_array_ranks_like_a_writable_one(dtype):
    items = unit_rows(np.random.default_rng(1).normal(size=(1 << 16, 8))).astype(dtype)
    policy = UCB(Ridge(8), exploration=0.3)
    assert policy.rank(frozen(items), PAYOFFS) == policy.rank(items, PAYOFFS)


def test_items_are_left_alone(policy):
    items = EIGHTHS.copy()
    ranking = policy.rank(items, PAYOFFS)
    policy.learn(ranking, Outcome(min(1, len(ranking)), False))  # a pessimist may play nothing
    np.testing.assert_array_equal(items, EIGHTHS)


def test_a_receipt_does_not_change_with_the_items(policy):
    items = EIGHTHS.copy()
    ranking = policy.rank(items, PAYOFFS)
    before = ranking.to_bytes()
    items[:] = 0.0
    assert ranking.to_bytes() == before


def with_value(value):
    items = EIGHTHS.copy()
    items[1, 2] = value
    return items


def rank(items=EIGHTHS, payoffs=PAYOFFS, budget=None):
    return lambda policy: policy.rank(items, payoffs, budget)


def learn(tried, succeeded):
    return lambda policy: policy.learn(RECEIPT, Outcome(tried, succeeded))


RECEIPT = named("ind", dim=4, max_budget=2).rank(EIGHTHS, Payoffs.vanilla(2))
FOREIGN = UCB(OnlineNewton(3, max_budget=5), exploration=1.0).rank(np.eye(3), Payoffs.vanilla(2))

BAD = {
    r"items must be finite, got nan in row 1, column 2": rank(with_value(math.nan)),
    r"items must be finite, got inf in row 1, column 2": rank(with_value(math.inf)),
    r"items must be finite, got -inf in row 1, column 2": rank(with_value(-math.inf)),
    r"items must hold numbers, got values of type <U1": rank([list("abcd")]),
    r"items must hold numbers, got values of type object": rank([[0.1, None, 0.1, 0.1]]),
    r"items must have rows of one length, got list": rank([[0.1] * 4, [0.1] * 3]),
    r"items must have 2 dimensions, got shape \(4,\)": rank([0.1] * 4),
    r"payoffs must be a longrank.Payoffs, got int": rank(payoffs=3),
    r"budget must be at least 0, got -1": rank(budget=-1),
    r"budget must be a whole number, got 1.5": rank(budget=1.5),
    r"budget must be at most the payoffs' 5, got 6": rank(budget=6),
    r"losses must have 3 numbers, one more than rewards, got 2": lambda policy: policy.rank(
        EIGHTHS, Payoffs([1.0, 1.0], [0.0, 0.0])
    ),
    r"rewards must be non-increasing, got 0.5 before 1.0 at index 0": lambda policy: policy.rank(
        EIGHTHS, Payoffs([0.5, 1.0], [0.0, 0.0, 0.0])
    ),
    r"losses must be non-increasing, got -1.0 before 0.0 at index 1": lambda policy: policy.rank(
        EIGHTHS, Payoffs([1.0, 1.0], [0.0, -1.0, 0.0])
    ),
    r"outcome.tried must be at most 2, the length of the ranking, got 3": learn(3, False),
    r"tried must be at least 1 where something succeeded, got 0": learn(0, True),
    r"tried must be at least 0, got -1": learn(-1, False),
    r"ranking must be a longrank.Ranking, got ndarray": lambda policy: policy.learn(
        np.arange(3), Outcome(1, True)
    ),
    r"outcome must be a longrank.Outcome, got tuple": lambda policy: policy.learn(
        RECEIPT, (1, True)
    ),
}


def refused(policy, call, message):
    """The call is refused in these words, and the policy is what it was."""
    before = policy.to_bytes()
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        call(policy)
    assert policy.to_bytes() == before


def test_bad_input_is_refused_in_one_sentence_and_changes_nothing(policy, play):
    play(policy, range(4))
    for message, call in BAD.items():
        refused(policy, call, message)


def test_items_of_another_length_are_refused_and_change_nothing(believer, play):
    play(believer, range(4))
    message = r"(items must have .* columns.*, got 3)|(topics\(items\) must .*, got \(1, 3\))"
    refused(believer, rank([[0.1, 0.1, 0.1]]), message)


def test_a_receipt_of_another_length_is_refused_and_changes_nothing(believer, play):
    play(believer, range(4))
    dim = believer.learner.dim
    message = rf"ranking must have features of length {dim}, as this policy makes them, got 3"
    refused(believer, lambda policy: policy.learn(FOREIGN, Outcome(1, True)), message)


def test_the_random_policy_takes_items_of_any_length():
    policy = Random(rng=1)
    assert len(policy.rank(np.eye(3), PAYOFFS)) == 3
    policy.learn(FOREIGN, Outcome(1, True))


PLAIN = ["ucb/newton-logistic/plain", "ucb/likelihood-probit/plain", "epsilon-greedy/plain"]


@pytest.mark.parametrize("make_policy", PLAIN, indirect=True)
def test_a_row_norm_above_one_is_refused_and_the_helper_named(policy, play):
    play(policy, range(4))
    message = (
        r"items must have rows of norm at most 1 \(longrank\.unit_rows scales them\), "
        r"got norm 5 in row 1"
    )
    refused(policy, rank([[0.0] * 4, [3.0, 4.0, 0.0, 0.0]]), message)
    policy.rank(unit_rows([[0.0] * 4, [3.0, 4.0, 0.0, 0.0]]), PAYOFFS)


COVERAGE = ["ucb/ridge/matrix", "epsilon-greedy/maximum"]


@pytest.mark.parametrize("make_policy", COVERAGE, indirect=True)
def test_coverage_outside_of_zero_and_one_is_refused(policy, play):
    play(policy, range(4))
    message = r"topics\(items\) must lie between 0 and 1, got {} in row 1, column 2"
    refused(policy, rank(with_value(1.5)), message.format(r"1\.5"))
    refused(policy, rank(with_value(-0.5)), message.format(r"-0\.5"))


@pytest.mark.parametrize("make_policy", [PLAIN[0], COVERAGE[1]], indirect=True)
def test_a_budget_above_that_of_the_learner_is_refused(policy, play):
    play(policy, range(4))
    message = r"budget must be at most the learner's max_budget 5, got 6"
    refused(policy, rank(payoffs=Payoffs.vanilla(9), budget=6), message)
