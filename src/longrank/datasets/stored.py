"""The data folder, and the data sets in it: where they are, and whether they are complete."""

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from longrank.datasets import mnist, questions, ratings
from longrank.datasets.containers import Names, kind_of, locate
from longrank.datasets.sources import source
from longrank.errors import BadFile, LongrankError

VARIABLE = "LONGRANK_DATA"
AnyPath = str | os.PathLike[str]
QUESTIONS = "llm"  # the data set of questions; the others are ratings and images
_CHECKED_LINES = 1000


class MissingData(LongrankError, FileNotFoundError):
    """A data set is not in the data folder; the message says how to get it."""


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


def home(name: str, folder: AnyPath | None = None) -> Path:
    """Return the folder of a data set."""
    return data_folder(folder) / source(name).name


def find(name: str, folder: AnyPath | None = None) -> tuple[Path, ...]:
    """Return the files of a data set; raise :class:`MissingData` if it is not there."""
    files = present(name, folder)
    if files:
        return files
    known = source(name)
    raise MissingData(f"{known.title} is not in {home(name, folder)}: {known.how}")


def present(name: str, folder: AnyPath | None = None) -> tuple[Path, ...]:
    """Return the files of a data set; none if it is missing or incomplete."""
    place = home(name, folder)
    try:
        return tuple(holders(name, place)) if place.is_dir() else ()
    except BadFile:
        return ()


def holders(name: str, path: Path) -> dict[Path, str]:
    """Return the files of a data set in ``path`` (one, two of questions, or the four of MNIST).

    Each comes with the name under which the data folder keeps it.
    """
    files = {}
    for names in _kind(name)[0]:
        file = locate(path, names)
        usual = {"zip": f"{name}.zip", "tar": f"{name}.tar", "gzip": f"{names[0]}.gz"}
        files[file] = usual.get(kind_of(file), names[0])
    return files


def check(name: str, path: Path) -> None:
    """Read the beginning (of ratings) or everything; raise :class:`BadFile` if it is not that."""
    _kind(name)[1](path)


def replace(
    name: str, folder: AnyPath | None, older: tuple[Path, ...], new: tuple[Path, ...]
) -> None:
    """Delete the older files, and all that would be read instead of the new ones."""
    stale = set(older) - set(new)
    while stale:
        for file in stale:
            file.unlink()
        stale = set(present(name, folder)) - set(new)


def _kind(name: str) -> tuple[tuple[Names, ...], Callable[[Path], object]]:
    """Return the file names of a data set, and the function that checks them."""
    if form := ratings.FORMATS.get(name):
        return (form.names,), partial(ratings.read, form=form, limit=_CHECKED_LINES)
    return (questions.PARTS, questions.read) if name == QUESTIONS else (mnist.PARTS, mnist.read)
