"""Where data lives, and that a file gets there whole or not at all."""

from pathlib import Path

from longrank.datasets.stored import cache_folder, data_folder

HOME = Path("/home/ada")


def test_the_folder_is_that_given_or_the_variable_or_one_in_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("LONGRANK_DATA", "/elsewhere")
    assert data_folder(tmp_path) == data_folder(str(tmp_path)) == tmp_path
    assert data_folder() == Path("/elsewhere")
    monkeypatch.setenv("LONGRANK_DATA", "~/data")
    assert data_folder() == Path.home() / "data"
    monkeypatch.setenv("LONGRANK_DATA", "")
    assert data_folder().name == "longrank"
    monkeypatch.delenv("LONGRANK_DATA")
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
