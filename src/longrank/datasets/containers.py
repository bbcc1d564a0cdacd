"""Containers: reading a named file from a folder, a zip, a tar, a tar in a zip, or a gzip.

It is read as a stream: nothing is unpacked to disk. The kind of a file is recognised by its first
bytes, not by its name.
"""

import gzip
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, cast

from longrank.errors import BadFile, InvalidInput

#: The exceptions that reading a damaged container raises.
DAMAGED = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
    RuntimeError,  # an encrypted zip
)
_TARS = (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
_DEPTH = 4

Names = tuple[str, ...]


def locate(path: Path, names: Names) -> Path:
    """Return the file to open: ``path`` itself, the named file in a folder, or an archive there."""
    if not path.exists():
        raise InvalidInput("path", "exist", path)
    if path.is_file():
        return path
    files = list(_files(path))
    for file in files:
        if _wanted(file.name, names):
            return file
    for file in files:
        if kind_of(file) in ("zip", "tar"):
            return file
    raise BadFile(f"{path} must hold {names[0]}, plain, gzipped, or in a zip or tar archive")


@contextmanager
def opened(path: Path, names: Names) -> Iterator[tuple[IO[bytes], str]]:
    """Open the named file in ``path``; give its bytes, and its name for error messages.

    Parameters
    ----------
    path
        A folder, an archive, or the file itself under any name.
    names
        The names to look for, each also with ``.gz``.
    """
    file = locate(path, names)
    with ExitStack() as stack:
        try:
            stream, label = _open(stack, file, names)
        except DAMAGED as error:
            raise BadFile(f"{file} cannot be opened: {error}") from error
        yield stream, label


def _files(folder: Path) -> Iterator[Path]:
    """Return the data files of a folder, its own first, then those of its subfolders."""
    for place, folders, files in os.walk(folder):
        if len(Path(place).relative_to(folder).parts) >= _DEPTH:
            folders.clear()
        folders.sort()
        for name in sorted(files):
            if visible(file := Path(place, name)):
                yield file


def visible(path: Path) -> bool:
    """Tell whether a file is data: not hidden, and not an unfinished download."""
    return not path.name.startswith(".") and not path.name.endswith((".part", ".part.json"))


def _wanted(member: str, names: Names) -> bool:
    return PurePosixPath(member).name.removesuffix(".gz") in names


def kind_of(file: Path) -> str:
    """Return the kind of a file: zip, tar, gzip or plain."""
    with file.open("rb") as stream:
        start = stream.read(4)
    if start == b"PK\x03\x04":
        return "zip"
    with suppress(*DAMAGED):  # a gzip may be truncated in its first block
        if tarfile.is_tarfile(file):
            return "tar"
    return "gzip" if start[:2] == b"\x1f\x8b" else "plain"


def _open(stack: ExitStack, file: Path, names: Names) -> tuple[IO[bytes], str]:
    kind = kind_of(file)
    if kind == "zip":
        return _from_zip(stack, file, names)
    raw = stack.enter_context(file.open("rb"))
    if kind == "tar":
        return _from_tar(stack, raw, str(file), names)
    return _plain(stack, raw, kind == "gzip"), str(file)


def _from_zip(stack: ExitStack, file: Path, names: Names) -> tuple[IO[bytes], str]:
    archive = stack.enter_context(zipfile.ZipFile(file))
    members = archive.namelist()
    for member in members:
        if _wanted(member, names):
            stream = stack.enter_context(archive.open(member))
            return _plain(stack, stream, member.endswith(".gz")), f"{file}:{member}"
    for member in members:
        if member.endswith(_TARS) and visible(Path(member)):
            stream = stack.enter_context(archive.open(member))
            return _from_tar(stack, stream, f"{file}:{member}", names)
    raise BadFile(_holds(str(file), names, members))


def _from_tar(stack: ExitStack, raw: IO[bytes], label: str, names: Names) -> tuple[IO[bytes], str]:
    archive = stack.enter_context(tarfile.TarFile.open(fileobj=raw, mode="r|*"))
    seen = []
    for member in archive:
        seen.append(member.name)
        if _wanted(member.name, names) and (stream := archive.extractfile(member)) is not None:
            stack.enter_context(stream)
            return _plain(stack, stream, member.name.endswith(".gz")), f"{label}:{member.name}"
    raise BadFile(_holds(label, names, seen))


def _plain(stack: ExitStack, stream: IO[bytes], gzipped: bool) -> IO[bytes]:
    if not gzipped:
        return stream
    return cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=stream)))


def _holds(label: str, names: Names, members: list[str]) -> str:
    shown = ", ".join(members[:3]) + (", ..." if len(members) > 3 else "")
    return f"{label} must hold {names[0]}, got {shown or 'nothing'}"
