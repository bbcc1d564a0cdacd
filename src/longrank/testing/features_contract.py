"""What every feature map must do."""

import math
from typing import Any, ClassVar

import numpy as np
import pytest

from longrank.checks import unit_rows
from longrank.decision import Ranking
from longrank.errors import BadFile, InvalidInput
from longrank.features import Features, from_state
from longrank.features.base import Encoded
from longrank.learners import Blocks
from longrank.packing import pack, unpack
from longrank.rows import MAX_ATOM, SparseRows
from longrank.testing.rounds import RecordRounds

_RNG = np.random.default_rng(1)
ITEMS = unit_rows(_RNG.random((9, 4)) ** 3)


class AnyFeaturesContract:
    """The contract of every feature map, whatever its rows are."""

    def make_features(self) -> Features:
        raise AssertionError("say in make_features how to make a feature map")

    def test_a_state_of_a_newer_version_is_refused_by_name(self) -> None:
        features = self.make_features()
        state = features.saved() | {"version": features.version + 1}
        with pytest.raises(BadFile, match=rf"^'{features.kind}' was saved in version"):
            from_state(state)


class FeaturesContract(AnyFeaturesContract):
    """The contract of :class:`longrank.Features`.

    Let ``make_features`` return a feature map for items of length 4 in [0, 1]. Set ``length`` to
    the length of its rows, and ``max_norm`` to the largest norm of a row.
    """

    length = 4
    max_norm = 1.0

    def holds_a_function(self, features: Features) -> bool:  # noqa: ARG002
        """Whether the map contains a function, which cannot be saved."""
        return False

    def test_next_rows_are_those_that_the_items_would_have(self) -> None:
        features = self.make_features()
        candidates = features.encode(ITEMS, self.length)
        for prefix in ([], [3], [3, 1, 7]):
            rows = features.next_rows(candidates, prefix)
            assert rows.shape == (9, self.length)
            for item in set(range(9)) - set(prefix):
                along = features.along(candidates, np.array([*prefix, item]))
                assert along.dtype == np.float64
                np.testing.assert_array_equal(rows[item], along[-1])

    def test_rows_are_bounded(self) -> None:
        features = self.make_features()
        rows = features.along(features.encode(ITEMS, self.length), np.arange(9))
        assert np.linalg.norm(rows, axis=1).max() <= self.max_norm + 1e-12

    def test_a_row_depends_only_on_the_items_above_it(self) -> None:
        features = self.make_features()
        candidates = features.encode(ITEMS, self.length)
        long, short = (features.along(candidates, np.array(o)) for o in ([3, 1, 2, 0], [3, 1]))
        np.testing.assert_array_equal(long[:2], short)

    def test_a_map_that_says_so_is_independent_of_the_items_above(self) -> None:
        features = self.make_features()
        candidates = features.encode(ITEMS, self.length)
        alone = np.concatenate([features.along(candidates, np.array([i])) for i in range(9)])
        along = features.along(candidates, np.arange(9))
        assert features.independent == np.array_equal(alone, along)
        if features.independent:
            np.testing.assert_array_equal(features.rows(candidates), alone)

    def test_an_empty_set_gives_no_rows(self) -> None:
        features = self.make_features()
        empty: list[Any] = [[], np.empty((0, 4)), np.empty((0, 4), np.float32)]
        for items in empty:
            candidates = features.encode(items, self.length)
            assert features.along(candidates, np.empty(0, np.int64)).shape == (0, self.length)

    def test_items_that_are_not_finite_are_refused(self) -> None:
        items = ITEMS.copy()
        for bad in (math.nan, math.inf):
            items[2, 3] = bad
            with pytest.raises(InvalidInput, match=rf"^items must be finite, got {bad} in row 2, "):
                self.make_features().encode(items, self.length)

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
            each.along(each.encode(ITEMS, self.length), np.arange(9)) for each in (features, again)
        )
        np.testing.assert_array_equal(one, other)


