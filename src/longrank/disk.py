"""Writing files: all of it or nothing."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic(target: str | os.PathLike[str], *, replace: bool = True) -> Iterator[Path]:
    """Give a path next to the target to write to; it becomes the target if the block succeeds.

    What was written is on disk before it gets its name. If the block fails nothing stays behind,
    and an older target stays as it was.

    Parameters
    ----------
    replace
        Whether to replace an older target; if not, FileExistsError is raised.
    """
    path = Path(target)
    name = f".{path.name}.{os.getpid()}.{threading.get_ident()}.part"
    temporary = path.with_name(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        if replace:
            os.replace(temporary, path)
        else:
            os.link(temporary, path)  # fails if the name exists
    except OSError as error:
        if str(error.filename) == str(temporary):
            error.filename = str(path)
        raise
    finally:
        # Also after success: renaming one hard link of a file to another one does nothing.
        temporary.unlink(missing_ok=True)


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes to a file, all of them or nothing."""
    with atomic(path) as temporary:
        temporary.write_bytes(data)
