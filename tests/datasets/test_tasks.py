"""From the name of a task to its arrays."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from longrank.datasets import TASKS, MissingData, add, available, table
from longrank.errors import BadFile, InvalidInput, MissingExtra


def test_the_names_are_those_of_the_paper_and_some_more_with_the_sizes_of_the_paper():
    classes = [f"{kind}-{pivot}" for kind in ("mnist", "fashion", "digits") for pivot in range(10)]
    assert set(TASKS) == {*classes, "movielens-25m", "movielens-1m", "yelp", "msd", "llm"}
    for name, sizes in {
        "mnist-0": (19_800, 10, None, None),
        "movielens-25m": (10_000, 10, None, None),
        "yelp": (10_000, 10, 200_000, 50_000),
        "msd": (10_000, 10, 100_000, 50_000),
    }.items():
        task = TASKS[name]
        assert (task.sample, task.dim, task.users, task.items) == sizes


def test_digits_need_no_files_but_scikit_learn(tmp_path, monkeypatch):
    for pivot in range(10):
        digits = table(f"digits-{pivot}", 0, tmp_path)
        assert digits.items.shape == (1300, 10)
        assert digits.embedding_items.shape == (497, 10)
        assert digits.labels is not None
        assert np.array_equal(digits.chances, digits.labels == pivot)
        assert 0.08 < digits.chances.mean() < 0.12
        assert len(digits) == 1300
        assert available(f"digits-{pivot}", tmp_path)
        assert list(tmp_path.iterdir()) == []
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingExtra, match=r"the digits task needs .*\.\[experiments\]"):
        table("digits-0", 0)


def test_ratings_become_a_table(small_ratings, tmp_path):
    data = tmp_path / "data"
    assert not available("movielens-1m", data)
    add("movielens-1m", small_ratings, data)
    assert available("movielens-1m", data)
    got = table("movielens-1m", 4, data, sample=12, dim=3, users=35, items=28)
    assert got.name == "movielens-1m"
    assert got.items.shape == (16, 3)
    assert got.chances.shape == (16,)
    assert got.embedding_items.shape == (12, 3)
    assert got.labels is None
    assert got.settings == {
        "task": "movielens-1m",
        "source": "movielens-1m",
        "seed": 4,
        "sample": 12,
        "dim": 3,
        "users": 35,
        "items": 28,
    }


def test_tasks_on_the_same_images_differ_in_the_pivot_alone(small_images, tmp_path):
    data = tmp_path / "data"
    add("fashion", small_images, data)
    tables = [table(f"fashion-{pivot}", 1, data, sample=30, dim=4) for pivot in (3, 7)]
    assert np.array_equal(tables[0].items, tables[1].items)
    for pivot, got in zip((3, 7), tables, strict=True):
        assert got.items.shape == (50, 4)
        assert got.labels is not None
        assert np.array_equal(got.chances, (got.labels == pivot).astype(float))
    assert len(list((data / "prepared").iterdir())) == 1


def test_a_file_that_breaks_after_its_beginning_leaves_nothing_prepared(tmp_path):
    data = tmp_path / "data"
    file = tmp_path / "ratings.dat"
    file.write_bytes(b"1::2::3::4\n" * 2000 + b"broken\n")
    add("movielens-1m", file, data)
    with pytest.raises(BadFile, match=r"ratings.dat, line 2001 must be UserID::MovieID"):
        table("movielens-1m", 0, data)
    assert not (data / "prepared").exists()


def test_an_unknown_task_one_without_files_and_sizes_that_make_no_sense_are_refused(tmp_path):
    for change, error, rule in [
        ({"name": "mnist"}, InvalidInput, r"name must be one of mnist-0 to 9, .*, got 'mnist'"),
        ({"name": "movielens-25m"}, MissingData, "longrank data get movielens-25m"),
        ({"seed": -1}, InvalidInput, "seed must be a whole number of at least 0, got -1"),
        ({"seed": 0.5}, InvalidInput, "seed must be a whole number, got 0.5"),
        ({"sample": 0}, InvalidInput, "sample must be a whole number of at least 1, got 0"),
        ({"dim": True}, InvalidInput, "dim must be a whole number of at least 1, got True"),
        ({"users": 5}, InvalidInput, "users must not be given for digits-0, which has no ratings"),
        ({"items": 5}, InvalidInput, "items must not be given for digits-0, which has no ratings"),
    ]:
        arguments: dict[str, Any] = {"name": "digits-0", "seed": 0, "folder": tmp_path, **change}
        with pytest.raises(error, match=rule):
            table(**arguments)


@pytest.mark.mnist
def test_the_real_mnist_becomes_the_papers_table_and_tells_classes_apart(real_mnist, tmp_path):
    add("mnist", real_mnist, tmp_path)
    mnist = table("mnist-3", 0, tmp_path)
    assert mnist.items.shape == (50_200, 10)
    assert mnist.embedding_items.shape == (19_800, 10)
    assert np.allclose(np.linalg.norm(mnist.items, axis=1), 1.0)
    assert np.allclose(np.linalg.norm(mnist.embedding_items, axis=1), 1.0)
    assert np.isin(mnist.chances, (0.0, 1.0)).all()
    assert mnist.chances.mean() == pytest.approx(7141 / 70_000, abs=0.005)
    assert mnist.chances.reshape(502, 100).max(axis=1).min() == 1.0  # a success in every chunk
    means = np.array([mnist.items[mnist.labels == k].mean(axis=0) for k in range(10)])
    nearest = (mnist.items @ means.T / np.linalg.norm(means, axis=1)).argmax(axis=1)
    assert (nearest == mnist.labels).mean() > 0.7


CHILD = """
import hashlib, sys
from longrank.datasets import embed, mnist
from pathlib import Path
images = mnist.read(Path(sys.argv[1]))
arrays = embed.embed_images(images, seed=0, sample=2000, dim=10)
print(hashlib.sha256(arrays["items"].tobytes()).hexdigest())
"""


@pytest.mark.mnist
def test_the_number_of_threads_does_not_change_a_bit(real_mnist):
    digests = set()
    for threads in ("1", "2"):
        variables = {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        run = subprocess.run(
            [sys.executable, "-c", CHILD, str(real_mnist)],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(run.stdout)
    assert len(digests) == 1
