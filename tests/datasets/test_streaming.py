"""A large file passes through a small memory."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest

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
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True
    )
    rows, kilobytes = map(int, run.stdout.split())
    assert rows == count
    assert kilobytes < 40_000
