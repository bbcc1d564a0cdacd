"""Files that the user already has."""

import gzip
import itertools
import os
import tarfile
import tempfile
from pathlib import Path

import pytest
from archives import zipped, zipped_folder

from longrank.datasets import add, find
from longrank.errors import BadFile, InvalidInput

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


def test_a_plain_file_is_added_under_its_usual_name(given, data, names):
    for name, (member, content) in SMALL.items():
        (given / ".renamed").write_bytes(content)
        assert add(name, str(given / ".renamed"), str(data)) == (data / name / member,)
        assert names(data / name) == [member]
        assert find(name, data) == (data / name / member,)


def test_of_a_folder_the_files_that_count_are_added(given, small_images, data, names):
    member, content = SMALL["yelp"]
    (given / "README.txt").write_bytes(b"read me")
    (given / "unpacked").mkdir()
    (given / "unpacked" / member).write_bytes(content)
    add("yelp", given, data)
    assert names(data) == [f"yelp/{member}"]
    add("fashion", small_images, data)
    assert names(data / "fashion") == names(small_images)
    assert len(find("fashion", data)) == 4


def test_archives_are_added_as_they_are_in_place_of_the_older(given, small_images, data, names):
    name = "movielens-25m"
    member, content = SMALL[name]
    (given / member).write_bytes(content)
    (given / "all.zip").write_bytes(zipped({f"all/{member}": content}))
    with tarfile.open(given / "all.tgz", "w:gz") as tar:
        tar.add(given / member, f"all/{member}")
    (given / f"{member}.gz").write_bytes(gzip.compress(content))
    kept = {"all.zip": f"{name}.zip", "all.tgz": f"{name}.tar", f"{member}.gz": f"{member}.gz"}
    for file, usual in kept.items():
        add(name, given / file, data)
        assert find(name, data) == (data / name / usual,)
        assert names(data) == [f"{name}/{usual}"]
        assert (data / name / usual).read_bytes() == (given / file).read_bytes()
    add("mnist", small_images, data)
    (given / "archive.zip").write_bytes(zipped_folder(small_images))
    add("mnist", given / "archive.zip", data)
    assert names(data / "mnist") == ["mnist.zip"]


def test_a_file_is_linked_where_the_disk_allows_it_also_where_a_link_leads_to_it(given, data):
    file = given / "real"
    file.write_bytes(SMALL["movielens-1m"][1])
    (given / "ratings.dat").symlink_to(file)
    for path in (file, given / "ratings.dat"):
        (added,) = add("movielens-1m", path, data)
        assert not added.is_symlink()
        assert added.samefile(file)


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


def test_adding_again_changes_nothing_and_a_newer_file_replaces_an_older_one(given, data, names):
    file = given / "ratings.dat"
    file.write_bytes(SMALL["movielens-1m"][1])
    (added,) = add("movielens-1m", file, data)
    assert add("movielens-1m", file, data) == add("movielens-1m", added, data) == (added,)
    file.unlink()
    file.write_bytes(b"7::7::5::7\n")
    assert add("movielens-1m", file, data) == (added,)
    assert added.read_bytes() == b"7::7::5::7\n"
    assert names(data) == ["movielens-1m/ratings.dat"]
    (given / "broken.dat").write_bytes(b"broken\n")
    with pytest.raises(BadFile, match="does not look like MovieLens-1M"):
        add("movielens-1m", given / "broken.dat", data)
    assert added.read_bytes() == b"7::7::5::7\n"


def test_another_data_set_is_refused_and_nothing_stays_behind(given, data, names):
    for name, other in list(itertools.permutations(SMALL, 2)):
        (given / "file").write_bytes(SMALL[other][1])
        with pytest.raises(BadFile, match=r"file does not look like .*, line 1 must be"):
            add(name, given / "file", data)
        assert names(data) == []


def test_what_is_not_there_or_not_known_is_refused(given, data, names):
    for name, path, error, message in [
        ("yelp", given, BadFile, r"does not look like Yelp Open Dataset: .* must hold yelp_"),
        ("mnist", given, BadFile, r"does not look like MNIST: .* must hold train-images"),
        ("msd", given / "nowhere", InvalidInput, "path must exist"),
        ("netflix", given, InvalidInput, r"name must be one of mnist, .*, msd, got 'netflix'"),
    ]:
        with pytest.raises(error, match=message):
            add(name, path, data)
    assert names(data) == []
