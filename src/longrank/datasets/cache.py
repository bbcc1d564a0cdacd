"""The cache of prepared arrays: files named after everything that they depend on."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longrank.datasets.embed import Arrays
from longrank.disk import atomic

VERSION = 1  # raised whenever equal settings give other arrays
_DAMAGED = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


def prepared(
    folder: Path,
    name: str,
    settings: Mapping[str, Any],
    files: tuple[Path, ...],
    build: Callable[[], Arrays],
) -> Arrays:
    """Return the arrays of these settings and files: read if built before, otherwise built.

    A damaged file is built again.
    """
    key = describe(settings, files)
    path = folder / "prepared" / f"{name}-{hashlib.sha256(key).hexdigest()[:16]}.npz"
    arrays = _load(path, key)
    if arrays is None:
        arrays = build()
        _store(path, key, arrays)
    return arrays


def describe(settings: Mapping[str, Any], files: tuple[Path, ...]) -> bytes:
    """Describe everything that the arrays depend on; files count by name, size and time."""
    stamps = []
    for file in files:
        status = file.stat()
        stamps.append([file.name, status.st_size, status.st_mtime_ns])
    whole = {"version": VERSION, "settings": dict(settings), "files": stamps}
    return json.dumps(whole, sort_keys=True).encode()


def _load(path: Path, key: bytes) -> Arrays | None:
    if not path.is_file():
        return None
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return arrays if arrays.pop("key").tobytes() == key else None
    except _DAMAGED:
        return None


def _store(path: Path, key: bytes, arrays: Arrays) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, key=np.frombuffer(key, np.uint8), **arrays)
