"""Arbitrary records: an answer or one of our errors, and no change after an error."""

import json
import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank import (
    UCB,
    Blocks,
    EpsilonGreedy,
    InvalidInput,
    LongrankError,
    Number,
    Outcome,
    Payoffs,
    PlackettLuce,
    Random,
    Ranking,
    Schema,
    recommended,
)
from longrank.policies import from_bytes
from longrank.schema import as_records, check_ids, priced

PAYOFFS = Payoffs.linear(3, attempt_cost=0.05, give_up=-0.2)
ODD = [
    *(None, True, False, 0, -0.0, 1, 1.0, "1", "", "\ud800\udfff", "\x00", "t1", "missing"),
    *(math.nan, math.inf, -math.inf, 5e-324, 1.7e308, -1e300, 2**63, -(2**64), 10**400, 10**5000),
    *(Decimal("1.5"), Decimal("nan"), Decimal("snan"), Decimal("inf"), Decimal("1e9999")),
    *(Fraction(1, 3), Fraction(10**500, 7), 1j, b"x", bytearray(b"xy"), object(), int, ...),
    *(datetime(2026, 1, 1, tzinfo=UTC), np.datetime64("NaT"), np.timedelta64(1, "s")),
    *(np.float32(1.5), np.float16(65504), np.longdouble(2), np.int8(-1), np.uint64(2**64 - 1)),
    *(np.bool_(True), np.complex64(1), np.str_("x"), np.array(5.0), np.eye(2), np.empty(0)),
    *(np.array(["a", "b"]), np.array([1, 2]), np.array([None, 1]), np.array([math.nan])),
    *([], (), set(), {}, [[]], [None], [1], [1, 2], [1.0, math.nan], [math.inf], [10**400], ["a"]),
    *(["a", 1], ["a"] * 100, [str(i) for i in range(99)], {"a", "b"}, {1, 2}, {"a": 1}, [{}]),
    *([1e99, 1e99], [1e101], [5e-324, 0.0], [True], [Decimal("snan")], [1j], list(range(300))),
    *(range(3), memoryview(b"ab"), "word " * 200, [0.0, 0.0], [np.float32(1)], [b"a"]),
]
odd = st.sampled_from(ODD)
plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
nested = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2)
)
values = odd | nested
NAMES = ["id", "cost", "value", "a", "b", "amount", "note", "missing", "constant"]
keys = st.sampled_from([*NAMES, "", "\ud800", "é", "a\x1fb"]) | st.text(st.characters(), max_size=3)
record = st.dictionaries(keys, values, max_size=4)
candidates = st.lists(record | st.text(max_size=2), max_size=4)
context = st.none() | record
rounds = st.lists(st.tuples(candidates, context), min_size=1, max_size=4)

POLICIES = {
    "recommended": recommended,
    "declared": lambda: recommended(
        schema=Schema({"a": "text", "b": "embedding", "amount": Number(log=True), "note": "tags"})
    ),
    "ucb": lambda: UCB(Blocks(columns=256), exploration=0.2),
    "plackett-luce": lambda: PlackettLuce(Blocks(), temperature=0.5, rng=1),
    "epsilon-greedy": lambda: EpsilonGreedy(Blocks(), epsilon=0.5, rng=1),
}


def sound(policy):
    """A file with a number that is not finite would be refused."""
    data = policy.to_bytes()
    assert from_bytes(data).to_bytes() == data


def answers(policy, asked, shared):
    """The ranking, or None after one of our errors that changed nothing."""
    before = policy.to_bytes()
    try:
        ranking = policy.propose(asked, PAYOFFS, context=shared)
    except LongrankError:
        ranking = None
    assert policy.to_bytes() == before
    return ranking


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=60)
@given(rounds)
def test_there_is_an_answer_or_our_error_and_the_belief_stays_finite(name, rounds):
    policy = POLICIES[name]()
    for t, (asked, shared) in enumerate(rounds):
        ranking = answers(policy, asked, shared)
        if ranking is None:
            continue
        assert len(ranking.ids) == len(ranking) <= min(3, len(asked))
        assert np.isfinite(ranking.values).all()
        assert isinstance(ranking.explain(), str)
        stored = Ranking.from_dict(json.loads(json.dumps(ranking.to_dict())))
        assert stored == ranking == Ranking.from_bytes(ranking.to_bytes())
        policy.learn(stored if t % 2 else ranking, Outcome(len(ranking), bool(t % 3 and ranking)))
        sound(policy)
        str(policy.schema)


