"""The store in a SQLite file: nothing else to install or configure."""

import os
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import apsw

from longrank.service.errors import InUse, Stopped, StoreDamaged, StoreFailed
from longrank.service.store.store import Store

MIN_VERSION = (3, 51, 3)  # older ones can corrupt a write-ahead log of several connections
CHECKPOINT_PAGES = 8000  # 32 MB
_STEPS = 10_000  # of SQLite's virtual machine between checks for a stop: a millisecond
CHECKED_BYTES = 1 << 30  # larger files are verified by `longrank doctor` only


class SqliteStore(Store):
    """A store for one process, in one file. A commit is on disk when it is acknowledged.

    Opening it checks the version of SQLite, locks the file against a second process, and moves the
    write-ahead log into the database, so that it does not rely on pages that a failed fsync may
    have lost.
    """

    failures = (apsw.Error, OSError, UnicodeDecodeError)

    def __init__(self, path: str | os.PathLike[str], *, vfs: str | None = None) -> None:
        if version() < MIN_VERSION:
            minimum = ".".join(map(str, MIN_VERSION))
            raise StoreFailed(
                f"SQLite {apsw.sqlite_lib_version()} is too old: {minimum} or newer is needed, as "
                "older ones can corrupt the store; pip install -U apsw"
            )
        self.path = Path(path)
        self._vfs = vfs
        self._guard = None if vfs else _locked(self.path)
        try:
            super().__init__()
        except BaseException:
            self._release()
            raise

    def connect(self, *, write: bool = False) -> apsw.Connection:
        connection = apsw.Connection(str(self.path), vfs=self._vfs)
        try:
            connection.set_busy_timeout(10_000)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            if write:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            else:
                connection.execute("PRAGMA query_only = ON")
                connection.execute("PRAGMA wal_autocheckpoint = 0")
        except BaseException:
            connection.close()
            raise
        return connection

    def failed(self, error: Exception) -> StoreFailed | StoreDamaged:
        if isinstance(error, apsw.CorruptError | apsw.NotADBError | UnicodeDecodeError):
            return StoreDamaged(
                f"{self.path} is damaged ({error}); restore it from a backup or an export"
            )
        return super().failed(error)

    def verify(self, stopping: Callable[[], bool] = lambda: False) -> None:
        with self.translated(), closing(self.connect()) as session:
            session.set_progress_handler(stopping, _STEPS)
            try:
                results = list(session.execute("PRAGMA integrity_check(1)"))
            except apsw.InterruptError as error:
                raise Stopped("stopped while the store was read") from error
        for (result,) in results:
            if result != "ok":
                raise StoreDamaged(f"{self.path} is damaged: {result}; restore it from a backup")
        super().verify(stopping)

    def worth_verifying(self) -> bool:
        """Whether reading the whole file takes seconds at most."""
        return self._vfs is not None or self.path.stat().st_size < CHECKED_BYTES

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._release()

    def _release(self) -> None:
        if self._guard is not None:
            with suppress(OSError):
                os.close(self._guard)
            self._guard = None


def _locked(path: Path) -> int:
    """Lock a file beside the store until it is closed, or the process ends; return it."""
    import fcntl

    name = f"{path}.lock"
    try:
        file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreFailed(f"cannot open {name}: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise InUse(
            f"{path} is in use by another process; several processes need PostgreSQL"
        ) from None
    return file


def version() -> tuple[int, ...]:
    """Return the version of SQLite that is in use."""
    return tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
