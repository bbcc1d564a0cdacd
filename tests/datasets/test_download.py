"""Downloads, from a real server on this machine."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longrank.datasets.download import DownloadFailed, download, stays_secure
from longrank.errors import BadFile, InvalidInput, LongrankError

QUICK: dict[str, Any] = {"pause": 0.0, "timeout": 10.0}


class Stop(Exception):
    """Stands for the user's Ctrl-C."""


def stop_after(enough: int) -> Callable[[int, int | None], None]:
    def progress(done: int, _: int | None) -> None:
        if done >= enough:
            raise Stop

    return progress


def interrupt(url: str, target: Path, at: int = 200_000) -> int:
    """Begin a download, stop it in the middle, and say how far it came."""
    with pytest.raises(Stop):
        download(url, target, progress=stop_after(at), **QUICK)
    return target.with_name(target.name + ".part").stat().st_size


@pytest.fixture
def target(tmp_path):
    return tmp_path / "file"


def test_a_file_is_downloaded_and_checked(server, content, md5, names, tmp_path):
    url = server.put("file", content)
    target = tmp_path / "deep" / "file"
    seen: list[tuple[int, int | None]] = []
    asked = {"size": len(content), "md5": md5(content), "progress": lambda *now: seen.append(now)}
    assert download(url, target, **asked, **QUICK) == target
    assert target.read_bytes() == content
    assert names(tmp_path) == ["deep/file"]
    assert seen[0] == (0, len(content))
    assert seen[-1] == (len(content), len(content))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_server_need_not_name_the_length(server, content, md5, names, target):
    url = server.put("file", content, length=False)
    seen: list[tuple[int, int | None]] = []
    download(url, target, md5=md5(content), progress=lambda *now: seen.append(now), **QUICK)
    assert target.read_bytes() == content
    assert {total for _, total in seen} == {None}
    target.unlink()
    server.put("file", content, length=False, cuts=[1000])
    with pytest.raises(BadFile, match=f"must have {len(content)} bytes, got 1000"):
        download(url, target, size=len(content), **QUICK)
    assert names(target.parent) == []


@pytest.mark.parametrize(
    "version", [{}, {"etag": None, "modified": "Mon, 01 Jan 2024 00:00:00 GMT"}]
)
def test_a_stopped_download_goes_on_where_it_was(server, content, md5, names, target, version):
    url = server.put("file", content, **version)
    done = interrupt(url, target)
    assert 0 < done < len(content)
    assert names(target.parent) == ["file.part", "file.part.json"]
    seen: list[int] = []
    download(url, target, md5=md5(content), progress=lambda now, _: seen.append(now), **QUICK)
    assert server.ranges() == [None, f"bytes={done}-"]
    assert seen[0] == done
    assert target.read_bytes() == content
    assert names(target.parent) == ["file"]


@pytest.mark.parametrize(
    ("behaviour", "ranges"),
    [
        ({"cuts": [150_000, 100_000]}, ["bytes=150000-", "bytes=250000-"]),
        ({"chunked": [150_000]}, None),  # it breaks in a chunk, of which some has come
        ({"ranges": False, "cuts": [150_000]}, ["bytes=150000-"]),  # all of it is sent again
        ({"statuses": [503, 429]}, [None, None]),
    ],
)
def test_a_connection_that_breaks_or_a_server_in_trouble_is_asked_again(
    server, content, md5, names, target, behaviour, ranges
):
    download(server.put("file", content, **behaviour), target, md5=md5(content), **QUICK)
    assert len(server.requests) > 1
    assert server.ranges()[1:] == (ranges or server.ranges()[1:])
    assert target.read_bytes() == content
    assert names(target.parent) == ["file"]


@pytest.mark.parametrize(
    ("first", "then", "notes"),
    [
        ({"etag": None}, {}, None),  # no version
        ({"etag": 'W/"weak"'}, {}, None),  # a version that allows other bytes
        ({}, {"name": "mirror"}, None),  # another address
        *(({}, {}, notes) for notes in (b"", b"[]", b"{", b'{"url": 1}')),
    ],
)
def test_what_may_be_another_file_starts_anew(server, content, target, first, then, notes):
    interrupt(server.put("file", content, **first), target)
    if notes is not None:
        target.with_name("file.part.json").write_bytes(notes)
    download(server.put(**{"name": "file", "content": content, **first, **then}), target, **QUICK)
    assert server.ranges() == [None, None]
    assert target.read_bytes() == content


