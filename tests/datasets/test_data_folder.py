"""Where data lives, and that a file gets there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.datasets.stored import cache_folder, data_folder

HOME = Path("/home/ada")


def test_a_folder_that_is_given_comes_first(monkeypatch, tmp_path):
    monkeypatch.setenv("LONGRANK_DATA", "/elsewhere")
    assert data_folder(tmp_path) == tmp_path
    assert data_folder(str(tmp_path)) == tmp_path


def test_the_variable_comes_second(monkeypatch, tmp_path):
    monkeypatch.setenv("LONGRANK_DATA", str(tmp_path))
    assert data_folder() == tmp_path


def test_a_tilde_is_the_home_folder(monkeypatch):
    monkeypatch.setenv("LONGRANK_DATA", "~/data")
    assert data_folder() == Path.home() / "data"


@pytest.mark.parametrize("value", [None, ""])
def test_else_it_is_in_the_cache_of_the_user(monkeypatch, value):
    monkeypatch.delenv("LONGRANK_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("LONGRANK_DATA", value)
    assert data_folder().name == "longrank"


def test_every_platform_has_its_cache():
    for platform, variables, expected in [
        ("linux", {}, HOME / ".cache"),
        ("linux", {"XDG_CACHE_HOME": "/fast"}, Path("/fast")),
        ("linux", {"XDG_CACHE_HOME": "relative"}, HOME / ".cache"),
        ("darwin", {"XDG_CACHE_HOME": "/fast"}, HOME / "Library" / "Caches"),
        ("win32", {"LOCALAPPDATA": "D:/Local"}, Path("D:/Local")),
        ("win32", {}, HOME / "AppData" / "Local"),
    ]:
        assert cache_folder(platform, variables, HOME) == expected
