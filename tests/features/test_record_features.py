"""Records as a feature map: the promises of maps, on rows that are sparse."""

import numpy as np
import pytest

from longrank import UCB, BadFile, Blocks, Outcome, Payoffs, Records, Schema
from longrank.features import from_state
from longrank.testing import RecordRounds

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
