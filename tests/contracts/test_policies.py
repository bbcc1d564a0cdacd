"""Every policy keeps the contract of policies."""

import numpy as np
import pytest

from every_part import CONTRACT, POLICIES, RECORD_CONTRACT, RECORD_POLICIES
from longrank import EpsilonGreedy, Outcome, Payoffs
from longrank.testing import PolicyContract, RecordRounds

ITEMS = np.eye(4)[[1, 0, 3, 2, 1]] * 0.9


class TestPolicies(PolicyContract):
    @pytest.fixture(autouse=True, params=CONTRACT)
    def _each(self, request):
        self.make_policy = POLICIES[request.param]

    def own_features(self, policy):
        features = getattr(policy, "features", None)
        kept = features is None or features.state().get("topics_kind") != "function"
        return None if kept else features


class TestPoliciesOfRecords(PolicyContract):
    rounds = RecordRounds

    @pytest.fixture(autouse=True, params=RECORD_CONTRACT)
    def _each(self, request):
        self.make_policy = RECORD_POLICIES[request.param]


def test_a_try_that_cannot_pay_is_not_made(believer):
    costly = Payoffs([0.0] * 3, [0.0, -1.0, -2.0, -3.0])
    if isinstance(believer, EpsilonGreedy):
        believer.epsilon = 0.0  # random rounds use the whole budget
    assert len(believer.rank(ITEMS, costly)) == 0


def test_what_always_succeeds_is_learned(student):
    rng = np.random.default_rng(3)
    for t in range(80):
        items = np.eye(4)[rng.permutation([0, 1, 2, 3, 1, 2])]
        if t == 60:  # from now on it plays what it believes
            for setting in ("epsilon", "exploration"):
                if hasattr(student, setting):
                    setattr(student, setting, 0.0)
        ranking = student.rank(items, Payoffs.vanilla(2))
        wins = np.flatnonzero(items[ranking.order, 0])
        student.learn(ranking, Outcome(int(wins[0]) + 1, True) if wins.size else Outcome(2, False))
        assert t < 60 or wins.tolist() == [0]


def test_the_receipt_of_a_foreign_sequence_can_be_learned(student, play):
    play(student, range(8))
    receipt = student.receipt(ITEMS, Payoffs.exponential(5), [3, 1])
    assert receipt.order.tolist() == [3, 1]
    updates = student.learner.updates
    student.learn(receipt, Outcome(2, True))
    assert student.learner.updates == updates + 2
