"""The embeddings, against dense decompositions that are written out here."""

import itertools
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from longrank.datasets.embed import embed_images, embed_ratings
from longrank.datasets.mnist import Images
from longrank.datasets.ratings import Ratings
from longrank.errors import InvalidInput, MissingExtra

Array = NDArray[Any]


def as_ratings(rows: list[tuple[int, int, float]]) -> Ratings:
    users, items, values = map(np.array, zip(*rows, strict=True))
    return Ratings(
        users.astype(np.int32),
        items.astype(np.int32),
        values.astype(np.float32),
        int(users.max()) + 1,
        int(items.max()) + 1,
    )


def drawn(users: int = 60, items: int = 25, seed: int = 0) -> list[tuple[int, int, float]]:
    rng = np.random.default_rng(seed)
    pairs = itertools.product(range(users), range(items))
    return [
        (user, item, float(rng.integers(1, 6)))
        for user, item in pairs
        if rng.random() < 0.3 + 0.5 * (item / items) or user == item
    ]


def dense(rows: list[tuple[int, int, float]]) -> Array:
    cells: dict[tuple[int, int], list[float]] = {}
    for user, item, value in rows:
        cells.setdefault((user, item), []).append(value)
    matrix = np.zeros(np.array(list(cells)).max(axis=0) + 1)
    for place, values in cells.items():
        matrix[place] = np.mean(values)
    return matrix


def unit(rows: Array) -> Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def same_up_to_signs(got: Array, expected: Array) -> bool:
    signs = np.sign((got * expected).sum(axis=0))
    return bool(np.allclose(got, expected * signs, atol=1e-9))


def split(seed: int, count: int, sample: int) -> tuple[Array, Array]:
    order = np.random.default_rng(seed).permutation(count)
    return order[:sample], order[sample:]


