"""The same file, out of everything that it may come in."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Literal

import pytest

from longrank.datasets.containers import locate, opened
from longrank.errors import BadFile, InvalidInput

TEXT = b"one\ntwo\n"
NAMES = ("ratings.csv", "other.csv")


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(members: dict[str, bytes], mode: Literal["w:", "w:gz", "w:bz2", "w:xz"] = "w:") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


MEMBERS = {
    "ml/README.txt": b"read me",
    "__MACOSX/ml/._ratings.csv": b"junk",
    "ml/ratings.csv": TEXT,
}
PACKED = {"README": b"read me", "ml/ratings.csv.gz": gzip.compress(TEXT)}


def content(path: Path) -> bytes:
    with opened(path, NAMES) as (stream, _):
        return stream.read()


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        gzip.compress(TEXT),
        zipped(MEMBERS),
        zipped(PACKED),
        tarred(MEMBERS),
        tarred(MEMBERS, "w:gz"),
        tarred(MEMBERS, "w:bz2"),
        tarred(MEMBERS, "w:xz"),
        tarred(PACKED),
        zipped({"a.pdf": b"", "data/all.tar": tarred(MEMBERS)}),
        zipped({"data/all.tgz": tarred(MEMBERS, "w:gz")}),
    ],
    ids=[
        "plain",
        "gzip",
        "zip",
        "gzip in zip",
        "tar",
        "tar.gz",
        "tar.bz2",
        "tar.xz",
        "gzip in tar",
        "tar in zip",
        "tar.gz in zip",
    ],
)
def test_a_file_comes_out_of_every_container_whatever_its_name(tmp_path, data):
    path = tmp_path / "download"
    path.write_bytes(data)
    assert content(path) == TEXT


def test_an_archive_in_a_folder_is_found(tmp_path):
    (tmp_path / "README").write_bytes(b"read me")
    (tmp_path / "broken.gz").write_bytes(gzip.compress(bytes(9999))[:20])
    (tmp_path / "ml-25m.zip").write_bytes(zipped(MEMBERS))
    assert locate(tmp_path, NAMES) == tmp_path / "ml-25m.zip"
    assert content(tmp_path) == TEXT


@pytest.mark.parametrize("name", ["ratings.csv", "other.csv", "a/b/ratings.csv"])
def test_a_folder_is_searched(tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(TEXT)
    (tmp_path / "movies.csv").write_bytes(b"other")
    assert locate(tmp_path, NAMES) == file
    assert content(tmp_path) == TEXT


def test_a_gzipped_file_in_a_folder_is_found(tmp_path):
    (tmp_path / "ratings.csv.gz").write_bytes(gzip.compress(TEXT))
    assert content(tmp_path) == TEXT


def test_hidden_and_unfinished_files_are_not_seen(tmp_path):
    (tmp_path / "all.zip.part").write_bytes(zipped(MEMBERS))
    (tmp_path / ".all.zip").write_bytes(zipped(MEMBERS))
    with pytest.raises(BadFile, match=r"must hold ratings.csv, plain, gzipped"):
        locate(tmp_path, NAMES)


def test_a_folder_far_below_is_not_searched(tmp_path):
    deep = tmp_path / "1" / "2" / "3" / "4" / "5"
    deep.mkdir(parents=True)
    (deep / "ratings.csv").write_bytes(TEXT)
    with pytest.raises(BadFile, match=r"must hold ratings.csv"):
        locate(tmp_path, NAMES)


def test_a_path_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"path must exist, got .*nowhere"):
        locate(tmp_path / "nowhere", NAMES)


def test_an_error_can_name_archive_and_member(tmp_path):
    path = tmp_path / "all.zip"
    path.write_bytes(zipped({"data/all.tar": tarred(MEMBERS)}))
    with opened(path, NAMES) as (_, label):
        assert label == f"{path}:data/all.tar:ml/ratings.csv"


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_an_archive_without_the_file_says_what_it_holds(tmp_path, pack):
    path = tmp_path / "archive"
    path.write_bytes(pack({f"{letter}.csv": b"" for letter in "abcd"}))
    with (
        pytest.raises(BadFile, match=r"must hold ratings.csv, got a.csv, b.csv, c.csv, \.\.\."),
        opened(path, NAMES),
    ):
        pass


def test_an_empty_archive_is_refused(tmp_path):
    path = tmp_path / "archive"
    path.write_bytes(tarred({}))
    with pytest.raises(BadFile, match=r"must hold ratings.csv, got nothing"), opened(path, NAMES):
        pass


def test_a_truncated_zip_is_refused(tmp_path):
    path = tmp_path / "all.zip"
    path.write_bytes(zipped(MEMBERS)[:-30])
    with pytest.raises(BadFile, match=r"all.zip cannot be opened: "), opened(path, NAMES):
        pass


def test_an_encrypted_zip_is_refused(tmp_path):
    data = bytearray(zipped({"ratings.csv": TEXT}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path = tmp_path / "all.zip"
    path.write_bytes(data)
    with pytest.raises(BadFile, match=r"cannot be opened: .*encrypted"), opened(path, NAMES):
        pass


def test_a_truncated_tar_is_refused(tmp_path):
    path = tmp_path / "all.tar.gz"
    path.write_bytes(
        tarred({"README": bytes(range(256)) * 4000, "ratings.csv": TEXT}, "w:gz")[:600]
    )
    with pytest.raises(BadFile, match=r"all.tar.gz"), opened(path, NAMES):
        pass
