"""The belief in blocks against a plain one: a matrix, and dictionaries of columns and groups."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from longrank import Blocks, kernels
from longrank.kernels.hash_table import MAX_GROUPS, SHARED, WINDOW, find, join_groups
from longrank.kernels.looks import choose_looking
from longrank.kernels.sparse import entry
from longrank.rows import Layout, Plan, SparseRows

MASK, NONE = (1 << 64) - 1, np.zeros(0)


def crossed(one, other):
    return one ^ ((other << 31 | other >> 33) & MASK)


def sigma(x):
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


class Plainly:
    """Columns: precision, natural mean, last m^2, last gamma. Groups: prior, sums of both.

    A group begins with a variance of 1 in rows of up to four entries, of at least 1 / entries.
    """

    def __init__(self, entries, dim=0):
        self.columns, self.groups = {}, {}
        self.m, self.S = np.zeros(dim), 2.0 * np.eye(dim)
        self.first = max(min(1.0, 16.0 / entries**2), 1.0 / entries)

    def group(self, name):
        return self.groups.setdefault(name, [self.first, 0.0, 0.0])

    def belief(self, key, group):
        """Mean and variance of a column."""
        precision, natural = self.columns.get(key, [0.0, 0.0])[:2]
        s = 1.0 / (1.0 / self.groups.get(group, [self.first])[0] + precision)
        return natural * s, s

    def score(self, row, dense=NONE):
        found = [(*self.belief(key, group), x) for key, x, group in row if x != 0.0]
        means, squares = [m * x for m, _, x in found], [s * x * x for _, s, x in found]
        return sum(means) + self.m @ dense, sum(squares) + dense @ self.S @ dense

    def step(self, row, dense, success):
        """The residual of the observation, and the noise that all columns see."""
        eta, q = self.score(row, dense)
        g = brentq(lambda g: g - (success - sigma(eta + g * q)), -1.0, 1.0, xtol=1e-15)
        p = sigma(eta + g * q)
        return g, 1.0 / (p * (1.0 - p)) + q

    def learn(self, row, success, dense=NONE):
        row = [each for each in row if each[1] != 0.0]
        g, noise = self.step(row, dense, float(success))
        along = self.S @ dense
        self.m, self.S = self.m + g * along, self.S - np.outer(along, along) / noise
        before = [self.belief(key, group) for key, _, group in row]
        for (key, x, group), (m, s) in zip(row, before, strict=True):
            column = self.columns.setdefault(key, [0.0, 0.0, 0.0, 0.0])
            prior = self.group(group)
            column[0] += x * x / (noise - s * x * x)
            precision = 1.0 / prior[0] + column[0]
            mean = m + g * s * x
            column[1] = mean * precision
            shown = mean * mean, column[0] / precision
            for i in (0, 1):
                prior[1 + i] += shown[i] - column[2 + i]
                column[2 + i] = shown[i]
        for group in {group for _, _, group in row}:
            prior = self.groups[group]
            prior[0] = min(max((self.first + prior[1]) / (1.0 + prior[2]), 1e-4), 25.0)


class Deck:
    """Rows of some fields, a few of which are crossed; columns come back from round to round."""

    def __init__(self, seed, values=6, dim=0, own=3, shared=2):
        self.rng = rng = np.random.default_rng(seed)
        self.pools = rng.integers(1, 2**64, (own, values), np.uint64)
        self.shared = rng.integers(1, 2**64, (shared, values), np.uint64)
        pairs = [(i, -1) for i in range(own + 1)]  # atom 0 is the constant
        pairs += [(i, j) for i in range(1, own + 1) for j in range(shared)]
        pairs += [(1, -2 - 2)]  # two atoms of the candidate
        left, right = np.array(pairs).T
        groups = rng.integers(1, 2**64, len(pairs), np.uint64)
        groups[2] = groups[3]  # two entries of one group
        labels = np.arange(len(pairs))
        names = tuple((str(i), None) for i in range(len(pairs) + dim))
        self.dim, self.columns = dim, len(pairs) + np.arange(dim)  # labels of the dense ones
        self.plan = Plan(left.astype(np.int64), right.astype(np.int64), groups, labels, names)
        self.constant = np.uint64(rng.integers(1, 2**64, dtype=np.uint64))

    def deal(self, k, dim=None):
        rng, own, shared = self.rng, len(self.pools), len(self.shared)
        keys = np.empty((k, own + 1), np.uint64)
        keys[:, 0] = self.constant
        for i, pool in enumerate(self.pools, 1):
            keys[:, i] = rng.choice(pool, k)
        numbers = np.where(rng.random((k, own + 1)) < 0.7, 1.0, rng.normal(size=(k, own + 1)))
        numbers[:, 1:][rng.random((k, own)) < 0.1] = 0.0
        context = np.array([rng.choice(pool) for pool in self.shared], np.uint64)
        rest = context, rng.normal(size=shared), np.empty((k, 0)), np.empty((1, 0))
        dense = rng.normal(size=(k, self.dim if dim is None else dim)) if self.dim else None
        return SparseRows(Layout((), ()), keys, numbers, *rest, self.plan, dense)


def entries(rows):
    """The same rows as lists of (key, number, group), in whole numbers of Python."""
    found = []
    for own, numbers in zip(rows.keys.tolist(), rows.numbers.tolist(), strict=True):
        row = []
        for i, j, group in zip(*(part.tolist() for part in rows.plan[:3]), strict=True):
            key, x = own[i], numbers[i]
            if j < -1:
                key, x = crossed(key, own[-2 - j]), x * numbers[-2 - j]
            elif j >= 0:
                key = crossed(key, int(rows.context_keys[j]))
                x *= float(rows.context_numbers[j])
            row.append((key, x, group))
        found.append(row)
    return found


def taught(seed, rounds, values=6, columns=1 << 12, dim=0):
    """A learner and its plain twin after some rounds, and the deck."""
    deck, learner = Deck(seed, values, dim), Blocks(columns=columns)
    twin = Plainly(len(deck.plan.left), dim)
    for t in range(rounds):
        own = dim - 2 if dim and 2 * t < rounds else dim  # the dense block grows
        rows = deck.deal(int(deck.rng.integers(1, 4)), own)
        succeeded = bool(deck.rng.random() < 0.5)
        learner.observe(rows, succeeded)
        for i, (row, dense) in enumerate(zip(entries(rows), rows.block(dim), strict=True)):
            twin.learn(row, succeeded and i == len(rows) - 1, dense)
    return learner, twin, deck


def assert_alike(learner, twin, deck, size):
    """What both believe about some rows, column by column."""
    rows = deck.deal(size)
    means, widths = learner.score(rows)
    belief = learner.belief(rows.dim)
    contributions = belief.contributions(rows, rows.plan, deck.columns)
    np.testing.assert_allclose(contributions.sum(axis=1), means, rtol=1e-12, atol=1e-13)
    for i, (row, dense) in enumerate(zip(entries(rows), rows.block(deck.dim), strict=True)):
        mean, square = twin.score(row, dense)
        assert means[i] == pytest.approx(mean, rel=1e-9, abs=1e-11)
        assert widths[i] ** 2 == pytest.approx(square, rel=1e-9)
        assert belief.parts(rows)[1][i] == pytest.approx(dense @ twin.S @ dense, rel=1e-9)
        expected = [twin.belief(key, group)[0] * x for key, x, group in row]
        expected += (twin.m * dense).tolist()
        np.testing.assert_allclose(contributions[i], expected, rtol=1e-9, atol=1e-12)
    for group, (prior, *_) in twin.groups.items():
        assert learner.variance(group) == pytest.approx(prior, rel=1e-9)


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.integers(0, 25), st.sampled_from([0, 2, 5]))
def test_it_learns_and_scores_as_a_plain_matrix_and_dictionaries_do(seed, rounds, dim):
    learner, twin, deck = taught(seed, rounds, dim=dim)
    assert_alike(learner, twin, deck, 5)
    assert (learner.used, learner.replaced) == (len(twin.columns), 0)


def test_it_does_so_while_its_table_grows():
    learner, twin, deck = taught(5, 60, values=40)
    assert learner.used == len(twin.columns) > 400  # a table begins with fewer places
    assert_alike(learner, twin, deck, 40)
    consistent(learner)


@pytest.mark.parametrize("forgetting", [0.0, 0.05])
def test_a_dense_block_alone_is_the_laplace_approximation(forgetting):
    rng, learner = np.random.default_rng(11), Blocks(penalty=0.3, forgetting=forgetting)
    weights, inverse = np.zeros(5), np.eye(5) / 0.3
    for _ in range(200):
        rows, succeeded = rng.normal(size=(rng.integers(1, 5), 5)), bool(rng.random() < 0.5)
        learner.observe(replace(single(0, count=len(rows)), dense=rows), succeeded)
        kernels.laplace_cascade(weights, inverse, rows, succeeded, 0.3, forgetting)
    np.testing.assert_allclose(learner.weights, weights, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(learner.inverse, inverse, rtol=1e-12, atol=1e-12)


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.integers(0, 15), st.sampled_from([0, 3]))
def test_the_best_rows_are_chosen_by_mean_and_the_bonuses_of_both_parts(seed, rounds, dim):
    learner, _, deck = taught(seed, rounds, dim=dim)
    rows, bonus = deck.deal(6), deck.rng.normal(size=6)  # one of its own for each row
    draws, belief = deck.rng.normal(size=6), learner.belief(dim)
    means, squares, others = belief.parts(rows)
    own = kernels.score_sparse(rows.arrays(), rows.plan[:3], belief.table)
    given = own[0], own[1], draws**2 * others, bonus
    columns, settings = rows.block(dim).T.copy(), (0.0, 0.0, np.zeros(dim, np.bool_), 0.5)
    none = np.zeros(6, np.bool_)
    order, dense, *found = choose_looking(columns, *belief[:2], none, settings, given, 4, 0)
    expected = means + np.copysign(np.sqrt(bonus**2 * squares + draws**2 * others), bonus)
    assert order.tolist() == np.argsort(-expected, kind="stable")[:4].tolist()
    np.testing.assert_array_equal(dense, rows.block(dim)[order])
    np.testing.assert_allclose(found, [means[order], expected[order]], rtol=1e-9, atol=1e-12)


def test_all_entries_of_rows_are_those_of_the_plan_and_a_pair_turned_round_is_another():
    rows = Deck(3).deal(4)
    keys, numbers, context = rows.arrays()
    for i, row in enumerate(entries(rows)):
        for p, (key, x, _) in enumerate(row):
            assert entry(p, *rows.plan[:2], keys[i], numbers[i], context) == (key, x)
    one, other = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
    assert kernels.cross_keys(one, other) != kernels.cross_keys(other, one)


# -- the table ------------------------------------------------------------------------------------


def consistent(learner):
    """Every column can be found where it stands, and the sums are those of the columns."""
    places = np.flatnonzero(learner._keys)
    assert len(set(learner._keys[places].tolist())) == len(places) == learner.used
    assert all(find(learner._keys, learner._keys[at]) == at for at in places)
    sums = np.zeros_like(learner._sums)
    np.add.at(sums, learner._group_of[places], learner._table[places, 2:])
    np.testing.assert_allclose(sums, learner._sums, atol=1e-9)
    assert not learner._table[learner._keys == 0].any()
    assert np.isfinite(learner._table).all()
    variances = learner._variances[learner._variances > 0.0]
    assert ((variances >= 1e-4) & (variances <= 25.0)).all()


def test_a_full_table_stays_as_large_as_it_may_be_and_replaces():
    learner, twin, _ = taught(4, 150, values=60, columns=256)
    assert len(learner._keys) == 256
    assert learner.used <= 256 < len(twin.columns)
    assert learner.replaced >= len(twin.columns) - learner.used  # some gave way and came back
    consistent(learner)


def test_what_gives_way_is_the_column_in_reach_of_which_least_is_known():
    learner = Blocks(columns=256)
    size, home = 256, 200  # wraps around the end
    keys = [np.uint64(home + size * (i + 1)) for i in range(WINDOW + 1)]
    for i, key in enumerate(keys[:-1]):
        learner.observe(single(key), False)
        learner._table[find(learner._keys, key), 0] = 1.0 + (i * 7) % WINDOW
    learner.observe(single(keys[-1]), True)
    assert (learner.used, learner.replaced) == (WINDOW, 1)
    assert find(learner._keys, keys[0]) == -1  # it had the lowest precision
    assert learner.score(single(keys[0])) == learner.score(single(np.uint64(3)))
    assert learner.score(single(keys[-1]))[0] > 0.0
    precision, natural = learner._table[find(learner._keys, keys[-1]), :2]
    assert 0.0 < precision <= 0.25  # of one observation, from the prior
    assert natural > 0.0
    consistent(learner)


def single(key, group=7, count=1):
    """Rows of one column; of none if the key is 0."""
    one = np.zeros(1, np.int64)
    plan = Plan(one, one - 1, np.array([group], np.uint64), one, ((None, None),))
    context = np.empty(0, np.uint64), np.empty(0)
    keys, empty = np.full((count, 1), key, np.uint64), np.empty((count, 0))
    return SparseRows(Layout((), ()), keys, np.ones((count, 1)), *context, empty, empty[:1], plan)


def test_a_row_wider_than_the_table_leaves_it_sound_and_padding_takes_no_place():
    n = 600
    rng = np.random.default_rng(7)
    index, none = np.arange(n), np.full(n, -1)
    plan = Plan(index, none, rng.integers(1, 2**64, n, np.uint64), index, ())
    keys = rng.integers(1, 2**64, (2, n), np.uint64)
    context, empty = (np.empty(0, np.uint64), np.empty(0)), np.empty((2, 0))
    rows = SparseRows(Layout((), ()), keys, np.ones((2, n)), *context, empty, empty[:1], plan)
    learner = Blocks(columns=256)
    for succeeded in (True, False):
        learner.observe(rows, succeeded)
        consistent(learner)
    assert learner.replaced > 0
    learner, rows = Blocks(), single(0)
    rows.numbers[:] = 0.0
    learner.observe(rows, True)
    assert (learner.used, learner.updates) == (0, 1)
    assert [part.tolist() for part in learner.score(rows)] == [[0.0], [0.0]]


# -- groups ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", [0, 1, MAX_GROUPS - 1])
def test_a_group_is_found_again_wherever_its_home_is(home):
    learner = Blocks()
    keys = [home + MAX_GROUPS * (i + 1) for i in range(5)]
    for _ in range(3):
        for i, group in enumerate(keys):
            learner.observe(single(1 + i, group), True)
    assert learner._counts[1] == len(keys)
    assert learner._group_keys[0] == SHARED  # kept for those that do not fit
    rows, twin = single(3, keys[2]), Plainly(1)
    for _ in range(3):
        twin.learn([(3, 1.0, 0)], True)
    assert learner.score(rows)[0][0] == pytest.approx(twin.score([(3, 1.0, 0)])[0], rel=1e-9)
    assert learner.variance(keys[2]) == pytest.approx(twin.groups[0][0], rel=1e-9)


def test_groups_beyond_the_limit_share_one_prior():
    group_keys, counts = np.zeros(MAX_GROUPS, np.uint64), np.zeros(3, np.int64)
    group_keys[0] = SHARED
    groups = np.random.default_rng(8).integers(1, 2**63, MAX_GROUPS, np.uint64)
    variances = np.zeros(MAX_GROUPS)
    found = join_groups(group_keys, variances, groups, counts)
    assert counts[1] == MAX_GROUPS // 2
    own, shared = found[: MAX_GROUPS // 2], found[MAX_GROUPS // 2 :]
    assert len(set(own.tolist())) >= MAX_GROUPS // 2 - 1
    assert not shared.any()
    np.testing.assert_array_equal(join_groups(group_keys, variances, groups, counts), found)
    learner, twin = Blocks(), Plainly(1)
    learner._counts[1] = MAX_GROUPS // 2  # none is left
    for key in (3, 4, 3, 5):
        learner.observe(single(key, group=key), True)
        twin.learn([(key, 1.0, "shared")], True)
    for key in (3, 4, 6):
        expected, square = twin.score([(key, 1.0, "shared")])
        [mean], [width] = learner.score(single(key, group=key))
        assert (mean, width) == pytest.approx((expected, math.sqrt(square)), rel=1e-9)


def test_the_prior_of_a_group_stays_within_its_limits():
    learner, twin = Blocks(), Plainly(1)
    for t in range(300):
        for key, group, success in ((3, 7, True), (10 + t, 8, True), (5, 9, bool(t % 2))):
            rows = single(key, group)
            rows.numbers[:] = 1e-2 if group == 7 else 1.0
            learner.observe(rows, success)
            twin.learn([(key, rows.numbers[0, 0], group)], success)
    for group in (7, 8, 9):
        assert learner.variance(group) == pytest.approx(twin.groups[group][0], rel=1e-9)
    assert learner.variance(7) == 25.0


# -- extremes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e3, 1e6])
def test_rows_of_any_size_leave_a_finite_belief(size):
    deck, learner = Deck(9), Blocks()
    for t in range(40):
        rows = deck.deal(2)
        rows.numbers[:] *= size if t % 2 else 1.0
        learner.observe(rows, bool(t % 3))
        means, widths = learner.score(rows)
        assert np.isfinite(means).all()
        assert np.isfinite(widths).all()
    consistent(learner)
