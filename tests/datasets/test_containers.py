"""The same file, out of everything that it may come in."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from archives import zipped

from longrank.datasets.containers import locate, opened
from longrank.errors import BadFile, InvalidInput

TEXT = b"one\ntwo\n"
GZIPPED = gzip.compress(TEXT, mtime=0)  # the same in every worker, as names of tests hold it
NAMES = ("ratings.csv", "other.csv")


def tarred(members: dict[str, bytes], packing: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{packing}") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def encrypted() -> bytes:
    data = bytearray(zipped({"ratings.csv": TEXT}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


MEMBERS = {"ml/README.txt": b"read me", "__MACOSX/ml/._ratings.csv": b"-", "ml/ratings.csv": TEXT}
PACKED = {"README": b"read me", "ml/ratings.csv.gz": GZIPPED}
MANY = {f"{letter}.csv": b"" for letter in "abcd"}
LARGE = {"README": bytes(range(256)) * 4000, "ratings.csv": TEXT}


def content(path: Path) -> bytes:
    with opened(path, NAMES) as (stream, _):
        return stream.read()


@pytest.mark.parametrize(
    ("data", "inside"),
    [
        (TEXT, ""),
        (GZIPPED, ""),
        (zipped(MEMBERS), ":ml/ratings.csv"),
        (zipped(PACKED), ":ml/ratings.csv.gz"),
        *((tarred(MEMBERS, packing), ":ml/ratings.csv") for packing in ("", "gz", "bz2", "xz")),
        (tarred(PACKED), ":ml/ratings.csv.gz"),
        (zipped({"a.pdf": b"", "all.tar": tarred(MEMBERS)}), ":all.tar:ml/ratings.csv"),
        (zipped({"data/all.tgz": tarred(MEMBERS, "gz")}), ":data/all.tgz:ml/ratings.csv"),
    ],
)
def test_a_file_comes_out_of_every_container_whatever_its_name(tmp_path, data, inside):
    path = tmp_path / "download"
    path.write_bytes(data)
    with opened(path, NAMES) as (stream, label):
        assert stream.read() == TEXT
        assert label == f"{path}{inside}"  # for error messages


@pytest.mark.parametrize(
    ("name", "data"),
    [
        *((name, TEXT) for name in ("ratings.csv", "other.csv", "a/b/ratings.csv")),
        ("ratings.csv.gz", GZIPPED),
        ("ml-25m.zip", zipped(MEMBERS)),
    ],
)
def test_a_folder_is_searched(tmp_path, name, data):
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    (tmp_path / "movies.csv").write_bytes(b"other")
    (tmp_path / "broken.gz").write_bytes(gzip.compress(bytes(9999))[:20])
    assert locate(tmp_path, NAMES) == file
    assert content(tmp_path) == TEXT


def test_hidden_unfinished_and_deep_files_are_not_seen(tmp_path):
    (tmp_path / "all.zip.part").write_bytes(zipped(MEMBERS))
    (tmp_path / ".all.zip").write_bytes(zipped(MEMBERS))
    deep = tmp_path / "1" / "2" / "3" / "4" / "5"
    deep.mkdir(parents=True)
    (deep / "ratings.csv").write_bytes(TEXT)
    with pytest.raises(BadFile, match=r"must hold ratings.csv, plain, gzipped"):
        locate(tmp_path, NAMES)
    with pytest.raises(InvalidInput, match=r"path must exist, got .*nowhere"):
        locate(tmp_path / "nowhere", NAMES)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (zipped(MANY), r"must hold ratings.csv, got a.csv, b.csv, c.csv, \.\.\."),
        (tarred(MANY), r"must hold ratings.csv, got a.csv, b.csv, c.csv, \.\.\."),
        (tarred({}), r"must hold ratings.csv, got nothing"),
        (zipped(MEMBERS)[:-30], r"archive cannot be opened: "),
        (encrypted(), r"cannot be opened: .*encrypted"),
        (tarred(LARGE, "gz")[:600], "archive"),
    ],
)
def test_an_archive_without_the_file_or_damaged_is_refused(tmp_path, data, message):
    path = tmp_path / "archive"
    path.write_bytes(data)
    with pytest.raises(BadFile, match=message):
        content(path)
