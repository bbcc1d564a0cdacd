"""Inputs: every form of the same numbers ranks alike, and bad input changes nothing."""

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


def test_items_are_left_alone_and_a_receipt_does_not_change_with_them(policy):
    items = EIGHTHS.copy()
    ranking = policy.rank(items, PAYOFFS)
    policy.learn(ranking, Outcome(min(1, len(ranking)), False))  # a pessimist may play nothing
    np.testing.assert_array_equal(items, EIGHTHS)
    before = ranking.to_bytes()
    items[:] = 0.0
    assert ranking.to_bytes() == before


def with_value(value):
    items = EIGHTHS.copy()
    items[1, 2] = value
    return items


def rank(items=EIGHTHS, payoffs=PAYOFFS, budget=None):
    return lambda policy: policy.rank(items, payoffs, budget)


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
    r"outcome.tried must be at most 2, the length of the ranking, got 3": lambda policy: (
        policy.learn(RECEIPT, Outcome(3, False))
    ),
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


def test_items_and_receipts_of_another_length_are_refused_and_change_nothing(believer, play):
    play(believer, range(4))
    message = r"(items must have .* columns.*, got 3)|(topics\(items\) must .*, got \(1, 3\))"
    refused(believer, rank([[0.1, 0.1, 0.1]]), message)
    dim = believer.learner.dim
    message = rf"ranking must have (features of length|rows of) {dim}.*, as this policy .*, got 3"
    refused(believer, lambda policy: policy.learn(FOREIGN, Outcome(1, True)), message)


def test_the_random_policy_takes_items_of_any_length():
    policy = Random(rng=1)
    assert len(policy.rank(np.eye(3), PAYOFFS)) == 3
    policy.learn(FOREIGN, Outcome(1, True))


PLAIN = r"items must have rows of norm at most 1 \(longrank\.unit_rows scales them\), got norm 5 .*"
SHARE = r"topics\(items\) must lie between 0 and 1, got (1\.5|-0\.5) in row 1, column 2"
LONG, OVER = rank([[0.0] * 4, [3.0, 4.0, 0.0, 0.0]]), rank(payoffs=Payoffs.vanilla(9), budget=6)
OUTSIDE = [rank(with_value(1.5)), rank(with_value(-0.5))]
BUDGET = r"budget must be at most the learner's max_budget 5, got 6"


@pytest.mark.parametrize(
    ("make_policy", "calls"),
    [
        ("ucb/newton-logistic/plain", {PLAIN: [LONG], BUDGET: [OVER]}),
        ("ucb/likelihood-probit/plain", {PLAIN: [LONG]}),
        ("epsilon-greedy/plain", {PLAIN: [LONG]}),
        ("ucb/ridge/matrix", {SHARE: OUTSIDE}),
        ("epsilon-greedy/maximum", {SHARE: OUTSIDE, BUDGET: [OVER]}),
    ],
    indirect=["make_policy"],
)
def test_norms_shares_and_budgets_out_of_range_are_refused(policy, play, calls):
    play(policy, range(4))
    for message, some in calls.items():
        for call in some:
            refused(policy, call, message)
    if PLAIN in calls:
        policy.rank(unit_rows([[0.0] * 4, [3.0, 4.0, 0.0, 0.0]]), PAYOFFS)
