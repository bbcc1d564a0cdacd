"""Getting data sets: from their publishers, or from files at hand."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from longrank.datasets import stored
from longrank.datasets.download import DownloadFailed, download, mismatch
from longrank.datasets.sources import File, Source, source
from longrank.datasets.stored import AnyPath
from longrank.disk import atomic
from longrank.errors import BadFile, InvalidInput

#: Called with the name of the file, the bytes so far, and the total (None if unknown).
Progress = Callable[[str, int, int | None], None]


def get(
    name: str,
    folder: AnyPath | None = None,
    *,
    accept_terms: bool = False,
    progress: Progress | None = None,
) -> tuple[Path, ...]:
    """Download a data set into the data folder, unless it is there; return its files.

    Parameters
    ----------
    name
        One of ``longrank.datasets.SOURCES``.
    folder
        The data folder, if not the default.
    accept_terms
        Must be true if the publisher has terms (``SOURCES[name].terms``).
    progress
        Called as the bytes arrive.

    An interrupted download resumes when called again.
    """
    return fetch(source(name), folder, accept_terms=accept_terms, progress=progress)


def fetch(
    known: Source,
    folder: AnyPath | None = None,
    *,
    accept_terms: bool = False,
    progress: Progress | None = None,
    tries: int = 5,
    pause: float = 1.0,
) -> tuple[Path, ...]:
    """Do the same as :func:`get` for a source with other addresses (a mirror)."""
    if known.manual is not None:
        raise stored.MissingData(
            f"{known.title} has no direct download: {known.manual}, "
            f"then run 'longrank data add {known.name} PATH'"
        )
    if known.terms is not None and not accept_terms:
        raise InvalidInput(
            "accept_terms",
            f"be True to get {known.title}, which is {known.terms.summary} ({known.terms.url})",
            accept_terms,
        )
    place = stored.home(known.name, folder)
    older = stored.present(known.name, folder)
    files = tuple(
        _one(file, place / file.name, progress, tries=tries, pause=pause) for file in known.files
    )
    if any(file.md5 is None for file in known.files):
        try:
            stored.check(known.name, files[0] if len(files) == 1 else place)
        except BadFile:
            for path in files:
                path.unlink()
            raise
    stored.replace(known.name, folder, older, files)
    return files


def add(name: str, path: AnyPath, folder: AnyPath | None = None) -> tuple[Path, ...]:
    """Put a data set that is at hand into the data folder; return its files there.

    The beginning is checked first. A file is linked if the disk allows it, otherwise copied; what
    was there before is replaced.

    Parameters
    ----------
    name
        One of ``longrank.datasets.SOURCES``.
    path
        The published archive (zip, tar, gzip), the unpacked folder, or the file itself.
    folder
        The data folder, if not the default.
    """
    known = source(name)
    given = Path(path).expanduser()
    try:
        holders = stored.holders(name, given)
        stored.check(name, given)
    except BadFile as error:
        raise BadFile(f"{given} does not look like {known.title}: {error}") from error
    place = stored.home(name, folder)
    older = stored.present(name, folder)
    files = {place / usual: file for file, usual in holders.items()}
    place.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:  # all of them get their names, or none
        for target, file in files.items():
            if not (target.exists() and target.samefile(file)):
                _copy(file.resolve(), stack.enter_context(atomic(target)))
    stored.replace(name, folder, older, tuple(files))
    return tuple(files)


def _copy(file: Path, temporary: Path) -> None:
    try:
        os.link(file, temporary)
    except OSError:  # another disk, or one without links
        shutil.copyfile(file, temporary)


def _one(file: File, target: Path, progress: Progress | None, *, tries: int, pause: float) -> Path:
    if target.is_file() and mismatch(target, file.size, file.md5) is None:
        return target

    def report(done: int, total: int | None) -> None:
        if progress is not None:
            progress(file.name, done, total)

    failures = []
    for url in file.urls:
        try:
            return download(
                url,
                target,
                size=file.size,
                md5=file.md5,
                progress=report,
                tries=tries,
                pause=pause,
            )
        except (DownloadFailed, BadFile) as error:
            failures.append(error)
    raise failures[-1] if len(failures) == 1 else DownloadFailed("; ".join(map(str, failures)))
