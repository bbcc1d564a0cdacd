"""What every learner must do."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from longrank.arrays import Flags
from longrank.checks import unit_rows
from longrank.errors import BadFile, InvalidInput
from longrank.learners import Learner, from_state
from longrank.packing import pack, unpack
from longrank.rows import Layout, Plan, SparseRows

BAD_ROWS: dict[str, tuple[Any, Any]] = {
    r"row must have 4 columns, got 3": ([0.1] * 3, True),
    r"row must be finite, got nan in row 0, column 1": ([0.1, math.nan, 0.1, 0.1], True),
    r"row must have rows of norm at most 1 .*, got norm 2 in row 0": ([1.0] * 4, True),
    r"row must be one row of 4 numbers, got \(2, 4\)": (np.eye(4)[:2], True),
    r"row must hold numbers, got values of type <U1": (list("abcd"), True),
    r"success must be True or False, got 1": ([0.1] * 4, 1),
    r"success must be True or False, got None": ([0.1] * 4, None),
}


def history(n: int, seed: int = 1) -> tuple[NDArray[np.float64], Flags]:
    """Return rows of length 4, and which succeed: the first number decides."""
    rng = np.random.default_rng(seed)
    rows = unit_rows(rng.normal(size=(n, 4)))
    return rows, rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * rows[:, 0]))


def teach(learner: Learner, n: int = 30, seed: int = 1) -> Learner:
    """Let a learner learn from a history, row by row."""
    for row, success in zip(*history(n, seed), strict=True):
        learner.update(row, bool(success))
    return learner


def bits(learner: Learner) -> bytes:
    """Return the state as bytes."""
    return pack(learner.saved())


def sparse(rows: NDArray[np.float64]) -> SparseRows:
    """Return rows as sparse ones: number i is that of a column of its own."""
    count, length = rows.shape
    index = np.arange(length)
    groups = np.where(index % 2, 11, 12).astype(np.uint64)
    plan = Plan(index, np.full(length, -1), groups, index, tuple((str(i), None) for i in index))
    keys = np.tile(
        np.arange(1, length + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15), (count, 1)
    )
    context = np.empty(0, np.uint64), np.empty(0)
    return SparseRows(
        Layout((), ()), keys, rows, *context, np.empty((count, 0)), np.empty((1, 0)), plan
    )


class AnyLearnerContract:
    """The contract of every learner, whatever its rows are."""

    def make_learner(self) -> Learner:
        raise AssertionError("say in make_learner how to make a learner")

    def rows(self, numbers: NDArray[np.float64]) -> Any:
        """Return rows of length 4 as the learner takes them."""
        return numbers

    def teach(self, learner: Learner, n: int = 30, seed: int = 1) -> Learner:
        """Let a learner learn from a history, row by row."""
        numbers, successes = history(n, seed)
        for i, success in enumerate(successes):
            learner.observe(self.rows(numbers[i : i + 1]), bool(success))
        return learner

    def test_a_fresh_learner_knows_nothing(self) -> None:
        learner = self.make_learner()
        means, widths = learner.score(self.rows(np.eye(4)))
        assert (learner.updates, means.tolist()) == (0, [0.0] * 4)
        assert (widths == widths[0]).all()
        assert widths[0] > 0.0

    def test_a_view_stays_as_it_is_while_the_learner_learns(self) -> None:
        learner = self.teach(self.make_learner(), 10)
        viewed, rows = learner.view(), self.rows(history(8, seed=2)[0])
        state, before = bits(learner), [each.copy() for each in learner.score(rows)]
        self.teach(learner, 20, seed=4)
        for kept, seen, now in zip(before, viewed.score(rows), learner.score(rows), strict=True):
            np.testing.assert_array_equal(kept, seen)
            assert not np.array_equal(seen, now)
        assert bits(viewed) == state

    def test_every_observed_item_counts_as_an_update(self) -> None:
        learner = self.make_learner()
        learner.observe(self.rows(history(3)[0]), True)
        learner.observe(self.rows(np.empty((0, 4))), False)
        learner.observe(self.rows(np.array([[0.0, 0.0, 0.5, 0.0]])), False)
        assert learner.updates == 4

    def test_a_learner_comes_back_from_a_file_and_goes_on_bit_for_bit(self) -> None:
        for n in (0, 62, 64):  # arrays that grow may do so at 64
            learner = self.teach(self.make_learner(), n)
            again = from_state(unpack(bits(learner)))
            assert (bits(again), repr(again)) == (bits(learner), repr(learner))
            assert bits(self.teach(again, 4, seed=3)) == bits(self.teach(learner, 4, seed=3))

    def test_a_state_of_a_newer_version_is_refused_by_name(self) -> None:
        learner = self.make_learner()
        state = learner.saved() | {"version": learner.version + 1}
        with pytest.raises(BadFile, match=rf"^'{learner.kind}' was saved in version"):
            from_state(state)

    def test_a_saved_state_does_not_change_with_the_learner(self) -> None:
        learner = self.teach(self.make_learner(), 5)
        state = learner.saved()
        before = pack(state)
        self.teach(learner, 5)
        assert pack(state) == before

    def test_what_always_succeeds_is_learned(self) -> None:
        learner = self.make_learner()
        for row in np.tile(np.eye(4), (30, 1)):
            learner.observe(self.rows(row[np.newaxis]), bool(row[0]))
        probabilities = learner.link.probability(learner.score(self.rows(np.eye(4)))[0])
        assert probabilities.argmax() == 0
        assert probabilities[0] > probabilities[1:].max() + 0.1


class SparseLearnerContract(AnyLearnerContract):
    """The contract of a :class:`longrank.Learner` of rows in blocks.

    Let ``make_learner`` return a new one.
    """

    def rows(self, numbers: NDArray[np.float64]) -> Any:
        return sparse(numbers)

    def test_widths_shrink_where_something_was_seen(self) -> None:
        learner = self.make_learner()
        before = learner.score(self.rows(np.eye(4)))[1]
        for success in (True, False):
            learner.observe(self.rows(np.eye(4)[:1]), success)
        after = learner.score(self.rows(np.eye(4)))[1]
        assert after[0] < before[0]
        assert (after[0] < after[1:]).all()


class LearnerContract(AnyLearnerContract):
    """The contract of :class:`longrank.Learner`.

    Let ``make_learner`` return a new learner of rows of length 4.
    """

    def test_means_and_widths_are_those_of_weights_and_inverse(self) -> None:
        learner, (rows, _) = teach(self.make_learner()), history(8, seed=2)
        means, widths = learner.score(rows)
        np.testing.assert_allclose(means, rows @ learner.weights, rtol=1e-12, atol=1e-14)
        squares = np.einsum("ki,ij,kj->k", rows, learner.inverse, rows)
        np.testing.assert_allclose(widths, np.sqrt(squares), rtol=1e-12)

    def test_a_belief_holds_what_ranking_needs(self) -> None:
        learner = teach(self.make_learner())
        weights, inverse, ceiling, link = learner.belief()
        np.testing.assert_array_equal(weights, learner.weights)
        np.testing.assert_array_equal(inverse, learner.inverse)
        assert (ceiling, link) == (learner.link.ceiling, learner.link.code)

    def test_widths_shrink_where_something_was_seen(self) -> None:
        learner = self.make_learner()
        before = learner.score(np.eye(4))[1]
        learner.update([1.0, 0.0, 0.0, 0.0], True)
        after = learner.score(np.eye(4))[1]
        assert after[0] < before[0]
        np.testing.assert_array_equal(after[1:], before[1:])

    def test_a_bad_update_is_refused_and_changes_nothing(self) -> None:
        learner = teach(self.make_learner(), 5)
        before = bits(learner)
        for message, (row, success) in BAD_ROWS.items():
            with pytest.raises(InvalidInput, match=f"^{message}$"):
                learner.update(row, success)
            assert bits(learner) == before

    def test_rows_that_cannot_be_scored_are_refused(self) -> None:
        with pytest.raises(InvalidInput, match=r"^features must have 4 columns, got 5$"):
            self.make_learner().score(np.eye(5))
