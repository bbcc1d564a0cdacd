"""``longrank backup``: copy a SQLite store while the service uses it, and verify the copy."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw

from longrank import disk
from longrank.errors import InvalidInput
from longrank.service.doctor import Finding, stored
from longrank.service.errors import StoreFailed

MAGIC = b"SQLite format 3\0"  # how every SQLite file begins
BUSY = 10_000  # milliseconds to wait for the store's lock


def backup(store: str, target: Path) -> Iterator[Finding]:
    """Copy a store to a file that does not exist yet; yield what is found in the copy.

    The file appears once the copy is complete, verified and on disk: every checksum is compared,
    and every model is replayed from its newest snapshot and from its oldest. It does not appear
    if anything is wrong.
    """
    if "://" in store:
        rule = "be a SQLite file (for PostgreSQL use pg_dump, or its continuous archiving)"
        raise InvalidInput("--store", rule, "the address of a database")
    if not Path(store).is_file():
        raise InvalidInput("--store", "be a file that exists", store)
    with Path(store).open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise InvalidInput("--store", "be a SQLite file", store)
    if target.exists():
        raise InvalidInput("out", "be a file that does not exist yet", target)
    try:
        with disk.atomic(target, replace=False) as part:
            try:
                _copy(store, part)
                good = True
                for finding in stored(str(part)):
                    good = good and finding.good
                    yield finding
            finally:
                for ending in ("-wal", "-shm", ".lock"):
                    Path(f"{part}{ending}").unlink(missing_ok=True)
            if not good:
                raise _Bad
    except _Bad:
        yield Finding("backup", False, f"not made: {store} has to be repaired first")
        return
    yield Finding("backup", True, f"{target}, {target.stat().st_size:,} bytes")


class _Bad(Exception):
    """The copy is not good."""


def _copy(store: str, part: Path) -> None:
    """Copy all pages in one read transaction: writers continue, and the copy is consistent."""
    try:
        with (
            closing(apsw.Connection(store, flags=apsw.SQLITE_OPEN_READWRITE)) as source,
            closing(apsw.Connection(str(part))) as target,
        ):
            source.set_busy_timeout(BUSY)
            with target.backup("main", source, "main") as copying:
                while not copying.done:
                    copying.step(-1)
    except (apsw.Error, OSError) as error:
        raise StoreFailed(f"cannot copy {store}: {error}") from error
