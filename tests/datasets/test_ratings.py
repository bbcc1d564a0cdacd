"""The published formats of ratings, whole and broken."""

import gzip
import json
import subprocess
import sys
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


def test_codes_count_from_zero_in_the_order_of_appearance_however_lines_end(tmp_path):
    for name in SMALL:
        file = tmp_path / name / FORMATS[name].names[0]
        file.parent.mkdir()
        write(file, SMALL[name])
        for path in (file, file.parent, write(tmp_path / "packed", gzip.compress(SMALL[name]))):
            data = read(path, FORMATS[name])
            assert data.users.tolist() == [0, 0, 1, 2]
            assert data.items.tolist() == [0, 1, 0, 2]
            assert data.ratings.tolist() == [4, 1, 5, 3]
            assert (data.user_count, data.item_count, len(data)) == (3, 3, 4)
            assert data.users.dtype == data.items.dtype == np.int32
            assert data.ratings.dtype == np.float32
        windows = SMALL[name].rstrip(b"\n").replace(b"\n", b"\r\n")  # and no end of the last line
        data = read(write(tmp_path / "windows", windows), FORMATS[name])
        assert data.ratings.tolist() == [4, 1, 5, 3]


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


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("movielens-25m", b"1,2,3.0,4\n", "line 1 must be userId,movieId,rating,timestamp, got '"),
        ("movielens-25m", b"movieId,userId,rating,timestamp\n", "line 1 must be userId,movieId,"),
        ("movielens-25m", HEADER, "must hold ratings, got none"),
        ("movielens-1m", b"", "must hold ratings, got none"),
        (
            "movielens-1m",
            SMALL["movielens-1m"] + b"x" * 3_000_000,
            "line 5 must have at most 1048576 bytes, got more",
        ),
    ],
)
def test_a_file_that_is_not_one_of_ratings_is_refused(tmp_path, name, data, message):
    with pytest.raises(BadFile, match=message):
        read(write(tmp_path / "file", data), FORMATS[name])


def test_a_truncated_gzip_is_named_with_the_line_and_a_damaged_zip_refused(tmp_path):
    data = b"".join(b"%d::%d::3::1\n" % (n * 7919 % 100_003, n) for n in range(300_000))
    packed = gzip.compress(data)
    path = write(tmp_path / "file.gz", packed[: len(packed) * 2 // 3])
    with pytest.raises(BadFile, match=r"file.gz cannot be read beyond line [1-9]\d*: "):
        read(path, FORMATS["movielens-1m"])
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ratings.dat", SMALL["movielens-1m"])
    write(path, path.read_bytes().replace(b"1::1193::4", b"1::1193::5", 1))
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


CHILD = """
import resource, sys
from pathlib import Path
from longrank.datasets import ratings

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

before = peak()
data = ratings.read(Path(sys.argv[1]), ratings.FORMATS["yelp"])
print(len(data), peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory in the units of Linux")
def test_a_zipped_file_of_160_megabytes_takes_less_than_40(tmp_path):
    text = f'"text":"{"a long review, " * 100}"'
    count = 100_000
    path = tmp_path / "yelp.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("review.json", "w") as member,
    ):
        for start in range(0, count, 1000):
            lines = [
                f'{{"user_id":"u{n % 5000}","business_id":"b{n % 700}","stars":4,{text}}}\n'
                for n in range(start, start + 1000)
            ]
            member.write("".join(lines).encode())
    command = [sys.executable, "-c", CHILD, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, kilobytes = map(int, run.stdout.split())
    assert rows == count
    assert kilobytes < 40_000
