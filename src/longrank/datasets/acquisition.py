"""Getting data sets, from their publishers or from local files."""

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
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
    name: str | Source,
    folder: AnyPath | None = None,
    *,
    accept_terms: bool = False,
    progress: Progress | None = None,
) -> tuple[Path, ...]:
    """Download a data set into the data folder, unless it is there; return its files.

    Parameters
    ----------
    name
        One of ``longrank.datasets.SOURCES``, or such a source with other addresses (a mirror).
    folder
        The data folder, if not the default.
    accept_terms
        Must be true if the publisher has terms (``SOURCES[name].terms``).
    progress
        Called as the bytes arrive.

    An interrupted download resumes when called again.
    """
    known = source(name) if isinstance(name, str) else name
    if known.manual is not None:
        raise stored.MissingData(f"{known.title} has no direct download: {known.how}")
    if known.terms is not None and not accept_terms:
        raise InvalidInput(
            "accept_terms",
            f"be True to get {known.title}, which is {known.terms.summary} ({known.terms.url})",
            accept_terms,
        )
    place = stored.home(known.name, folder)
    older = stored.present(known.name, folder)
    files = tuple(_download(file, place / file.name, progress) for file in known.files)
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
    """Add a data set from local files to the data folder; return its files there.

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


def _download(file: File, target: Path, progress: Progress | None) -> Path:
    if target.is_file() and mismatch(target, file.size, file.md5) is None:
        return target
    report = progress and partial(progress, file.name)
    failures = []
    for url in file.urls:
        try:
            return download(url, target, size=file.size, md5=file.md5, progress=report)
        except (DownloadFailed, BadFile) as error:
            failures.append(error)
    raise failures[-1] if len(failures) == 1 else DownloadFailed("; ".join(map(str, failures)))
