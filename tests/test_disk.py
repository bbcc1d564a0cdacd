"""Files are written whole or not at all."""

import contextlib
import os
from pathlib import Path

import pytest

from longrank.datasets.containers import visible
from longrank.disk import atomic, write


def test_an_atomic_file_appears_when_the_block_ends_and_replaces_only_where_it_may(tmp_path):
    target = tmp_path / "file"
    with atomic(target, replace=False) as temporary:
        temporary.write_bytes(b"all")
        assert not target.exists()
        assert not visible(temporary)
    assert target.read_bytes() == b"all"
    with contextlib.suppress(FileExistsError), atomic(target, replace=False) as temporary:
        temporary.write_bytes(b"second")
    assert target.read_bytes() == b"all"
    with atomic(target) as temporary:
        os.link(target, temporary)  # a hard link to the target itself
    assert os.listdir(tmp_path) == ["file"]


def test_a_failing_block_leaves_the_older_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"older")

    def half() -> None:
        with atomic(target) as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert target.read_bytes() == b"older"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_has_the_usual_permissions(tmp_path: Path) -> None:
    write(tmp_path / "one", b"data")
    (tmp_path / "other").write_bytes(b"data")
    assert (tmp_path / "one").stat().st_mode == (tmp_path / "other").stat().st_mode
