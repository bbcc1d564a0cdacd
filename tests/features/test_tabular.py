"""Numbers in any units: scores, shapes, the sample that is learned."""

import numpy as np
import pytest

from longrank import BadFile, Laplace, Outcome, Payoffs, recommended
from longrank.features.tabular import SAMPLE, Tabular
from longrank.kernels import BEND, LEVEL, MISSING, PRODUCT
from longrank.packing import pack, unpack
from longrank.policies import from_bytes

PAYOFFS = Payoffs.vanilla(3)


def mixed(rows: int, seed: int = 0) -> np.ndarray:
    """A heavy tail, a shift, two values, five values, and a constant."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            np.exp(3.0 * rng.normal(size=rows)),
            1e6 + rng.normal(size=rows),
            rng.random(rows) < 0.2,
            rng.integers(0, 5, rows),
            np.full(rows, 7.0),
        ]
    )


def settled(dim: int, deal, seed: int = 0):
    """A policy that has seen enough, and the rounds it saw."""
    policy = recommended(dim=dim, rng=seed)
    for t in range(40):
        ranking = policy.rank(deal(t), PAYOFFS)
        policy.learn(ranking, Outcome(1, t % 3 == 0))
    return policy


def rows_of(policy, items) -> np.ndarray:
    return policy.features.rows(policy.features.encode(items)).dense


def test_a_number_counts_by_where_it_lies_in_its_column():
    policy = settled(5, lambda t: mixed(50, t))
    rows = rows_of(policy, mixed(500, 99))
    tail, shifted, flag, few, constant = rows[:, :5].T
    order = np.argsort(mixed(500, 99)[:, 0])
    assert (np.diff(tail[order]) >= 0.0).all()
    assert abs(tail).max() < 4.0  # in spite of numbers from 1e-4 to 1e4
    assert abs(shifted.mean()) < 0.3 * shifted.std()
    assert set(flag) == {0.0, flag.max()}  # the more frequent is 0
    assert len(set(few)) == 5
    assert (constant == 0.0).all()


def embeddings(rows: int, seed: int = 0, size: float = 1.0) -> np.ndarray:
    """Rows of one norm, whose first numbers are the largest."""
    found = np.random.default_rng(seed).normal(size=(rows, 6)) * 0.7 ** np.arange(6)
    return size * found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_embeddings_are_taken_as_they_are_in_any_unit(size):
    policy = settled(6, lambda t: embeddings(50, t, size))
    features, items = policy.features.numbers, embeddings(300, 99, size)
    items[7] = 0.0
    rows = rows_of(policy, items)
    np.testing.assert_allclose(rows[:, :6], items / size, atol=1e-12)
    assert set(features.shapes[0]) == {PRODUCT}
    assert len(features.shapes[0]) == 21
    norms = np.linalg.norm(rows[:, 7:], axis=1)
    np.testing.assert_allclose(np.delete(norms, 7), 1.0, rtol=1e-8)
    assert norms[7] == 0.0


def test_levels_and_gaps_of_few_columns_come_back_from_a_file():
    features = Tabular(1)
    features.take(np.append(np.arange(63) % 8, MISSING).reshape(-1, 1))
    assert features.length == 1 + 1 + 1 + 1 + 8 + 1  # score, constant, square, bend, levels, gap
    assert Tabular.from_state(features.state()).length == features.length


def test_a_few_rows_without_an_embedding_do_not_matter_and_indicators_are_none():
    def deal(t):
        found = embeddings(50, t)
        found[3] = 0.0
        return found

    assert set(settled(6, deal).features.numbers.shapes[0]) == {PRODUCT}
    one_hot = settled(6, lambda _: np.eye(6)).features.numbers
    assert one_hot.encode(np.eye(6))[0].marks[:6].all()
    tails = settled(6, lambda t: embeddings(50, t) * (1.0 + t % 2)).features.numbers
    assert BEND in tails.shapes[0]


def test_which_of_two_numbers_counts_as_one_stays_as_the_sample_grows():
    shares = [0.45, *[0.55] * 60]  # of ones: first less, then more frequent

    def deal(t):
        rng = np.random.default_rng(t)
        return np.column_stack([np.arange(100) < 100 * shares[t], rng.normal(size=100)])

    policy, probe = recommended(dim=2), np.array([[0.0, 0.3], [1.0, 0.3]])
    seen = set()
    for t in range(40):
        ones = rows_of(policy, np.vstack([probe, deal(t)]))[:2, 0] > 0.0
        seen.add(tuple(ones.tolist()))
        policy.learn(policy.rank(deal(t), PAYOFFS), Outcome(1, t % 3 == 0))
    assert policy.features.numbers.settled
    assert seen == {(False, True)}


def normal(t, columns=4):
    return np.random.default_rng(t).normal(size=(30, columns))


def repeated(t):
    items = normal(t)
    return np.column_stack([items, 3.0 * items[:, 1] - 1.0, items[:, 1], np.full(30, 3.0)])


@pytest.mark.parametrize(
    ("dim", "moved"),
    [(7, repeated)]
    + [(4, lambda t, f=factor: normal(t) * f + 5.0) for factor in (0.01, 0.1, 10.0, 1000.0)],
)
def test_units_shifts_constants_and_repeated_columns_change_nothing(dim, moved):
    plain, other = settled(4, normal), settled(dim, moved)
    for t in range(50, 60):
        one, two = plain.propose(normal(t), PAYOFFS), other.propose(moved(t), PAYOFFS)
        assert one.order.tolist() == two.order.tolist()
        np.testing.assert_allclose(one.probabilities, two.probabilities, atol=1e-9)


def test_shapes_are_products_bends_and_levels_of_what_is_a_number():
    policy = settled(5, lambda t: mixed(50, t))
    features = policy.features.numbers
    kinds, first, second, _ = features.shapes
    assert set(first[kinds == BEND]) == {0, 1, 3}
    assert set(zip(first[kinds == PRODUCT], second[kinds == PRODUCT], strict=True)) == {
        (0, 0),
        (0, 1),
        (0, 3),
        (1, 1),
        (1, 3),
        (3, 3),
    }
    assert (first[kinds == LEVEL] == 3).all()
    assert (kinds == LEVEL).sum() == 5
    levels = rows_of(policy, mixed(500, 99))[:, features.dim + 1 :][:, kinds == LEVEL]
    assert ((levels > 0.0).sum(axis=1) == 1).all()


def test_many_columns_have_products_of_their_leading_directions():
    rng = np.random.default_rng(1)
    mixing = rng.normal(size=(3, 40))

    def deal(t):
        return np.random.default_rng(t).normal(size=(60, 3)) @ mixing * 1000.0

    policy = settled(40, deal)
    features = policy.features.numbers
    kinds, first, _, _ = features.shapes
    assert 3 <= len(features.directions) <= 16
    assert (first[kinds == PRODUCT] >= 40).all()
    scored = rows_of(policy, deal(99))[:, :40]
    along = scored @ features.directions.T
    share = np.var(along[:, :3], axis=0) / np.var(along, axis=0).max()
    assert (share > 0.2).all()


def test_learning_grows_the_rows_and_keeps_what_is_known_and_older_receipts():
    policy = recommended(dim=5, rng=1)
    ranking, second = (policy.rank(mixed(100, t), PAYOFFS) for t in range(2))
    assert ranking.sample.shape == (64, 5)
    assert (ranking.dim, policy.learner.dim, policy.features.block) == (6, 0, 6)
    policy.learn(ranking, Outcome(1, False))
    assert policy.learner.dim == policy.features.block > 6
    assert len(policy.learner.weights) == len(policy.learner.inverse) == policy.learner.dim
    policy.learn(second, Outcome(2, False))
    assert policy.learner.updates == 3
    later = policy.propose(mixed(100, 1), PAYOFFS)
    assert later.dim == policy.learner.dim
    assert len(later.sample) == 16
    learner = Laplace(2, penalty=0.5)
    learner.update([0.6, 0.8], True)
    weights, inverse = learner.weights.copy(), learner.inverse.copy()
    learner.extend(4)
    assert learner.weights.tolist() == [*weights, 0.0, 0.0]
    np.testing.assert_array_equal(learner.inverse[:2, :2], inverse)
    np.testing.assert_array_equal(learner.inverse[2:, 2:], np.eye(2) * 2.0)


def test_a_full_sample_is_carried_no_longer_and_rows_stay_as_they_are():
    policy = recommended(dim=5, rng=0)
    for t in range(40):  # it is saved and loaded at any time
        policy.learn(policy.rank(mixed(1 + 7 * t % 90, t), PAYOFFS), Outcome(1, t % 3 == 0))
        again = from_bytes(policy.to_bytes())
        assert again.to_bytes() == policy.to_bytes()
        asked = mixed(40, 7), PAYOFFS
        assert again.propose(*asked).to_bytes() == policy.propose(*asked).to_bytes()
    assert policy.features.numbers.settled
    assert len(policy.features.numbers.sample) == SAMPLE
    assert policy.rank(mixed(50, 99), PAYOFFS).sample is None
    rows = rows_of(policy, mixed(20, 5))
    for t in range(100, 110):
        policy.learn(policy.rank(mixed(50, t), PAYOFFS), Outcome(1, True))
    later = rows_of(policy, mixed(20, 5))
    assert rows.tobytes() == later.tobytes()


def test_context_columns_are_understood_over_rounds():
    """A column that is constant within a round is a number all the same."""

    def deal(t):
        rng = np.random.default_rng(t)
        return np.column_stack([np.eye(6), np.full(6, rng.normal())])

    policy = settled(7, deal)
    first, second = (rows_of(policy, deal(t))[0, 6] for t in (101, 102))
    assert first != second


def test_a_damaged_state_is_refused():
    state = unpack(pack(settled(5, lambda t: mixed(50, t)).features.numbers.saved()))
    for damage in (
        {"sample": np.full((3, 5), np.nan)},
        {"sample": np.zeros((3, 4))},
        {"sample": np.zeros((SAMPLE + 1, 5))},
        {"directions": np.zeros((2, 5))},
        {"first": np.array([99])},
        {"groups": np.array([2, 2])},
    ):
        with pytest.raises(BadFile, match="tabular"):
            Tabular.from_state(Tabular.migrate(state | damage))
