"""Data sets from their publishers, who are all on this machine."""

import dataclasses

import pytest
from archives import zipped

from longrank.datasets import SOURCES, DownloadFailed, File, MissingData, Source, find, get
from longrank.errors import BadFile, InvalidInput


def movielens(*files: File) -> Source:
    return dataclasses.replace(SOURCES["movielens-1m"], files=files)


def test_a_data_set_of_one_file_is_got_from_the_first_address_that_works(
    server, small_ratings, md5, names, tmp_path
):
    data = zipped({"ml-1m/ratings.dat": small_ratings.read_bytes()})
    urls = (f"{server.url}/gone", server.put("ml-1m.zip", data))
    known = movielens(File("ml-1m.zip", urls, len(data), md5(data)))
    files = get(known, tmp_path / "data", accept_terms=True)
    assert files == find("movielens-1m", tmp_path / "data")
    assert names(tmp_path / "data") == ["movielens-1m/ml-1m.zip"]
    assert files[0].read_bytes() == data


def test_a_data_set_of_four_files_is_got_with_progress_for_each_and_not_again(
    server, small_images, md5, tmp_path
):
    published = []
    for path in sorted(small_images.iterdir()):
        data = path.read_bytes()
        published.append(File(path.name, (server.put(path.name, data),), len(data), md5(data)))
    known = dataclasses.replace(SOURCES["mnist"], files=tuple(published))
    seen: dict[str, tuple[int, int | None]] = {}
    files = get(known, tmp_path, progress=lambda name, *now: seen.update({name: now}))
    assert {file.name for file in files} == set(seen)
    assert all(done == total for done, total in seen.values())
    assert set(find("mnist", tmp_path)) == set(files)
    assert len(server.requests) == 4
    files[0].write_bytes(b"damaged")
    get(known, tmp_path)
    assert len(server.requests) == 5


def test_why_nothing_was_got_is_said_for_each_address(server, names, tmp_path):
    bad, page = server.put("bad", b"bad"), server.put("page", b"<html>moved</html>")
    for file, error, message in [
        (
            File("ml-1m.zip", (f"{server.url}/gone", bad), size=4),
            DownloadFailed,
            r"gone .*404 .*; .*bad must have 4 bytes",
        ),
        (File("ml-1m.zip", (bad,), size=4), BadFile, "bad must have 4 bytes, the server offers 3"),
        (File("ml-1m.zip", (page,)), BadFile, "line 1 must be UserID::MovieID"),  # no checksum
    ]:
        with pytest.raises(error, match=message):
            get(movielens(file), tmp_path, accept_terms=True)
        assert names(tmp_path) == []


def test_what_was_there_before_in_another_form_gives_way(server, small_ratings, names, tmp_path):
    home = tmp_path / "movielens-1m"
    (home / "unpacked").mkdir(parents=True)
    (home / "ratings.dat").write_bytes(b"older")
    (home / "unpacked" / "ratings.dat").write_bytes(b"older")
    (home / "README").write_bytes(b"the user's own")
    data = zipped({"ratings.dat": small_ratings.read_bytes()})
    known = movielens(File("ml-1m.zip", (server.put("ml-1m.zip", data),)))
    get(known, tmp_path, accept_terms=True)
    assert names(home) == ["README", "ml-1m.zip"]


def test_terms_must_be_accepted_and_what_cannot_be_downloaded_is_explained(names, tmp_path):
    rule = r"accept_terms must be True to get MovieLens-25M.*\.html"
    with pytest.raises(InvalidInput, match=rule):
        get("movielens-25m", tmp_path)
    with pytest.raises(MissingData, match=r"accept the agreement .* 'longrank data add yelp PATH'"):
        get("yelp", tmp_path, accept_terms=True)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("mnist", "run 'longrank data get mnist'"),
        ("yelp", "then run 'longrank data add yelp PATH'"),
    ],
)
def test_a_data_set_that_is_not_there_says_how_to_get_it(tmp_path, name, how):
    for _ in range(2):
        with pytest.raises(MissingData, match=how) as caught:
            find(name, tmp_path)
        assert isinstance(caught.value, FileNotFoundError)
        (tmp_path / name).mkdir(exist_ok=True)  # an empty folder is no better
