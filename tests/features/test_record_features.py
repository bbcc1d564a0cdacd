"""Records as a feature map: the promises of maps, on rows that are sparse."""

from __future__ import annotations

import numpy as np
import pytest

from longrank import UCB, BadFile, InvalidInput, Outcome, Payoffs, Records, Schema, SparseLaplace
from longrank.features import from_state
from longrank.packing import pack, unpack
from longrank.testing import RecordRounds

ITEMS = RecordRounds.candidates(9, np.random.default_rng(5))
CONTEXT = RecordRounds.given(11)["context"]
COUNT = len(ITEMS)


def believed():
    policy = UCB(SparseLaplace(), exploration=0.25)
    RecordRounds.play(policy, range(20))
    return policy.features, policy.learner.belief()


def test_rows_along_an_order_are_those_of_all_candidates():
    features, belief = believed()
    prepared = features.encode(ITEMS, None, context=CONTEXT)
    whole, order = features.rows(prepared), np.array([3, 0, 2])
    some = features.along(prepared, order)
    assert len(some) == 3
    np.testing.assert_array_equal(some.keys, whole.keys[order])
    np.testing.assert_array_equal(belief.score(some)[0], belief.score(whole)[0][order])
    alone = features.encode([ITEMS[3]], None, context=CONTEXT)
    np.testing.assert_array_equal(belief.score(alone.rows)[0], belief.score(some)[0][:1])
    assert len(features.along(prepared, np.empty(0, np.int64))) == 0


def test_a_view_shares_nothing_that_observing_writes():
    features, _ = believed()
    viewed, before = features.view(), pack(features.saved())
    features.observe(features.encode([{"id": "a", "late": 1.0}], None).rows)
    assert pack(viewed.saved()) == before != pack(features.saved())


def test_a_map_comes_back_from_a_file():
    features, belief = believed()
    again = from_state(unpack(pack(features.saved())))
    assert (repr(again), pack(again.saved())) == (repr(features), pack(features.saved()))
    one, other = (
        belief.score(each.encode(ITEMS, None, context=CONTEXT).rows) for each in (features, again)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("part", ["features", "schema"])
def test_a_state_of_a_newer_version_is_refused_by_name(part):
    state = Records().saved()
    (state if part == "features" else state["schema"])["version"] += 1
    kind = {"features": "records", "schema": "schema"}[part]
    with pytest.raises(BadFile, match=rf"^'{kind}' was saved in version"):
        from_state(state)


def test_a_kind_of_field_that_is_unknown_is_refused():
    state = Records(Schema({"a": "text"})).saved()
    state["schema"]["fields"]["a"] = ["hologram"]
    with pytest.raises(
        BadFile, match=r"fields.'a' must be a kind of field, one of .*, got 'hologram'$"
    ):
        from_state(state)


def test_a_receipt_read_from_a_file_is_planned_anew_and_the_same():
    policy = UCB(SparseLaplace(), exploration=0.25)
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


def test_what_is_not_tried_is_not_observed():
    policy = UCB(SparseLaplace(), exploration=0.25)
    ranking = policy.rank([{"id": "a"}, {"id": "b", "fee": 2.0}], Payoffs.vanilla(2))
    first = ranking.ids[0]
    policy.learn(ranking, Outcome(1, True))
    sizes = policy.schema.sides["candidate"].sizes
    assert sizes.sum() == (first == "b")


def test_a_context_that_is_none_is_refused():
    with pytest.raises(InvalidInput, match=r"^context must be a dictionary, got list$"):
        Records().encode(["a"], None, context=["visa"])
