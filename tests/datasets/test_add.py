"""Files that the user already has."""

from __future__ import annotations

import gzip
import itertools
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from longrank.datasets import add, find
from longrank.errors import BadFile, InvalidInput

Names = Callable[[Path], list[str]]

REVIEW = b'{"user_id":"u","business_id":"b","stars":4.0,"text":"good"}\n'
SMALL = {
    "movielens-25m": ("ratings.csv", b"userId,movieId,rating,timestamp\n1,2,3.5,4\n"),
    "movielens-1m": ("ratings.dat", b"1::2::3::4\n"),
    "yelp": ("yelp_academic_dataset_review.json", REVIEW),
    "msd": ("train_triplets.txt", b"user\tsong\t3\n"),
}


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def given(tmp_path):
    folder = tmp_path / "given"
    folder.mkdir()
    return folder


def test_a_plain_file_is_added(given, data, names):
    for name in SMALL:
        member, content = SMALL[name]
        (given / ".renamed").write_bytes(content)
        assert add(name, str(given / ".renamed"), str(data)) == (data / name / member,)
        assert names(data / name) == [member]
        assert find(name, data) == (data / name / member,)


def test_of_a_folder_the_file_that_counts_is_added(given, data, names):
    name = "yelp"
    member, content = SMALL[name]
    (given / "README.txt").write_bytes(b"read me")
    (given / "unpacked").mkdir()
    (given / "unpacked" / member).write_bytes(content)
    add(name, given, data)
    assert names(data) == [f"{name}/{member}"]
    assert find(name, data) == (data / name / member,)


def test_archives_are_added_as_they_are(given, data, names):
    name = "movielens-25m"
    member, content = SMALL[name]
    (given / member).write_bytes(content)
    with zipfile.ZipFile(given / "all.zip", "w") as archive:
        archive.write(given / member, f"all/{member}")
    with tarfile.open(given / "all.tgz", "w:gz") as tar:
        tar.add(given / member, f"all/{member}")
    (given / f"{member}.gz").write_bytes(gzip.compress(content))
    kept = {"all.zip": f"{name}.zip", "all.tgz": f"{name}.tar", f"{member}.gz": f"{member}.gz"}
    for file, usual in kept.items():
        add(name, given / file, data)
        assert find(name, data) == (data / name / usual,)
        assert names(data) == [f"{name}/{usual}"]
        assert (data / name / usual).read_bytes() == (given / file).read_bytes()


def test_the_four_files_of_a_folder_of_images_are_added(small_images, data, names):
    add("fashion", small_images, data)
    assert names(data) == [f"fashion/{file}" for file in names(small_images)]
    assert len(find("fashion", data)) == 4


def test_a_zip_of_images_replaces_the_four_files(small_images, given, data, names):
    add("mnist", small_images, data)
    with zipfile.ZipFile(given / "archive.zip", "w") as archive:
        for file in small_images.iterdir():
            archive.write(file, file.name)
    add("mnist", given / "archive.zip", data)
    assert names(data) == ["mnist/mnist.zip"]


def test_a_file_is_linked_where_the_disk_allows_it(given, data):
    file = given / "ratings.dat"
    file.write_bytes(SMALL["movielens-1m"][1])
    (added,) = add("movielens-1m", file, data)
    assert added.samefile(file)


def test_what_a_symbolic_link_leads_to_is_added(given, data):
    (given / "real").write_bytes(SMALL["movielens-1m"][1])
    (given / "ratings.dat").symlink_to(given / "real")
    (added,) = add("movielens-1m", given / "ratings.dat", data)
    assert not added.is_symlink()
    assert added.samefile(given / "real")


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second disk")
def test_a_file_on_another_disk_is_copied(given, names):
    file = given / "ratings.dat"
    file.write_bytes(SMALL["movielens-1m"][1])
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        if os.stat(elsewhere).st_dev == os.stat(given).st_dev:
            pytest.skip("needs a second disk")
        (added,) = add("movielens-1m", file, elsewhere)
        assert not added.samefile(file)
        assert added.read_bytes() == file.read_bytes()
        assert names(Path(elsewhere)) == ["movielens-1m/ratings.dat"]


def test_adding_twice_changes_nothing(given, data, names):
    file = given / "ratings.dat"
    file.write_bytes(SMALL["movielens-1m"][1])
    add("movielens-1m", file, data)
    (added,) = add("movielens-1m", file, data)
    assert add("movielens-1m", added, data) == (added,)
    assert names(data) == ["movielens-1m/ratings.dat"]


def test_a_newer_file_replaces_an_older_one(given, data, names):
    file = given / "ratings.dat"
    file.write_bytes(SMALL["movielens-1m"][1])
    add("movielens-1m", file, data)
    file.unlink()
    file.write_bytes(b"7::7::5::7\n")
    (added,) = add("movielens-1m", file, data)
    assert added.read_bytes() == b"7::7::5::7\n"
    assert names(data) == ["movielens-1m/ratings.dat"]


def test_another_data_set_is_refused_and_nothing_stays_behind(given, data, names):
    for name, other in list(itertools.permutations(SMALL, 2)):
        (given / "file").write_bytes(SMALL[other][1])
        with pytest.raises(BadFile, match=r"file does not look like .*, line 1 must be"):
            add(name, given / "file", data)
        assert names(data) == []


def test_a_folder_without_the_file_is_refused(given, data, names):
    with pytest.raises(BadFile, match=r"does not look like Yelp Open Dataset: .* must hold yelp_"):
        add("yelp", given, data)
    with pytest.raises(BadFile, match=r"does not look like MNIST: .* must hold train-images"):
        add("mnist", given, data)
    assert names(data) == []


def test_a_failing_add_leaves_what_was_there(given, data, names):
    (given / "ratings.dat").write_bytes(SMALL["movielens-1m"][1])
    add("movielens-1m", given, data)
    (given / "broken.dat").write_bytes(b"broken\n")
    with pytest.raises(BadFile, match="does not look like MovieLens-1M"):
        add("movielens-1m", given / "broken.dat", data)
    assert names(data) == ["movielens-1m/ratings.dat"]


def test_a_path_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="path must exist"):
        add("msd", tmp_path / "nowhere", tmp_path)


def test_an_unknown_name_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="name must be one of"):
        add("netflix", tmp_path, tmp_path)


@pytest.mark.mnist
def test_the_real_files_are_added(real_mnist, data, names):
    add("mnist", real_mnist, data)
    assert len(find("mnist", data)) == 4
    assert len(names(data)) == 4
