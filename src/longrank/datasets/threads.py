"""Matrix products in one thread: with several, the last bits depend on how many there are."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

from longrank.errors import MissingExtra


@contextmanager
def one_thread(what: str) -> Iterator[None]:
    """Run the block with one thread of linear algebra; ``what`` is named if that cannot be."""
    try:
        # scipy brings linear algebra of its own, and only what is loaded can be limited.
        importlib.import_module("scipy.linalg")
        control = importlib.import_module("threadpoolctl")
    except ImportError as error:
        raise MissingExtra(what, "experiments") from error
    with control.threadpool_limits(1):
        yield
