"""What every feature map must do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from longrank.belief import Belief
from longrank.checks import unit_rows
from longrank.errors import BadFile, InvalidInput
from longrank.features import Features, from_state
from longrank.features.base import Greedy, Prepared
from longrank.links import LOGISTIC
from longrank.packing import pack, unpack

_RNG = np.random.default_rng(1)
ITEMS = unit_rows(_RNG.random((9, 4)) ** 3)


class FeaturesContract:
    """The promises of :class:`longrank.Features`.

    Say in ``make_features`` how to make a feature map for items of length 4 in [0, 1], in
    ``length`` how long its rows are, and in ``max_norm`` how long a row may be as a vector.
    """

    length = 4
    max_norm = 1.0

    def make_features(self) -> Features:
        raise AssertionError("say in make_features how to make a feature map")

    def holds_a_function(self, features: Features) -> bool:  # noqa: ARG002
        """Whether the map holds a function, which a file cannot."""
        return False

    def belief(self, bonus: float = 0.5, ceiling: float = math.inf) -> Belief:
        """Return a belief about rows of the right length."""
        rng = np.random.default_rng(self.length)
        factor = rng.normal(size=(self.length, self.length))
        weights = rng.normal(size=self.length)
        return Belief(weights, factor @ factor.T, bonus, ceiling, LOGISTIC.code)

    def choose(self, features: Features, items: Any, count: int, belief: Belief) -> Greedy:
        return features.greedy(features.prepare(items, self.length), belief, count)

    @pytest.mark.parametrize("count", [0, 1, 9])
    def test_the_rows_that_greedy_chose_are_those_along_its_order(self, count: int) -> None:
        features, belief = self.make_features(), self.belief()
        order, rows, means, scores = self.choose(features, ITEMS, count, belief)
        assert len(set(order.tolist())) == len(means) == len(scores) == count
        assert rows.shape == (count, self.length)
        assert rows.dtype == np.float64
        prepared = features.prepare(ITEMS, self.length)
        np.testing.assert_array_equal(features.along(prepared, order), rows)
        np.testing.assert_allclose(rows @ belief.weights, means, rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("bonus", [0.0, 0.5])
    def test_each_position_has_the_best_item_given_those_above_it(self, bonus: float) -> None:
        features, belief = self.make_features(), self.belief(bonus)
        prepared: Prepared = features.prepare(ITEMS, self.length)
        order, _, _, scores = features.greedy(prepared, belief, 9)
        for i in range(9):
            for other in np.setdiff1d(np.arange(9), order[:i]):
                row = features.along(prepared, np.array([*order[:i], other]))[-1]
                width = math.sqrt(row @ belief.inverse @ row)
                assert row @ belief.weights + bonus * width <= scores[i] + 1e-12

    def test_equal_items_go_by_index(self) -> None:
        order = self.choose(self.make_features(), np.tile(ITEMS[0], (5, 1)), 5, self.belief())[0]
        assert order.tolist() == [0, 1, 2, 3, 4]

    def test_scores_above_the_ceiling_count_as_equal(self) -> None:
        belief = self.belief(ceiling=-50.0)
        order, _, _, scores = self.choose(self.make_features(), ITEMS, 9, belief)
        assert order.tolist() == list(range(9))
        assert (scores == -50.0).all()

    def test_rows_are_bounded(self) -> None:
        features = self.make_features()
        rows = features.along(features.prepare(ITEMS, self.length), np.arange(9))
        assert np.linalg.norm(rows, axis=1).max() <= self.max_norm + 1e-12

    def test_a_row_depends_only_on_the_items_above_it(self) -> None:
        features = self.make_features()
        prepared = features.prepare(ITEMS, self.length)
        long, short = (features.along(prepared, np.array(o)) for o in ([3, 1, 2, 0], [3, 1]))
        np.testing.assert_array_equal(long[:2], short)

    def test_a_map_that_says_so_is_independent_of_the_items_above(self) -> None:
        features = self.make_features()
        prepared = features.prepare(ITEMS, self.length)
        alone = np.concatenate([features.along(prepared, np.array([i])) for i in range(9)])
        along = features.along(prepared, np.arange(9))
        assert features.independent == np.array_equal(alone, along)
        if features.independent:
            np.testing.assert_array_equal(features.rows(prepared), alone)

    @pytest.mark.parametrize("items", [[], np.empty((0, 4)), np.empty((0, 4), np.float32)])
    def test_an_empty_set_gives_no_rows(self, items: Any) -> None:
        features = self.make_features()
        assert [len(part) for part in self.choose(features, items, 0, self.belief())] == [0] * 4
        prepared = features.prepare(items, self.length)
        assert features.along(prepared, np.empty(0, np.int64)).shape == (0, self.length)

    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    def test_items_that_are_not_finite_are_refused(self, bad: float) -> None:
        items = ITEMS.copy()
        items[2, 3] = bad
        with pytest.raises(InvalidInput, match=rf"^items must be finite, got {bad} in row 2, col"):
            self.make_features().prepare(items, self.length)

    def test_a_map_comes_back_from_a_file(self) -> None:
        features = self.make_features()
        state = unpack(pack(features.saved()))
        if self.holds_a_function(features):
            with pytest.raises(BadFile, match=r"pass features=.* when loading$"):
                from_state(state)
            return
        again = from_state(state)
        assert (type(again), repr(again)) == (type(features), repr(features))
        one, other = (
            each.along(each.prepare(ITEMS, self.length), np.arange(9)) for each in (features, again)
        )
        np.testing.assert_array_equal(one, other)

    def test_a_state_of_a_newer_version_is_refused_by_name(self) -> None:
        features = self.make_features()
        state = features.saved() | {"version": features.version + 1}
        with pytest.raises(BadFile, match=rf"^'{features.kind}' was saved in version"):
            from_state(state)
