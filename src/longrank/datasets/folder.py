"""The data folder, and which of its files are data."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "LONGRANK_DATA"

AnyPath = str | os.PathLike[str]


def data_folder(folder: AnyPath | None = None) -> Path:
    """Return the data folder: the given one, or ``LONGRANK_DATA``, or one in the user's cache."""
    chosen = folder if folder is not None else os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    return cache_folder(sys.platform, os.environ, Path.home()) / "longrank"


def cache_folder(platform: str, variables: Mapping[str, str], home: Path) -> Path:
    """Return the folder in which a platform keeps caches.

    >>> cache_folder("linux", {"XDG_CACHE_HOME": "/fast"}, Path("/home/ada")).as_posix()
    '/fast'
    """
    if platform == "win32":
        local = variables.get("LOCALAPPDATA")
        return Path(local) if local else home / "AppData" / "Local"
    if platform == "darwin":
        return home / "Library" / "Caches"
    given = variables.get("XDG_CACHE_HOME", "")
    return Path(given) if given.startswith("/") else home / ".cache"


def visible(path: Path) -> bool:
    """Tell whether a file is data: not hidden, and not an unfinished download."""
    return not path.name.startswith(".") and not path.name.endswith((".part", ".part.json"))