@pytest.mark.parametrize("careless", [False, True])
@pytest.mark.parametrize("newer", [lambda data: data[::-1], lambda data: data[:1000]])
def test_a_file_that_has_changed_starts_anew(server, content, names, target, careless, newer):
    url = server.put("file", content)
    interrupt(url, target)
    server.put("file", newer(content), etag='"two"', careless=careless)
    download(url, target, **QUICK)
    assert target.read_bytes() == newer(content)
    assert names(target.parent) == ["file"]


def test_a_stop_between_the_last_byte_and_the_check_costs_no_request(server, content, md5, target):
    url = server.put("file", content)
    assert interrupt(url, target, at=len(content)) == len(content)
    download(url, target, size=len(content), md5=md5(content), **QUICK)
    assert server.ranges() == [None]
    assert target.read_bytes() == content


def test_corrupt_content_is_refused_and_leaves_an_older_file(server, content, md5, names, target):
    url = server.put("file", content[:-1] + b"?")
    for older in ([], ["file"]):
        with pytest.raises(BadFile, match=f"MD5 checksum {md5(content)}, got.* nothing was kept"):
            download(url, target, size=len(content), md5=md5(content), **QUICK)
        assert names(target.parent) == older
        target.write_bytes(b"older")
    assert len(server.requests) == 2


def test_a_resumed_file_that_is_corrupt_gets_a_fresh_start(server, content, md5, target):
    url = server.put("file", content)
    interrupt(url, target)
    part = target.with_name("file.part")
    part.write_bytes(b"?" * part.stat().st_size)
    download(url, target, md5=md5(content), **QUICK)
    assert target.read_bytes() == content


def test_a_file_that_is_always_cut_fails_and_can_go_on_later(server, content, names, target):
    url = server.put("file", content, cuts=[100_000, 0, 0])
    with pytest.raises(DownloadFailed, match=r"closed after 100000 of 500000 .*tried 3 times"):
        download(url, target, tries=3, **QUICK)
    assert len(server.requests) == 3
    assert names(target.parent) == ["file.part", "file.part.json"]
    download(url, target, **QUICK)
    assert target.read_bytes() == content


@pytest.mark.parametrize(
    ("name", "size", "error", "message"),
    [
        ("file", 7, BadFile, "must have 7 bytes, the server offers 500000"),
        ("none", None, DownloadFailed, "the server answered 404 Not Found"),
    ],
)
def test_a_wrong_size_or_an_absent_file_is_refused_before_any_bytes_come(
    server, content, names, target, name, size, error, message
):
    server.put("file", content)
    url, seen = f"{server.url}/{name}", []
    with pytest.raises(error, match=message):
        download(url, target, size=size, progress=lambda *now: seen.append(now), **QUICK)
    assert (seen, len(server.requests)) == ([], 1)
    assert names(target.parent) == []


def test_a_refused_connection_fails_after_the_tries(names, target):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: nobody else can take it
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/file"
        with pytest.raises(DownloadFailed, match=r"refused.* \(tried 2 times\)") as caught:
            download(url, target, tries=2, **QUICK)
    assert isinstance(caught.value, LongrankError)
    assert isinstance(caught.value, ConnectionError)
    assert names(target.parent) == []


def test_a_redirection_is_followed_unless_it_leaves_https(server, content, target):
    download(server.put("old", b"", location=server.put("new", content)), target, **QUICK)
    assert target.read_bytes() == content
    assert not stays_secure("https://a.org/x", "http://a.org/x")
    assert stays_secure("https://a.org/x", "https://b.org/x")
    assert stays_secure("http://a.org/x", "https://a.org/x")
    for url in ["file:///etc/hostname", "ftp://example.org/x", "ml-25m.zip"]:
        with pytest.raises(InvalidInput, match="url must begin with https://"):
            download(url, target)