def sigmoid(scores: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


def test_rated_items_are_embedded_by_the_singular_vectors_of_the_sample():
    rows = drawn()
    got = embed_ratings(as_ratings(rows), seed=3, sample=12, dim=4)
    fit, rest = split(3, 25, 12)
    matrix = dense(rows)
    left, values, right = np.linalg.svd(matrix[:, fit])
    largest = np.abs(left[:, :4]).argmax(axis=0)
    signs = np.sign(left[largest, range(4)])  # the largest entry is positive
    assert np.allclose(got["embedding_items"], unit(right[:4].T * signs), atol=1e-9)
    expected = unit(matrix[:, rest].T @ left[:, :4] / values[:4] * signs)
    assert np.allclose(got["items"], expected, atol=1e-9)
    # Chances are the sigmoid of the mean rating above the median.
    means = np.array([np.mean([v for _, item, v in rows if item == i]) for i in range(25)])
    assert np.allclose(got["chances"], sigmoid(means - np.median(means))[rest], atol=1e-12)


def test_play_counts_of_thousands_do_not_overflow():
    rows = [(user, item, 50_000.0 if item % 2 else value) for user, item, value in drawn()]
    chances = embed_ratings(as_ratings(rows), seed=1, sample=12, dim=3)["chances"]
    assert ((chances >= 0.0) & (chances <= 1.0)).all()


def test_the_most_active_users_and_the_most_rated_items_count():
    rows = drawn()
    got = embed_ratings(as_ratings(rows), seed=2, sample=6, dim=3, users=30, items=10)
    matrix = dense(rows)
    active = np.argsort(-(matrix > 0).sum(axis=1), kind="stable")[:30]
    rated = np.sort(np.argsort(-(matrix > 0).sum(axis=0), kind="stable")[:10])
    small = matrix[np.sort(active)][:, rated]
    fit, rest = split(2, 10, 6)
    left, values, _ = np.linalg.svd(small[:, fit])
    assert got["items"].shape == (4, 3)
    assert same_up_to_signs(got["items"], unit(small[:, rest].T @ left[:, :3] / values[:3]))
    # The mean is over all ratings of an item, the median over the items that count.
    means = np.array([matrix[matrix[:, item] > 0, item].mean() for item in rated])
    assert np.allclose(got["chances"], sigmoid(means - np.median(means))[rest], atol=1e-6)


def test_data_that_says_the_same_gives_the_same_embedding():
    rows = drawn()
    data, sizes = as_ratings(rows), {"seed": 3, "sample": 12, "dim": 4}
    expected = embed_ratings(data, **sizes)
    some = embed_ratings(data, **sizes, users=10**6, items=10**6)  # more than there are
    assert all(np.array_equal(some[name], expected[name]) for name in expected)
    user, item, value = rows[0]  # several ratings of an item by a user count as their mean
    doubled = as_ratings([(user, item, value - 0.5), *rows[1:], (user, item, value + 0.5)])
    got = embed_ratings(doubled, **sizes)
    assert np.allclose(got["items"], expected["items"], atol=1e-9)


def test_an_active_user_is_one_with_many_items_not_one_with_many_ratings():
    rows = [(user, item, value) for user, item, value in drawn() if user or item == 0]
    loud = [*rows, *[(0, 0, 3.0)] * 500]  # user 0 rates one item again and again
    quiet = [(user - 1, item, value) for user, item, value in rows if user]
    got = embed_ratings(as_ratings(loud), seed=3, sample=12, dim=3, users=59)
    expected = embed_ratings(as_ratings(quiet), seed=3, sample=12, dim=3)
    assert np.allclose(got["items"], expected["items"], atol=1e-9)


def test_an_item_of_which_nothing_is_known_is_zero():
    rows = drawn(users=40, items=12)
    lonely = [*rows, (40, 12, 5.0), (41, 12, 5.0)]
    seed = next(seed for seed in range(99) if 12 in split(seed, 13, 7)[1])
    got = embed_ratings(as_ratings(lonely), seed=seed, sample=7, dim=3, users=40)
    norms = np.linalg.norm(got["items"], axis=1)
    where = split(seed, 13, 7)[1].tolist().index(12)
    assert norms[where] == 0.0
    assert np.allclose(np.delete(norms, where), 1.0)


def test_sizes_of_ratings_that_do_not_fit_are_refused():
    alike = [(user, item, float(1 + user % 2)) for user in range(20) for item in range(12)]
    for rows, sample, dim, rule in [
        (drawn(), 25, 3, "sample must be from 1 to 24, of the items, got 25"),
        (drawn(), 0, 3, "sample must be from 1 to 24, of the items, got 0"),
        (drawn(), 5, 5, "dim must be from 1 to 4, for a matrix of"),
        (drawn(), 5, 0, "dim must be from 1 to 4, for a matrix of"),
        (alike, 8, 2, "dim must be at most 1, the rank of the sampled"),
    ]:
        with pytest.raises(InvalidInput, match=rule):
            embed_ratings(as_ratings(rows), seed=0, sample=sample, dim=dim)


def drawn_images(train: int = 50, test: int = 20) -> Images:
    rng = np.random.default_rng(4)
    pixels = rng.integers(0, 256, (train + test, 30)).astype(np.uint8)
    labels = (np.arange(train + test) % 10).astype(np.uint8)
    return Images(pixels[:train], labels[:train], pixels[train:], labels[train:])


def test_images_are_embedded_by_the_principal_components_of_the_sample():
    images = drawn_images()
    got = embed_images(images, seed=6, sample=40, dim=5)
    rng = np.random.default_rng(6)
    order = rng.permutation(50)
    fit, rest = np.sort(order[:40]), order[40:]
    centre = images.train[fit].mean(axis=0)
    axes = np.linalg.svd(images.train[fit] - centre)[2][:5].T
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), range(5)])
    pool = np.concatenate([images.train[rest], images.test])
    labels = np.concatenate([images.train_labels[rest], images.test_labels])
    shuffle = rng.permutation(30)
    assert np.allclose(got["items"], unit((pool[shuffle] - centre) @ axes * signs), atol=1e-9)
    assert np.array_equal(got["labels"], labels[shuffle])
    expected = unit((images.train[fit] - centre) @ axes * signs)
    assert np.allclose(got["embedding_items"], expected, atol=1e-9)
    got = embed_images(drawn_images(50, 0), seed=0, sample=20, dim=3)
    assert (got["items"].shape, got["labels"].shape) == ((30, 3), (30,))  # of the training images


def test_sizes_of_images_that_do_not_fit_are_refused():
    for test, sizes, rule in [
        (20, {"sample": 51, "dim": 3}, "sample must be from 2 to 50, of the training"),
        (0, {"sample": 50, "dim": 3}, "sample must be from 2 to 49, of the training"),
        (20, {"sample": 1, "dim": 1}, "sample must be from 2 to 50, of the training"),
        (20, {"sample": 20, "dim": 20}, "dim must be from 1 to 19, got 20"),
        (20, {"sample": 40, "dim": 31}, "dim must be from 1 to 30, got 31"),
    ]:
        with pytest.raises(InvalidInput, match=rule):
            embed_images(drawn_images(50, test), seed=0, **sizes)


@pytest.mark.parametrize(
    "embedded",
    [
        lambda seed: embed_images(drawn_images(), seed=seed, sample=40, dim=5),
        lambda seed: embed_ratings(as_ratings(drawn()), seed=seed, sample=12, dim=4),
    ],
)
def test_a_seed_gives_the_same_rows_of_norm_one_and_another_seed_others(embedded):
    first, again, other = embedded(0), embedded(0), embedded(1)
    for name, array in first.items():
        assert array.tobytes() == again[name].tobytes()
        assert not np.array_equal(array, other[name])
    for name in ("items", "embedding_items"):
        assert first[name].dtype == np.float64
        assert np.allclose(np.linalg.norm(first[name], axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("absent", ["scipy.sparse", "scipy.linalg", "threadpoolctl"])
def test_a_plain_installation_says_which_extra_is_missing(monkeypatch, absent):
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingExtra, match=r"embed_ratings needs .*\.\[experiments\]"):
        embed_ratings(as_ratings(drawn()), seed=0, sample=12, dim=4)
