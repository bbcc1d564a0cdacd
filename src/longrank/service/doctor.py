"""``longrank doctor``: check versions, the disk and the store."""

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from longrank.errors import plural
from longrank.service.engine.apply import replay
from longrank.service.errors import InUse, OtherVersion, ServiceError, StoreDamaged, Unknown
from longrank.service.store import sqlite
from longrank.service.store.sql import ModelRow
from longrank.service.store.store import Store, hide_password, open_store

PACKAGES = ("starlette", "msgspec", "uvicorn", "uvloop", "httptools", "apsw", "prometheus-client")
WRITES = 100  # of the disk check


class Finding(NamedTuple):
    """The result of one check."""

    what: str
    good: bool
    detail: str


def examine(where: str) -> Iterator[Finding]:
    """Check everything, one thing after the other."""
    for part in PACKAGES:
        try:
            yield Finding(part, True, version(part))
        except PackageNotFoundError:
            yield Finding(part, False, "is not installed: pip install '.[service]'")
    found = sqlite.version()
    minimum = ".".join(map(str, sqlite.MIN_VERSION))
    detail = f"{'.'.join(map(str, found))}; {minimum} or newer is needed"
    yield Finding("SQLite", found >= sqlite.MIN_VERSION, detail)
    local = "://" not in where and hide_password(where, where) == where
    if local:
        folder = Path(where).absolute().parent
        yield disk(folder)
    if not local or Path(where).exists():
        yield from stored(where)
    else:
        yield Finding("store", True, f"{where} does not exist yet; the first start creates it")


def disk(folder: Path) -> Finding:
    """Measure how long a durable write takes in a folder, and say what follows from it."""
    try:
        seconds = syncs(folder)
    except OSError as error:
        return Finding("disk", False, f"cannot write in {folder}: {error.strerror}")
    median = statistics.median(seconds)
    worst = sorted(seconds)[-max(1, len(seconds) // 100)]
    return Finding(
        "disk",
        True,
        f"fsync {1000 * median:.2f} ms (worst of {len(seconds)}: {1000 * worst:.2f} ms): a call "
        "takes at least that long; concurrent calls share an fsync",
    )


def syncs(folder: Path, count: int = WRITES) -> list[float]:
    """Return the duration in seconds of each of some small durable writes."""
    seconds = []
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(4096 * count))
        os.fsync(file.fileno())
        for i in range(count):
            os.pwrite(file.fileno(), b"x" * 4096, 4096 * i)
            started = time.perf_counter()
            os.fdatasync(file.fileno()) if hasattr(os, "fdatasync") else os.fsync(file.fileno())
            seconds.append(time.perf_counter() - started)
    return seconds


def stored(where: str) -> Iterator[Finding]:
    """Read a whole store, and replay each model."""
    try:
        store = open_store(where)
    except InUse:
        detail = f"{where} is in use, and was checked when its service started; longrank backup"
        yield Finding("store", True, f"{detail} checks a copy of it")
        return
    except ServiceError as error:
        yield Finding("store", False, str(error))
        return
    try:
        store.verify()
        rows = store.models()
        yield Finding("store", True, f"all checksums match; {plural(len(rows), 'model')}")
        for row in rows:
            with suppress(Unknown):  # deleted meanwhile
                yield replayed(store, row)
    except ServiceError as error:
        yield Finding("store", False, str(error))
    finally:
        store.close()


def replayed(store: Store, row: ModelRow) -> Finding:
    """Replay a model from its newest snapshot and from its oldest, and compare."""
    try:
        model, fresh = replay(store, row), replay(store, row, fresh=True)
    except OtherVersion as error:
        detail = f"not damaged, but of another version of longrank: {error}"
        return Finding(f"model {row.name}", False, detail)
    except StoreDamaged as error:
        return Finding(f"model {row.name}", False, f"damaged: {error}")
    same = model.state_hash() == fresh.state_hash()
    detail = f"{plural(model.stats.decisions, 'decision')}, {model.stats.learned} learned; state "
    detail += model.state_hash()[:16] if same else "differs between snapshot and replay"
    return Finding(f"model {row.name}", same, detail)
