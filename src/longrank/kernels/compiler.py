"""The process that compiles kernels into numba's cache: ``python -m longrank.kernels.compiler``.

Reads a kernel and the types of its arguments from each line of standard input, and answers each
with a line: what went wrong, or an empty text. Ends with its input.
"""

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from longrank.kernels.compilation import numba_types


@contextlib.contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Wait until no other process compiles into this folder: it may make the same."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):  # not on Windows, not in every folder
            import fcntl

            lock = stack.enter_context(Path(folder, "longrank.lock").open("a"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Compile what is asked for."""
    if hasattr(os, "nice"):
        os.nice(19)
    for line in sys.stdin:
        problem = ""
        try:
            module, name, types = json.loads(line)
            kernel = getattr(importlib.import_module(module), name)
            with _alone(kernel._cache.cache_path):
                kernel.compile(numba_types(types))
        except Exception as error:
            problem = f"{type(error).__name__}: {error!s:.300}"
        print(json.dumps(problem), flush=True)


if __name__ == "__main__":
    main()
