"""Where data lives, and how a file gets there: all of it or nothing."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "LONGRANK_DATA"

AnyPath = str | os.PathLike[str]


def data_folder(folder: AnyPath | None = None) -> Path:
    """The folder of all data: the one given, else ``LONGRANK_DATA``, else in the user's cache."""
    chosen = folder if folder is not None else os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    return cache_folder(sys.platform, os.environ, Path.home()) / "longrank"


def cache_folder(platform: str, variables: Mapping[str, str], home: Path) -> Path:
    """Where a platform keeps what can be made again.

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


@contextmanager
def atomic(target: Path) -> Iterator[Path]:
    """A path to write to, beside the target; it becomes the target if the block succeeds.

    If the block fails, nothing stays behind and an older target stays as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        # Also after success: renaming one hard link of a file to another one does nothing.
        temporary.unlink(missing_ok=True)


def visible(path: Path) -> bool:
    """Whether a file is data: not hidden, and not an unfinished download."""
    return not path.name.startswith(".") and not path.name.endswith((".part", ".part.json"))
