"""One thread for matrix products: the last bits depend on the number of threads."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

from longrank.errors import MissingExtra


@contextmanager
def one_thread(what: str) -> Iterator[None]:
    """Run the block with one thread of linear algebra; ``what`` is named in errors."""
    try:
        # scipy has its own linear algebra, and only loaded libraries can be limited.
        importlib.import_module("scipy.linalg")
        control = importlib.import_module("threadpoolctl")
    except ImportError as error:
        raise MissingExtra(what, "experiments") from error
    with control.threadpool_limits(1):
        yield
