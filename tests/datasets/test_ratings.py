"""The published formats of ratings, whole and broken."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from longrank.datasets.ratings import FORMATS, read
from longrank.errors import BadFile

HEADER = b"userId,movieId,rating,timestamp\n"


def review(user: object = "u1", business: object = "b1", stars: object = 4.0) -> bytes:
    record = {"review_id": "r", "user_id": user, "business_id": business, "stars": stars}
    return json.dumps({**record, "text": 'nice "place"\né,\t::'}).encode()


#: The same four ratings: (a, x, 4), (a, y, 1), (b, x, 5), (c, z, 3).
SMALL = {
    "movielens-25m": HEADER + b"1,296,4.0,11478\n1,306,1.0,11478\n7,296,5.0,1\n9,5,3.0,1\n",
    "movielens-1m": b"1::1193::4::9783\n1::661::1::9783\n2::1193::5::9783\n3::9::3::9783\n",
    "yelp": b"\n".join(
        [review(), review(business="b2", stars=1), review("u2", stars=5), review("u3", "b3", 3)]
    ),
    "msd": b"b80344d0\tSOAKIMP\t4\nb80344d0\tSOAPDEY\t1\nc0ffee\tSOAKIMP\t5\nd1\tSOX\t3\n",
}


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_codes_count_from_zero_in_the_order_of_appearance(tmp_path):
    for name in SMALL:
        data = read(write(tmp_path / "file", SMALL[name]), FORMATS[name])
        assert data.users.tolist() == [0, 0, 1, 2]
        assert data.items.tolist() == [0, 1, 0, 2]
        assert data.ratings.tolist() == [4, 1, 5, 3]
        assert (data.user_count, data.item_count, len(data)) == (3, 3, 4)
        assert data.users.dtype == data.items.dtype == np.int32
        assert data.ratings.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "container"),
    [
        ("movielens-25m", "folder"),
        ("movielens-1m", "gzip"),
        ("movielens-25m", "zip"),
        ("yelp", "tar"),
        ("msd", "tar in zip"),
    ],
)
def test_ratings_are_read_from_containers(tmp_path, name, container):
    member = FORMATS[name].names[0]
    path = tmp_path / "data"
    if container == "folder":
        path.mkdir()
        write(path / member, SMALL[name])
    elif container == "gzip":
        write(path, gzip.compress(SMALL[name]))
    else:
        buffer = io.BytesIO()
        info = tarfile.TarInfo(f"set/{member}")
        info.size = len(SMALL[name])
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            archive.addfile(info, io.BytesIO(SMALL[name]))
        if container == "tar":
            write(path, buffer.getvalue())
        else:
            inner = {
                "zip": (f"set/{member}", SMALL[name]),
                "tar in zip": ("a.tgz", buffer.getvalue()),
            }
            with zipfile.ZipFile(path, "w") as outer:
                outer.writestr(*inner[container])
    assert read(path, FORMATS[name]).ratings.tolist() == [4, 1, 5, 3]


def test_lines_may_end_as_on_windows_and_the_last_one_at_the_end_of_the_file(tmp_path):
    for name in SMALL:
        data = SMALL[name].rstrip(b"\n").replace(b"\n", b"\r\n")
        assert read(write(tmp_path / "file", data), FORMATS[name]).ratings.tolist() == [4, 1, 5, 3]


def test_a_bad_line_is_named_with_file_line_and_rule(tmp_path):
    for name, line in [
        ("movielens-25m", b"1,2,3.0"),
        ("movielens-25m", b"1,2,3.0,4,5"),
        ("movielens-25m", b"one,2,3.0,4"),
        ("movielens-25m", b"1,,3.0,4"),
        ("movielens-25m", b"1,2,nan,4"),
        ("movielens-25m", b"1,2,5.5,4"),
        ("movielens-25m", b"1,2,good,4"),
        ("movielens-25m", b""),
        ("movielens-1m", b"1::2::3"),
        ("movielens-1m", b"1,2,3,4"),
        ("movielens-1m", b"1::2::0::4"),
        ("movielens-1m", b"\xff\xfe::2::3::4"),
        ("yelp", b'{"user_id": "u"}'),
        ("yelp", b'{"user_id": "u", "business_id": "b", "stars": 4'),
        ("yelp", b"[1, 2]"),
        ("yelp", b"not json"),
        ("yelp", b"[" * 100_000),
        ("yelp", review(stars=None)),
        ("yelp", review(stars=6)),
        ("yelp", review(user="")),
        ("yelp", review(business=5)),
        ("yelp", b'{"user_id": "\xff"}'),
        ("msd", b"user\tsong"),
        ("msd", b"user song 3"),
        ("msd", b"user\tsong\t0"),
        ("msd", b"user\tsong\t1.5"),
        ("msd", b"\tsong\t3"),
        ("msd", b"user\tsong\t3\t4"),
    ]:
        lines = SMALL[name].rstrip(b"\n").split(b"\n")
        lines.insert(3, line)
        path = write(tmp_path / "file", b"\n".join(lines))
        with pytest.raises(BadFile) as caught:
            read(path, FORMATS[name])
        message = str(caught.value)
        assert message.startswith(f"{path}, line 4 must be {FORMATS[name].rule}, got '")
        assert len(message) < 400
        assert "\n" not in message


@pytest.mark.parametrize("line", [b"1,2,3.0,4", b"movieId,userId,rating,timestamp"])
def test_a_wrong_header_is_named(tmp_path, line):
    path = write(tmp_path / "ratings.csv", line + b"\n" + SMALL["movielens-25m"])
    with pytest.raises(BadFile, match=r"line 1 must be userId,movieId,rating,timestamp, got '"):
        read(path, FORMATS["movielens-25m"])


@pytest.mark.parametrize(("name", "data"), [("movielens-25m", HEADER), ("movielens-1m", b"")])
def test_a_file_without_ratings_is_refused(tmp_path, name, data):
    with pytest.raises(BadFile, match="must hold ratings, got none"):
        read(write(tmp_path / "file", data), FORMATS[name])


def test_a_line_that_does_not_end_is_refused(tmp_path):
    path = write(tmp_path / "file", SMALL["movielens-1m"] + b"x" * 3_000_000)
    with pytest.raises(BadFile, match="line 5 must have at most 1048576 bytes, got more"):
        read(path, FORMATS["movielens-1m"])


def test_a_truncated_gzip_is_named_with_the_line(tmp_path):
    data = b"".join(b"%d::%d::3::1\n" % (n * 7919 % 100_003, n) for n in range(300_000))
    packed = gzip.compress(data)
    path = write(tmp_path / "file.gz", packed[: len(packed) * 2 // 3])
    with pytest.raises(BadFile, match=r"file.gz cannot be read beyond line [1-9]\d*: "):
        read(path, FORMATS["movielens-1m"])


def test_a_zip_with_damaged_bytes_is_refused(tmp_path):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ratings.dat", SMALL["movielens-1m"])
    data = path.read_bytes()
    path.write_bytes(data.replace(b"1::1193::4", b"1::1193::5", 1))
    with pytest.raises(BadFile, match=r"all.zip:ratings.dat cannot be read .*CRC"):
        read(path, FORMATS["movielens-1m"])


def test_only_the_beginning_is_read_if_so_asked(tmp_path):
    path = write(tmp_path / "file", SMALL["movielens-1m"] + b"broken\n")
    assert len(read(path, FORMATS["movielens-1m"], limit=4)) == 4
    with pytest.raises(BadFile, match="line 5"):
        read(path, FORMATS["movielens-1m"], limit=5)


def test_lines_across_blocks_come_out_whole(tmp_path):
    count = 150_000
    data = b"".join(b"%d::%d::%d::978300760\n" % (n, n % 3706, 1 + n % 5) for n in range(count))
    assert len(data) > 3 << 20
    got = read(write(tmp_path / "ratings.dat", data), FORMATS["movielens-1m"])
    index = np.arange(count)
    assert np.array_equal(got.users, index)
    assert np.array_equal(got.items, index % 3706)
    assert np.array_equal(got.ratings, 1 + index % 5)
    assert (got.user_count, got.item_count) == (count, 3706)
