"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longrank.datasets.containers import visible
from longrank.disk import atomic, write


def test_an_atomic_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "file"
    with atomic(target) as temporary:
        temporary.write_bytes(b"all")
        assert not target.exists()
        assert not visible(temporary)
    assert target.read_bytes() == b"all"
    assert os.listdir(target.parent) == ["file"]


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


def test_a_hard_link_to_the_target_itself_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"all")
    with atomic(target) as temporary:
        os.link(target, temporary)
    assert os.listdir(tmp_path) == ["file"]


def test_an_older_file_stays_where_it_must_not_be_replaced(tmp_path: Path) -> None:
    target = tmp_path / "file"
    for data in (b"first", b"second"):
        try:
            with atomic(target, replace=False) as temporary:
                temporary.write_bytes(data)
        except FileExistsError:
            assert data == b"second"
    assert target.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_has_the_usual_permissions(tmp_path: Path) -> None:
    write(tmp_path / "one", b"data")
    (tmp_path / "other").write_bytes(b"data")
    assert (tmp_path / "one").stat().st_mode == (tmp_path / "other").stat().st_mode
