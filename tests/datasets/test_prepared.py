"""Prepared arrays are kept, by all that they depend on."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longrank.datasets import Table, add, table
from longrank.datasets.embed import Arrays
from longrank.datasets.tasks import prepared

SIZES: dict[str, Any] = {"sample": 12, "dim": 3}


@pytest.fixture
def data(small_ratings, tmp_path):
    folder = tmp_path / "data"
    add("movielens-1m", small_ratings, folder)
    return folder


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "prepared").iterdir())


def same(one: Table, other: Table) -> bool:
    return (
        one.items.tobytes() == other.items.tobytes()
        and one.chances.tobytes() == other.chances.tobytes()
        and one.embedding_items.tobytes() == other.embedding_items.tobytes()
    )


def test_the_second_time_the_kept_arrays_are_read(data, tmp_path):
    first = table("movielens-1m", 0, data, **SIZES)
    (file,) = kept(data)
    before = file.stat()
    assert same(first, table("movielens-1m", 0, data, **SIZES))
    assert kept(data) == [file]
    assert file.stat().st_ino == before.st_ino

    def build() -> Arrays:
        builds.append(1)
        return {"items": np.eye(2)}

    builds: list[int] = []
    for _ in range(2):
        arrays = prepared(tmp_path, "x", {"seed": 0}, (), build)
        assert np.array_equal(arrays["items"], np.eye(2))
        assert set(arrays) == {"items"}
    assert builds == [1]


def test_every_setting_has_a_file_of_its_own(data):
    first = table("movielens-1m", **{"seed": 0, "folder": data, **SIZES})
    changes = [{"seed": 1}, {"sample": 13}, {"dim": 2}, {"users": 39}, {"items": 29}]
    for count, change in enumerate(changes, start=2):
        other = table("movielens-1m", **{"seed": 0, "folder": data, **SIZES, **change})
        assert len(kept(data)) == count
        assert not same(first, other)


def test_other_files_are_noticed_and_files_that_were_changed_in_place(data, small_ratings):
    first = table("movielens-1m", 0, data, **SIZES)
    newer = small_ratings.with_name("newer.dat")
    newer.write_bytes(small_ratings.read_bytes().replace(b"::1::978", b"::5::978"))  # same size
    add("movielens-1m", newer, data)
    assert not same(first, table("movielens-1m", 0, data, **SIZES))
    (file,) = (data / "movielens-1m").iterdir()
    os.utime(file, ns=(1, 1))
    table("movielens-1m", 0, data, **SIZES)
    assert len(kept(data)) == 3


def test_a_damaged_file_is_built_anew(data):
    for damage in ["empty", "garbage", "truncated", "a bit", "another's"]:
        first = table("movielens-1m", 0, data, **SIZES)
        (file,) = kept(data)
        whole = file.read_bytes()
        if damage == "another's":
            table("movielens-1m", 1, data, **SIZES)
            (other,) = set(kept(data)) - {file}
            other.replace(file)
        else:
            place = whole.index(first.items[3].tobytes())
            damaged = {
                "empty": b"",
                "garbage": b"garbage" * 100,
                "truncated": whole[: len(whole) // 2],
                "a bit": whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :],
            }
            file.write_bytes(damaged[damage])
        assert same(first, table("movielens-1m", 0, data, **SIZES))
        assert kept(data) == [file]
        assert len(file.read_bytes()) == len(whole)


def test_a_build_that_fails_leaves_nothing_behind(tmp_path):
    def build() -> Arrays:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        prepared(tmp_path, "x", {}, (), build)
    assert list(tmp_path.iterdir()) == []
