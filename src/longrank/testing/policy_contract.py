"""What every policy must do."""

import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longrank.decision import Outcome, Ranking
from longrank.errors import BadFile, InvalidInput
from longrank.features import Features
from longrank.payoffs import Payoffs
from longrank.policies import UCB, Policy, from_bytes, load
from longrank.policies.learning import LearningPolicy, Patience
from longrank.rows import SparseRows
from longrank.schema import priced
from longrank.testing.rounds import Rounds

VANILLA = Payoffs.vanilla(5)


class PolicyContract:
    """The contract of :class:`longrank.Policy`.

    Let ``make_policy`` return a new policy for items of length 4 and budgets up to 5. If its
    candidates are records, set ``rounds`` to :class:`longrank.testing.RecordRounds`. If its
    features contain a function, which cannot be saved, return them in ``own_features``.
    """

    rounds: type[Rounds] = Rounds

    def make_policy(self) -> Policy:
        raise AssertionError("say in make_policy how to make a policy")

    def own_features(self, policy: Policy) -> Features | None:  # noqa: ARG002
        """Return the features to pass when loading; None if the file contains them."""
        return None

    def revive(self, policy: Policy) -> Policy:
        """Save and load."""
        return from_bytes(policy.to_bytes(), features=self.own_features(policy))

    def propose(self, policy: Policy, t: int, **more: Any) -> Ranking:
        """Propose a ranking of round t."""
        items, payoffs, budget = self.rounds.deal(t)
        return policy.propose(items, payoffs, budget, **self.rounds.given(t), **more)

    # ranking

    def test_a_ranking_holds_distinct_items_within_the_budget(self) -> None:
        for ranking, _ in self.rounds.rank(self.make_policy(), range(12)):
            order = ranking.order.tolist()
            assert len(set(order)) == len(order) <= len(ranking.values) - 1 <= 5
            assert len(ranking.features) == len(ranking.estimates) == len(order)
            assert len(ranking.probabilities) == len(order)

    def test_values_are_those_of_the_probabilities(self) -> None:
        payoffs = Payoffs.exponential(5)
        ranking = self.make_policy().rank(self.rounds.items, payoffs)
        if np.isnan(ranking.probabilities).any():
            return  # NaN: a policy without a belief
        values = ranking.values[: len(ranking) + 1]
        np.testing.assert_allclose(values, payoffs.values(ranking.probabilities))

    def test_an_empty_set_gives_an_empty_ranking(self) -> None:
        policy, payoffs = self.make_policy(), Payoffs.exponential(3)
        for empty in self.rounds.empty:
            ranking = policy.rank(empty, payoffs)
            before = policy.to_bytes()
            assert (len(ranking), ranking.values.tolist()) == (0, [payoffs.losses[0]])
            policy.learn(ranking, Outcome(0, False))
            assert policy.to_bytes() == before

    def test_a_budget_of_nothing_gives_an_empty_ranking(self) -> None:
        for payoffs in (Payoffs.vanilla(0), Payoffs.vanilla(3)):
            assert len(self.make_policy().rank(self.rounds.items, payoffs, 0)) == 0

    def test_a_set_smaller_than_the_budget_is_used_whole_where_tries_are_free(self) -> None:
        for k in (1, 2, 5):
            ranking = self.make_policy().rank(self.rounds.items[:k], VANILLA)
            assert sorted(ranking.order.tolist()) == list(range(k))

    def test_invalid_items_are_refused_and_change_nothing(self) -> None:
        policy = self.make_policy()
        before = policy.to_bytes()
        for bad in (math.nan, math.inf):
            items, message = self.rounds.broken(bad)
            with pytest.raises(InvalidInput, match=f"^{message}"):
                policy.rank(items, VANILLA)
            assert policy.to_bytes() == before

    # ranking without effect

    def test_proposing_changes_nothing(self) -> None:
        policy = self.make_policy()
        self.rounds.play(policy, range(8))
        before = policy.to_bytes()
        for t in range(8, 16):
            self.propose(policy, t)
            self.propose(policy, t, rng=t, probe=False)
        assert policy.to_bytes() == before

    def test_a_proposal_is_what_rank_answers_next(self) -> None:
        policy = self.make_policy()
        self.rounds.play(policy, range(8))
        for t in range(8, 16):
            proposed = self.propose(policy, t)
            assert proposed == policy.rank(*self.rounds.deal(t), **self.rounds.given(t))

    def test_a_proposal_draws_from_the_generator_that_is_given(self) -> None:
        policy = self.make_policy()
        one = [self.propose(policy, t, rng=5) for t in range(9)]
        other = [self.propose(policy, t, rng=np.random.default_rng(5)) for t in range(9)]
        assert one == other
        shared, untouched = np.random.default_rng(6), np.random.default_rng(6)
        drawn = [policy.propose(self.rounds.items, VANILLA, rng=shared) for _ in range(9)]
        varied = len({tuple(each.order) for each in drawn}) > 1
        assert (shared.random() != untouched.random()) == (policy.rng is not None)
        assert varied == (policy.rng is not None) or isinstance(policy, UCB)  # by looks

    def test_ranking_is_proposing_and_recording(self) -> None:
        one, other = self.make_policy(), self.make_policy()
        for t in range(30):
            proposed = self.propose(other, t, rng=other.rng)
            before = other.to_bytes()
            assert other.record_decision(proposed) == (other.to_bytes() != before)
            self.rounds.rank(one, [t])
            assert one.to_bytes() == other.to_bytes()

    def test_a_view_ranks_from_the_belief_of_its_moment(self) -> None:
        policy = self.make_policy()
        self.rounds.play(policy, range(8))
        viewed, state = policy.view(), policy.to_bytes()
        expected = [self.propose(policy, t, rng=t) for t in range(8, 16)]
        self.rounds.play(policy, range(8, 24))
        assert [self.propose(viewed, t, rng=t) for t in range(8, 16)] == expected
        assert viewed.to_bytes() == state

    def test_the_receipt_of_a_rankings_own_order_has_its_rows(self) -> None:
        policy = self.make_policy()
        ranking = policy.propose(self.rounds.items, VANILLA)
        receipt = policy.receipt(self.rounds.items, VANILLA, ranking.order)
        if isinstance(ranking.features, SparseRows):
            assert receipt.features == ranking.features
        else:
            np.testing.assert_array_equal(receipt.features, ranking.features)
        assert receipt.ids == ranking.ids

    def test_an_invalid_sequence_gets_no_receipt(self) -> None:
        orders: list[Any] = [[0, 0], [5], [-1], [0.5], [[0]]]
        for order in orders:
            with pytest.raises(InvalidInput, match=r"^order must "):
                self.make_policy().receipt(self.rounds.items, VANILLA, order)

    # candidates with costs and values

    def test_a_round_with_prices_is_ranked_without_effect_stored_and_learned_from(self) -> None:
        policy = self.make_policy()
        viewed, receipts = None, []
        for t in range(12):
            items, payoffs, budget = self.rounds.deal_priced(t)
            before, given = policy.to_bytes(), self.rounds.given(t)
            proposed = policy.propose(items, payoffs, budget, **given)
            assert policy.to_bytes() == before
            ranking = policy.rank(items, payoffs, budget, **given)
            assert ranking == proposed
            order = ranking.order.tolist()
            assert len(set(order)) == len(order) <= min(budget, len(items))
            assert ranking == Ranking.from_bytes(ranking.to_bytes())
            assert ranking == Ranking.from_dict(json.loads(json.dumps(ranking.to_dict())))
            assert ranking == pickle.loads(pickle.dumps(ranking))
            assert isinstance(ranking.explain(), str)
            if t == 6:
                viewed, asked = policy.view(), (items, payoffs, budget)
                receipts = [viewed.propose(*asked, rng=1, **given)]
            policy.learn(ranking, self.rounds.happen(t, ranking))
        assert viewed is not None
        assert receipts == [viewed.propose(*asked, rng=1, **self.rounds.given(6))]

    def test_saved_loaded_and_continued_with_prices_equals_never_stopped(self) -> None:
        policy = again = self.make_policy()
        for t in range(16):
            again = self.revive(policy) if t == 8 else again
            for each in (policy, again) if t >= 8 else (policy,):
                ranking = each.rank(*self.rounds.deal_priced(t), **self.rounds.given(t))
                each.learn(ranking, self.rounds.happen(t, ranking))
        assert again.to_bytes() == policy.to_bytes()

    def test_few_items_with_prices_are_ranked(self) -> None:
        payoffs = Payoffs.exponential(3)
        for k in (0, 1, 2):
            for paid in (payoffs.priced([0.2] * k), payoffs.priced([0.1] * k, [1.0, -9.0][:k])):
                ranking = self.make_policy().rank(self.rounds.items[:k], paid.patient(0.5))
                assert len(ranking.values) == k + 1
                assert ranking.values[0] == payoffs.losses[0]
                assert len(self.make_policy().rank(self.rounds.items[:k], paid, 0)) == 0

    def test_values_with_prices_are_those_of_the_probabilities(self) -> None:
        for t in range(6):
            items, payoffs, budget = self.rounds.deal_priced(t)
            ranking = self.make_policy().rank(items, payoffs, budget, **self.rounds.given(t))
            if ranking.costs is None or np.isnan(ranking.probabilities).any():
                continue  # it does without prices, or without a belief
            along = priced(payoffs, items).along(ranking.order)
            values = ranking.values[: len(ranking) + 1]
            np.testing.assert_allclose(values, along.values(ranking.probabilities), atol=1e-12)
            for outcome in (Outcome(len(ranking), False), self.rounds.happen(t, ranking)):
                earned = ranking.reward(payoffs, outcome)
                assert math.isclose(earned, along.reward(outcome), abs_tol=1e-12)

    # learning

    def test_nothing_tried_changes_nothing(self) -> None:
        policy = self.make_policy()
        self.rounds.play(policy, range(6))
        [(ranking, _)] = self.rounds.rank(policy, [7])
        before = policy.to_bytes()
        policy.learn(ranking, Outcome(0, False))
        assert policy.to_bytes() == before

    def test_learning_late_gives_the_same_state(self) -> None:
        late, early = self.make_policy(), self.make_policy()
        receipts = self.rounds.rank(late, range(12))
        for t, (ranking, outcome) in enumerate(receipts):
            late.learn(ranking, outcome)
            self.rounds.rank(early, [t])  # draws what the other one drew
            early.learn(ranking, outcome)
        assert late.to_bytes() == early.to_bytes()

    def test_learning_from_pairs_is_learning_one_by_one(self) -> None:
        one, other = self.make_policy(), self.make_policy()
        receipts = self.rounds.rank(one, range(12))
        self.rounds.rank(other, range(12))
        for ranking, outcome in receipts:
            one.learn(ranking, outcome)
        assert other.learn_from(iter(receipts)) == 12
        assert one.to_bytes() == other.to_bytes()

    def test_a_receipt_that_was_stored_teaches_the_same(self) -> None:
        policy = self.make_policy()
        receipts = self.rounds.rank(policy, range(12))
        from_binary, from_json = self.revive(policy), self.revive(policy)
        for ranking, outcome in receipts:
            policy.learn(ranking, outcome)
            from_binary.learn(Ranking.from_bytes(ranking.to_bytes()), outcome)
            stored = Ranking.from_dict(json.loads(json.dumps(ranking.to_dict())))
            from_json.learn(stored, outcome)
        assert policy.to_bytes() == from_binary.to_bytes() == from_json.to_bytes()

    def test_what_was_not_tried_teaches_nothing(self) -> None:
        for succeeded in (False, True):
            policy = self.make_policy()
            again = self.revive(policy)
            whole = policy.rank(self.rounds.items, VANILLA)
            again.rank(self.rounds.items, VANILLA)  # draws what the other one drew
            policy.learn(whole, Outcome(2, succeeded))
            again.learn(whole.subset([0, 1]), Outcome(2, succeeded))
            for each in (policy, again):
                if isinstance(each, LearningPolicy) and each.patience is not None and not succeeded:
                    each.patience = Patience()  # it may learn that the cascade ended early
            assert policy.to_bytes() == again.to_bytes()

    def test_an_outcome_that_the_ranking_cannot_have_is_refused_and_changes_nothing(self) -> None:
        policy = self.make_policy()
        ranking = policy.rank(self.rounds.items, VANILLA)
        before = policy.to_bytes()
        with pytest.raises(InvalidInput, match=r"^outcome\.tried must be at most 5"):
            policy.learn(ranking, Outcome(6, True))
        assert policy.to_bytes() == before

    # files

    def test_saved_loaded_and_continued_equals_never_stopped(self, tmp_path: Path) -> None:
        policy = self.make_policy()
        self.rounds.play(policy, range(10))
        policy.save(tmp_path / "policy")
        again = load(tmp_path / "policy", features=self.own_features(policy))
        assert again.to_bytes() == policy.to_bytes() == (tmp_path / "policy").read_bytes()
        assert (type(again), repr(again)) == (type(policy), repr(policy))
        assert self.rounds.play(again, range(10, 24)) == self.rounds.play(policy, range(10, 24))
        assert again.to_bytes() == policy.to_bytes()

    def test_a_file_of_a_newer_version_is_refused_by_name(self) -> None:
        policy = self.make_policy()
        type_of = type(policy)
        newer = type("Newer", (type_of,), {"kind": type_of.kind, "version": type_of.version + 1})
        policy.__class__ = newer
        with pytest.raises(BadFile, match=rf"'{type_of.kind}' was saved in version"):
            from_bytes(policy.to_bytes(), features=self.own_features(policy))

    def test_a_policy_with_a_belief_learns_by_its_learner(self) -> None:
        policy = self.make_policy()
        if not isinstance(policy, LearningPolicy):
            return
        receipts = self.rounds.rank(policy, range(12))
        before = policy.learner.updates
        for ranking, outcome in receipts:
            policy.learn(ranking, outcome)
        observed = sum(outcome.tried for _, outcome in receipts)
        assert policy.learner.updates in (before, before + observed)  # the truth never learns
