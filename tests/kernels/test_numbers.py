"""Numbers as scores and bins against a plain description of ranks in a sample."""

import math
from bisect import bisect_left, bisect_right
from statistics import NormalDist, fmean, pstdev

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from longrank.kernels import code_rows, observe_numbers
from longrank.kernels.numbers import BINS, ENOUGH, LIMIT, SAMPLE

CODES = np.arange(1, 3 + BINS, dtype=np.uint64).reshape(1, -1)  # missing 1, score 2, bins 3...
MISSING, SCORE, FIRST_BIN = 1, 2, 3


def fresh(fields=1):
    return np.zeros((fields, SAMPLE)), np.zeros(fields, np.int64), np.zeros(fields, np.int64)


def observe(values, state=None):
    """The state of one field after some numbers."""
    state = fresh() if state is None else state
    observe_numbers(np.array(values, np.float64).reshape(-1, 1), *state)
    return state


def code(values, state, log=False):
    """Keys and numbers of the two atoms of a field, for each value."""
    numbers = np.array(values, np.float64).reshape(-1, 1)
    keys, found, bad = code_rows(
        np.array([[9, 0, 0]], np.uint64),
        np.zeros(len(numbers), np.int64),
        numbers,
        np.array([1]),
        np.array([log]),
        CODES,
        *state[:2],
    )
    if bad < 0:
        assert (keys[:, 0] == 9).all()  # the template's
        assert (found[:, 0] == 1.0).all()
    return keys[:, 1:].tolist(), found[:, 1:].tolist(), bad


def sample(state):
    return state[0][0, : state[1][0]].tolist()


class Reservoir:
    """Keeps so many of what was seen; a newcomer takes the place of one of a drawn rank."""

    def __init__(self):
        self.kept, self.seen = [], 0

    def add(self, number):
        self.seen += 1
        if len(self.kept) == SAMPLE:
            drawn = (self.seen * 1103515245 + 12345) % 2**31
            for shift, factor in ((15, 48271), (13, 69621)):
                drawn = (drawn ^ (drawn >> shift)) * factor % 2**31
            rank = drawn % self.seen
            if rank >= SAMPLE:
                return
            del self.kept[rank]
        self.kept.insert(bisect_left(self.kept, number), number)


numbers = st.floats(allow_nan=True, allow_infinity=False)


@given(st.lists(numbers, max_size=400))
@example(values=[float(n) for n in range(20_000)])
def test_the_sample_is_that_of_a_reservoir_which_is_even(values):
    state, plain = observe(values), Reservoir()
    for value in values:
        if not math.isnan(value):
            plain.add(value)
    assert sample(state) == plain.kept == sorted(plain.kept)
    assert state[2][0] == plain.seen
    if len(values) == 20_000:
        quarters = np.bincount(np.array(plain.kept, int) // 5000, minlength=4)
        assert (np.abs(quarters - SAMPLE / 4) < 4.0 * math.sqrt(SAMPLE * 3 / 16)).all()


def test_fields_are_sampled_by_themselves_and_missing_ones_not_at_all():
    state = fresh(2)
    observe_numbers(np.array([[1.0, np.nan], [0.5, 7.0], [np.nan, np.nan]]), *state)
    assert state[1].tolist() == state[2].tolist() == [2, 1]
    assert (state[0][0, :2].tolist(), state[0][1, 0]) == ([0.5, 1.0], 7.0)


@given(st.lists(numbers.filter(lambda x: x == x), max_size=300), numbers)
def test_score_and_bin_are_those_of_the_rank_ties_counting_half(values, number):
    state = observe(values)
    [[one, other]], [[score, binned]], bad = code([number], state)
    assert bad == -1
    if math.isnan(number):
        assert (one, score, binned) == (MISSING, 1.0, 0.0)
        return
    kept = sample(state)
    rank = 0.5 * (bisect_left(kept, number) + bisect_right(kept, number))
    share = (rank + 0.5) / (len(kept) + 1)
    steps = 2 * (SAMPLE + 1)
    expected = NormalDist().inv_cdf((math.floor(share * steps) + 0.5) / steps)
    assert (one, other) == (SCORE, FIRST_BIN + math.floor(share * BINS))
    assert score == pytest.approx(expected, abs=1e-12)
    assert binned == (1.0 if len(kept) >= ENOUGH else 0.0)


@pytest.mark.parametrize(
    "transform", [lambda x: 1000.0 * x, lambda x: x - 5.0, math.atan, lambda x: x**3]
)
def test_units_and_monotone_transforms_leave_atoms_unchanged(transform):
    rng = np.random.default_rng(1)
    values, asked = rng.standard_cauchy(600), rng.standard_cauchy(50)
    asked[::5] = values[:10]
    moved = [[transform(float(x)) for x in some] for some in (values, asked)]
    assert code(moved[1], observe(moved[0])) == code(asked, observe(values))


def test_a_logarithm_is_centred_scaled_and_limited():
    values = np.random.default_rng(3).lognormal(3.0, 2.0, 200)
    logs = [math.log(x) for x in values]
    asked = [1.0, 20.0, 1e-300, 1e300, 5e-324]
    _, found, bad = code(asked, observe(values), log=True)
    expected = [(math.log(x) - fmean(logs)) / pstdev(logs) for x in asked]
    assert [score for score, _ in found] == pytest.approx(np.clip(expected, -LIMIT, LIMIT))
    assert bad == -1
    scaled = code([1e6 * x for x in asked[:2]], observe(1e6 * values), log=True)[1]
    np.testing.assert_allclose(scaled, found[:2], atol=1e-9)
    for without_spread in (observe([3.0, 3.0]), fresh()):
        assert code([5.0], without_spread, log=True)[1][0][0] == 0.0
    for value, log in ((math.inf, False), (-math.inf, True), (0.0, True), (-1.0, True)):
        # what has no score is named by its place
        assert code([1.0, math.nan, value, value], observe([1.0, 2.0]), log)[2] == 2
