"""Receipts that somebody else made: refused by name, or harmless. A refusal changes nothing."""

import random
import warnings

import numpy as np
import pytest
from mutants import EVERY, MUTANTS, mutate_bytes, mutate_tree, peak

from longrank import BadFile, InvalidInput, LongrankError, Outcome, Payoffs, Ranking, recommended
from longrank.packing import pack, unpack

RECORDS = ["records/recommended", "records/declared", "records/plackett-luce"]
ITEMS = np.eye(4)[[1, 0, 2, 3]] * 0.9
PAYOFFS = Payoffs.vanilla(3)


def mutants(ranking, rng):
    """Receipts in which something is wrong, read from bytes or from a dictionary."""
    data, lists = ranking.to_bytes(), ranking.to_dict()
    tree = unpack(data)
    for i in range(MUTANTS):
        try:
            if i % 2:
                yield Ranking.from_dict(mutate_tree(lists, rng))
            elif i % 10:
                yield Ranking.from_bytes(pack(mutate_tree(tree, rng)))
            else:
                yield Ranking.from_bytes(mutate_bytes(data, rng))
        except LongrankError:
            yield None


@pytest.mark.parametrize("name", ["arrays/recommended", "arrays/random", *RECORDS])
def test_a_mutant_is_refused_by_name_or_teaches_something_finite(name):
    make, rounds = EVERY[name]
    policy, rng = make(), random.Random(name)
    receipts = rounds.play(policy, range(8))
    items, payoffs, budget = rounds.deal_priced(8)
    receipts.append(policy.rank(items, payoffs, budget, **rounds.given(8)))
    refused = 0
    for found in mutants(max(receipts, key=len), rng):
        if found is None:
            refused += 1
            continue
        found.explain()
        assert Ranking.from_bytes(found.to_bytes()) == found
        tried = rng.randrange(len(found) + 1)
        costs = (0.2,) * tried if rng.random() < 0.3 else None
        before = policy.to_bytes()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of fields that are not crossed
                policy.learn(found, Outcome(tried, tried > 1, costs))
        except LongrankError:
            assert policy.to_bytes() == before
    assert refused > MUTANTS // 3
    learner = getattr(policy, "learner", None)
    if learner is not None:
        assert np.isfinite(learner.weights).all()
        assert np.isfinite(learner.inverse).all()


def spoiled(**parts):
    policy = recommended(dim=4)
    return policy, policy.rank(ITEMS, PAYOFFS).to_dict() | parts


NAMELESS = {"reasons": [[], [], []], "rows": None}
NEVER_GIVEN = [
    {"order": [0, 0, 1]},
    {"order": [0, -1, 1]},
    {"order": [0, 0.5, 1]},
    {"order": [0, 1e300, 1]},
    {"order": [0, 10**400, 1]},
    {"values": [0.0, np.inf, 0.0, 0.0]},
    {"features": [[1e200] * 5] * 3},
    {"dim": 2**70},
    {"dim": 5.0},
    NAMELESS | {"ids": [[], {}, None]},
    NAMELESS | {"ids": ["a", "b", "c"], "reasons": [[["x", 10**400]], [], []]},
    NAMELESS | {"ids": ["a", "b", "c"], "rows": 3},
    {"costs": [0, 0, 0], "success_values": [0, 0, 0], "loss_bound": 10**400},
    {"sample": [[0.0], [10**400]]},
]


def test_a_receipt_that_no_policy_gave_is_refused():
    for parts in NEVER_GIVEN:
        with pytest.raises(BadFile, match=r"^not (a|the rows of a) ranking: "):
            Ranking.from_dict(spoiled(**parts)[1])
    stored = recommended().rank([{"id": "a"}, {"id": "b"}], PAYOFFS).to_dict()
    stored["rows"]["candidate"] = [[f"x{i}", "category", 1] for i in range(300)]
    with pytest.raises(BadFile, match="at most 256 fields, got 300"):
        Ranking.from_dict(stored)


def test_a_receipt_that_this_policy_cannot_have_given_changes_nothing():
    for parts, rule in (
        ({"features": [[1e6] * 5] * 3}, "have rows of a squared norm of at most 1e"),
        ({"sample": [[1.0, 2.0]]}, "carry candidates of 4 columns"),
        ({"features": [[0.1] * 3] * 3, "dim": 3}, "have rows of 5 numbers"),
        ({"features": [[0.1] * 6] * 3, "dim": 6}, "have rows of 5 numbers"),
    ):
        policy, stored = spoiled(**parts)
        before = policy.to_bytes()
        with pytest.raises(InvalidInput, match=f"^ranking must {rule}"):
            policy.learn(Ranking.from_dict(stored), Outcome(2, True))
        assert policy.to_bytes() == before


def test_a_receipt_without_tries_takes_no_room_for_rows():
    stored = spoiled()[1] | {"order": [], "probabilities": [], "estimates": [], "features": []}
    empty = stored | {"dim": 2**40, "values": [0.0] * 1000}
    assert len(Ranking.from_dict(empty)) == 0
    assert peak(lambda: Ranking.from_dict(empty)) < 2**20
