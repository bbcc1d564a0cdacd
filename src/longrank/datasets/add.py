"""Take a data set from files that the user already has."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from pathlib import Path

from longrank.datasets import stored
from longrank.datasets.folder import AnyPath, atomic
from longrank.datasets.sources import source
from longrank.errors import BadFile


def add(name: str, path: AnyPath, folder: AnyPath | None = None) -> tuple[Path, ...]:
    """Put a data set into the data folder; the files there.

    The beginning is checked first. A file is linked where the disk allows it, else copied; what
    was there before is replaced.

    Parameters
    ----------
    name
        One of ``longrank.datasets.SOURCES``.
    path
        The published archive (zip, tar, gzip), the unpacked folder, or the file itself.
    folder
        The data folder, if not the usual one.
    """
    known = source(name)
    given = Path(path).expanduser()
    try:
        found = stored.holders(name, given)
        stored.check(name, given)
    except BadFile as error:
        raise BadFile(f"{given} does not look like {known.title}: {error}") from error
    place = stored.home(name, folder)
    older = stored.present(name, folder)
    files = {place / usual: file for file, usual in found.items()}
    with ExitStack() as stack:  # all of them get their names, or none
        for target, file in files.items():
            if not (target.exists() and target.samefile(file)):
                _copy(file.resolve(), stack.enter_context(atomic(target)))
    stored.replace(name, folder, older, tuple(files))
    return tuple(files)


def _copy(file: Path, temporary: Path) -> None:
    temporary.unlink()
    try:
        os.link(file, temporary)
    except OSError:  # another disk, or one without links
        shutil.copyfile(file, temporary)
        with temporary.open("r+b") as written:
            os.fsync(written.fileno())
