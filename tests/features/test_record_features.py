"""Records as a feature map: the promises of maps, on rows that are sparse."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank import UCB, BadFile, Blocks, Outcome, Payoffs, Ranking, Records, Schema, recommended
from longrank.features import from_state
from longrank.policies import from_bytes
from longrank.testing import RecordRounds

PAYOFFS = Payoffs.linear(3, attempt_cost=0.1)
ITEMS = RecordRounds.candidates(9, np.random.default_rng(5))
CONTEXT = RecordRounds.given(11)["context"]


def test_a_receipt_read_from_a_file_is_planned_anew_and_the_same():
    policy = UCB(Blocks(), exploration=0.25)
    ranking = policy.rank(ITEMS, Payoffs.vanilla(3), context=CONTEXT)
    again = type(ranking).from_bytes(ranking.to_bytes())
    assert again.features.plan is None
    one, other = (policy.features.recall(each, 2) for each in (ranking, again))
    assert one == other
    for left, right in zip(one.plan[:4], other.plan[:4], strict=True):
        np.testing.assert_array_equal(left, right)
    assert one.plan.names == other.plan.names
    assert one != ranking.features  # which has three
    assert one != "rows"


def test_a_newer_schema_and_an_unknown_kind_of_field_are_refused():
    state = Records(Schema({"a": "text"})).saved()
    state["schema"]["version"] += 1
    with pytest.raises(BadFile, match=r"^'schema' was saved in version"):
        from_state(state)
    state["schema"]["version"] -= 1
    state["schema"]["fields"]["a"] = ["hologram"]
    with pytest.raises(BadFile, match=r"fields.'a' must be a kind of field, .*, got 'hologram'$"):
        from_state(state)


def test_what_is_not_tried_is_not_observed():
    policy = UCB(Blocks(), exploration=0.25)
    ranking = policy.rank([{"id": "a"}, {"id": "b", "fee": 2.0}], Payoffs.vanilla(2))
    first = ranking.ids[0]
    policy.learn(ranking, Outcome(1, True))
    sizes = policy.schema.sides["candidate"].sizes
    assert sizes.sum() == (first == "b")


# -- the dense block ------------------------------------------------------------------------------

DOORS = {
    "records": lambda items: [{f"x{j}": x for j, x in enumerate(row)} for row in items.tolist()],
    "embeddings": lambda items: [{"x": row} for row in items.tolist()],
    "arrays": lambda items: items,
}


@pytest.mark.parametrize("norm", [False, True])  # numbers in any units, and true embeddings
def test_arrays_fields_of_numbers_and_one_embedding_are_one_door(norm):
    policies = [recommended(rng=3) for _ in DOORS]
    for t in range(60):
        rng = np.random.default_rng(t)
        items = rng.normal(size=(rng.integers(0, 40), 4))
        items[:, 3] = items[:, 3] if norm else rng.integers(0, 3, len(items))
        items /= np.linalg.norm(items, axis=1, keepdims=True) if norm else [0.01, 9.0, 1.0, 1.0]
        chances, found = rng.random(3) < 0.3, set()
        for policy, door in zip(policies, DOORS.values(), strict=True):
            ranking = policy.rank(door(items), PAYOFFS)
            wins = [*np.flatnonzero(chances[: len(ranking)]).tolist(), None][0]
            outcome = Outcome(len(ranking), False) if wins is None else Outcome(wins + 1, True)
            policy.learn(ranking, outcome)
            dense = getattr(ranking.features, "dense", ranking.features)
            known = policy.learner.weights, ranking.order, ranking.probabilities, dense
            found.add(tuple(None if each is None else each.tobytes() for each in known))
        assert len(found) == 1 or len(items) == 0
    assert all(each.features.numbers.settled and not each.learner.used for each in policies)


def test_a_missing_number_scores_nothing_and_has_a_column_of_its_own():
    policy, payoffs = recommended(rng=1), Payoffs.vanilla(1)
    for t in range(40):
        fees = enumerate(np.random.default_rng(t).lognormal(size=20).tolist())
        items = [{"fee": fee if i % 4 < 3 else None, "size": fee} for i, fee in fees]
        ranking = policy.rank(items, payoffs)
        policy.learn(ranking, Outcome(1, bool(ranking.order[0] % 4 == 3)))
    deal = [{"size": 1.0, "fee": 1.0}, {"size": 1.0, "fee": math.nan}, {}]
    there, absent, bare = policy.features.rows(policy.features.encode(deal)).dense
    assert [there[0] != 0.0, absent[0], bare[:2].tolist()] == [True, 0.0, [0.0, 0.0]]
    [gap] = np.flatnonzero((there == 0.0) & (absent > 0.0))
    assert policy.learner.weights[gap] > 0.5
    assert policy.rank(deal[:2], payoffs).order.tolist() == [1]


def test_a_field_that_appears_late_is_sparse_and_learned():
    policy, late = recommended(rng=1), [{"fee": 1.0, "size": size} for size in (-1.0, 1.0)]
    for t in range(80):
        ranking = policy.rank(late if t >= 40 else [{"fee": 3.0}, {"fee": 5.0}], Payoffs.vanilla(1))
        policy.learn(ranking, Outcome(1, bool(t >= 40 and ranking.order[0] == 1)))
    assert [field.name for field in policy.schema.dense] == ["fee"]
    assert policy.learner.used > 0
    assert policy.rank(late, Payoffs.vanilla(1)).order.tolist() == [1]


def test_receipts_of_other_blocks_teach_what_they_can():
    policy, fees = recommended(rng=1), np.random.default_rng(1).normal(size=30).tolist()
    deals = [[{"fee": fee} for fee in fees], [{"size": 1e6 + fee} for fee in fees], ["a", "b", "c"]]
    deals += [[{"size": 1.0, "fee": fee, "x": [1.0, fee]} for fee in fees]]
    for receipt in [policy.rank(deal, PAYOFFS) for deal in deals]:  # before anything was learned
        policy.learn(Ranking.from_bytes(receipt.to_bytes()), Outcome(1, False))
    assert np.abs(policy.features.numbers.sample).max() <= max(map(abs, fees))
    assert policy.learner.dim == policy.features.block == 2
    declared = recommended(schema=Schema({"fee": "category"}))  # which is a number to the other
    declared.learn(recommended().rank(deals[3], PAYOFFS), Outcome(1, False))
    assert [field.name for field in declared.schema.dense] == ["size", "x"]
    assert from_bytes(declared.to_bytes()).features.block == declared.learner.dim == 4
    for _ in range(6):
        policy.learn(policy.rank(deals[0], PAYOFFS), Outcome(1, False))
    receipt, new = policy.propose(deals[0], PAYOFFS), recommended(rng=1)
    new.learn(receipt, Outcome(1, False))  # with longer rows than a new policy makes
    assert receipt.dim > new.learner.dim == new.features.block == 2


FIELDS = {"fee": [None, 1e300, -3.0, 2], "size": [0.5, 7.0], "kind": ["a", True, None]}
FIELDS |= {"x": [[1e99, -2.0], [0.0, 0.0], None], "tags": [["u", "v"], []], "id": [None]}
RECORD = st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in FIELDS.items()})
ROUND = st.tuples(st.lists(RECORD, max_size=5), RECORD, st.booleans())


@settings(max_examples=30)
@given(st.lists(ROUND, max_size=8), st.data())
def test_any_mixture_of_fields_is_ranked_stored_and_learned_late_in_any_order(rounds, data):
    policy = recommended(rng=1)
    receipts = [(policy.rank(deal, PAYOFFS, context=own), won) for deal, own, won in rounds]
    for ranking, won in data.draw(st.permutations(receipts)):
        again = from_bytes(policy.to_bytes())
        for each, receipt in (policy, ranking), (again, Ranking.from_bytes(ranking.to_bytes())):
            each.learn(receipt, Outcome(min(1, len(receipt)), won and len(receipt) > 0))
        assert again.to_bytes() == policy.to_bytes()
    for deal, own, _ in rounds:
        ranking = policy.rank(deal, PAYOFFS, context=own)
        assert np.isfinite(ranking.probabilities).all()
        assert ranking.dim in (0, policy.learner.dim) or not policy.learner.updates
