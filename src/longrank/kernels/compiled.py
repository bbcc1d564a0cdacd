"""How a kernel is compiled: once, kept on disk, with IEEE arithmetic and no reordering."""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

F = TypeVar("F", bound=Callable[..., object])

_FILES = sorted(Path(__file__).parent.glob("*.py"))
_STAMP = hashlib.sha256(b"".join(file.read_bytes() for file in _FILES)).hexdigest()


def compiled(function: F) -> F:
    """Compile on first use and cache; results are exact, operation by operation."""
    return _compiled(function, set())


def reordered(function: F) -> F:
    """The same, but sums may be reordered and products fused into them."""
    return _compiled(function, {"reassoc", "contract", "nsz"})


def orderly(function: F) -> F:
    """The same, for numbers that are known not to be NaN."""
    return _compiled(function, {"reassoc", "contract", "nsz", "nnan"})


def _compiled(function: F, fastmath: set[str]) -> F:
    kernel: Any
    try:
        kernel = numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=fastmath)(
            function
        )
    except RuntimeError:  # no folder to write to: compiled anew in every process
        kernel = numba.njit(error_model="numpy", nogil=True, fastmath=fastmath)(function)
        return cast(F, kernel)
    if hasattr(kernel, "_cache"):
        # Numba asks whether the file of a kernel has changed, but not those of the kernels that
        # it calls and that were compiled into it. So the stamp of its cache is that of all files.
        kernel._cache._cache_file._source_stamp = _STAMP
    return cast(F, kernel)


class _Notice(event.Listener):
    """Says once in a process that a kernel is being compiled, which can take seconds."""

    said = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__ or ""
        if self.said or not module.startswith("longrank."):
            return
        self.said = True
        text = "compiling for this machine, which takes some seconds and is kept for later"
        logging.getLogger("longrank").info(text)
        print(f"longrank: {text}", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Numba asks for it; there is nothing to say."""


# Not sent for a kernel that comes from the disk.
event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