@pytest.mark.parametrize("first", ["x", 1.5, [1.0, 2.0], ["a"], True, None], ids=repr)
def test_every_odd_value_after_every_kind_of_field(first):
    for value in ODD:
        policy = recommended()
        ranking = answers(policy, [{"id": "q", "field": first}], {"field": first})
        policy.learn(ranking, Outcome(1, False))
        for asked, shared in (
            ([{"id": "r", "field": first}, {"field": value}], None),
            (["r"], {"field": value}),
            ([{"id": value}], {"field": first}),
        ):
            ranking = answers(policy, asked, shared)
            if ranking is not None:
                policy.learn(ranking, Outcome(1, True))
                sound(policy)
        assert answers(policy, [{"id": "q", "field": first}], {"field": first}) is not None


PRICE = {
    "zero": [None, math.nan, 0, -0.0, np.float32(0), Decimal(0)],
    "number": [1, 1.5, Decimal("1.5"), Fraction(1, 3), np.float32(1.5), np.int64(2), 5e-324, 1e12],
    "no number": [True, np.bool_(True), "1", "", 1j, b"1", [1.0], {}, object(), np.eye(2)],
    "not finite": [math.inf, 10**400, Decimal("inf"), Decimal("1e9999")],
    "too large": [1e13, 1.7e308],
}


@pytest.mark.parametrize("name", ["cost", "value"])
@pytest.mark.parametrize("kind", PRICE)
def test_a_price_is_a_number_or_missing(kind, name):
    policy = recommended()
    before = policy.to_bytes()
    for value in PRICE[kind]:
        asked = [{"id": "a", name: value}, {"id": "b", name: 0.1}]
        if kind in ("zero", "number"):
            ranking = policy.receipt(asked, PAYOFFS, [1, 0])
            found = ranking.costs if name == "cost" else ranking.success_values
            assert found.tolist() == [0.1, 0.0 if kind == "zero" else float(value)]
            assert np.isfinite(policy.propose(asked, PAYOFFS).values).all()
        else:
            rule = r"^(candidate 0, field '\w+'|costs|values) must (be|have) "
            with pytest.raises(InvalidInput, match=rule):
                policy.rank(asked, PAYOFFS)
    if name == "cost":
        with pytest.raises(InvalidInput, match="field 'cost' must be a finite number of at least"):
            policy.rank([{"id": "a", "cost": -0.1}], PAYOFFS)
        with pytest.raises(
            InvalidInput, match="payoffs must have no costs and values of their own"
        ):
            policy.rank([{"id": "a", "cost": 0.1}], PAYOFFS.priced([0.1]))
    negative = policy.receipt([{"value": -0.1}], PAYOFFS, [0])
    assert negative.success_values.tolist() == [-0.1]
    assert policy.to_bytes() == before


@settings(max_examples=50)
@given(rounds)
def test_random_rankings_of_any_records_have_names(rounds):
    policy = Random(rng=1)
    for asked, shared in rounds:
        if any(isinstance(each, dict) and type(each.get("id")) is int for each in asked):
            continue
        try:
            check_ids(as_records(asked))
            priced(PAYOFFS, asked)
        except InvalidInput as error:
            with pytest.raises(InvalidInput, match=re.escape(str(error))):
                policy.rank(asked, PAYOFFS, context=shared)
            continue
        ranking = policy.rank(asked, PAYOFFS, context=shared)
        assert len(ranking.ids) == min(3, len(asked))
        assert Ranking.from_dict(json.loads(json.dumps(ranking.to_dict()))).ids is not None