class SparseFeaturesContract(AnyFeaturesContract):
    """The contract of feature maps for records, whose rows have a dense and a sparse part.

    Let ``make_features`` return a feature map for the records of :class:`RecordRounds`.
    """

    rounds = RecordRounds
    records: ClassVar[Any] = RecordRounds.items

    def taught(self) -> tuple[Any, Blocks]:
        """Return a map that observed some rounds, and a learner of its rows."""
        features: Any = self.make_features()
        learner = Blocks()
        for t in range(12):
            self.learn(features, learner, t)
        return features, learner

    def learn(self, features: Any, learner: Blocks, t: int) -> None:
        """Observe all candidates of round t; every third round the last one succeeds."""
        rows = features.rows(self.encoded(features, t))
        if len(rows):
            learner.observe(rows, t % 3 == 0)
            features.observe(rows, self.encoded(features, t).sample)

    def encoded(self, features: Any, t: int) -> Encoded:
        records = self.rounds.candidates(t, np.random.default_rng([2021, t]))
        return features.encode(records, None, **self.rounds.given(t))

    def test_it_says_that_its_rows_are_sparse(self) -> None:
        features, _ = self.taught()
        assert features.sparse
        assert isinstance(features.rows(features.encode(self.records, None)), SparseRows)

    def test_the_rows_along_an_order_are_those_of_its_candidates(self) -> None:
        features, _ = self.taught()
        candidates = self.encoded(features, 13)
        order = np.arange(len(candidates))[::-1]
        rows = features.rows(candidates)
        assert features.along(candidates, order) == rows.take(order)
        if features.independent:
            for i in range(len(candidates)):
                assert features.along(candidates, np.array([i])) == rows.take([i])

    def test_numbers_are_bounded(self) -> None:
        features, _ = self.taught()
        large = [{"fee": x, "embedding": [x, x, -x]} for x in (1e-99, 1.0, 1e99)]
        rows = features.rows(features.encode(large, None, context={"amount": 1e300}))
        for numbers in (rows.numbers, rows.context_numbers):
            assert (np.abs(numbers) <= MAX_ATOM).all()

    def test_an_empty_set_gives_no_rows(self) -> None:
        features, _ = self.taught()
        for nothing in self.rounds.empty:
            candidates = features.encode(nothing, None)
            assert len(features.rows(candidates)) == 0

    def test_what_is_not_records_is_refused(self) -> None:
        others: list[Any] = [3.0, [{"id": "a"}, 3.0], [[1.0], [1.0, 2.0]], "name", {"id": "a"}]
        for bad in others:
            with pytest.raises(InvalidInput, match=r"^candidates must be an array of numbers, a l"):
                self.make_features().encode(bad, None)
        with pytest.raises(InvalidInput, match=r"^candidates must be records, as those that it "):
            self.taught()[0].encode(np.eye(3), None)

    def test_only_observing_changes_it_and_a_view_stays_as_it_was(self) -> None:
        features, _ = self.taught()
        before, view = pack(features.saved()), features.view()
        candidates = self.encoded(features, 13)
        assert pack(features.saved()) == before
        features.observe(features.rows(candidates), candidates.sample)
        assert pack(features.saved()) != before
        assert pack(view.saved()) == before

    def test_a_receipt_keeps_the_rows_as_they_were(self) -> None:
        features, learner = self.taught()
        candidates, order = self.encoded(features, 13), np.array([2, 0])
        rows = features.along(candidates, order)
        assert rows.dim == features.block > 0
        added = learner.belief(rows.dim).contributions(rows, *features.labels(candidates))
        names = features.name(candidates, order, rows, added)
        numbers = np.concatenate([np.zeros(3 * 2 + 1), rows.dense.ravel()])
        ranking = Ranking.from_buffer(order, numbers, rows.dim, names)
        again = Ranking.from_bytes(ranking.to_bytes())
        features.observe(rows, candidates.sample)
        for each in (ranking, again):
            found = features.recall(each, 2)
            assert found == rows
            assert found.plan is not None
            assert features.recall(each, 1) == rows.take([0])

    def test_a_map_comes_back_from_a_file_and_goes_on_alike(self) -> None:
        features, learner = self.taught()
        again = from_state(unpack(pack(features.saved())))
        assert (type(again), repr(again)) == (type(features), repr(features))
        assert pack(again.saved()) == pack(features.saved())
        for t in range(12, 16):
            one, other = (each.rows(self.encoded(each, t)) for each in (features, again))
            assert one == other
            self.learn(features, learner, t)
            self.learn(again, Blocks(), t)
        assert pack(again.saved()) == pack(features.saved())
