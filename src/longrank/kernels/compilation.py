"""How kernels are compiled: once, cached on disk, with IEEE arithmetic and no reordering."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

F = TypeVar("F", bound=Callable[..., object])
Kernel = Callable[..., Any]

log = logging.getLogger("longrank")

# No kernel is called from C: without that way into it, compiling takes a tenth less.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}

_FOLDER = Path(__file__).parent
_STAMP = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(_FOLDER.glob("*.py"))))


def compiled(function: F) -> F:
    """Compile on first use and cache; results are exact, operation by operation."""
    return _compiled(function, set())


def reordered(function: F) -> F:
    """Compile like :func:`compiled`, but let sums be reordered and products fused into them."""
    return _compiled(function, {"reassoc", "contract", "nsz"})


def orderly(function: F) -> F:
    """Compile like :func:`reordered`, for numbers that are known not to be NaN."""
    return _compiled(function, {"reassoc", "contract", "nsz", "nnan"})


def generic(function: F) -> F:
    """Inline a kernel that takes other kernels as arguments into each kernel that calls it.

    By itself it could not be cached: the address of an argument is new in every process.
    """
    return cast(F, numba.njit(inline="always", error_model="numpy", nogil=True)(function))


def compose(template: Kernel, **parts: Kernel) -> Kernel:
    """Compile a plain function whose global names ``parts`` are bound to kernels.

    The result is cached on disk under the names and the source files of its parts, so that a
    second process loads it. (Numba caches neither closures over kernels nor kernels as arguments
    in a way that another process finds again.)
    """
    return _composed(template, tuple(sorted(parts.items())))


@functools.lru_cache(maxsize=256)
def _composed(template: Kernel, parts: tuple[tuple[str, Kernel], ...]) -> Kernel:
    plain = {name: getattr(part, "py_func", part) for name, part in parts}
    names = [f"{name}={part.__module__}.{part.__qualname__}" for name, part in plain.items()]
    digest = hashlib.sha256(" ".join(names).encode()).hexdigest()[:16]
    name = f"{template.__name__}_{digest}"
    function = types.FunctionType(
        template.__code__, template.__globals__ | dict(parts), name, template.__defaults__
    )
    function.__module__, function.__qualname__ = template.__module__, name
    return _compiled(function, set(), *plain.values())


def _compiled(function: F, fastmath: set[str], *parts: Kernel) -> F:
    kernel: Any
    try:
        kernel = numba.njit(cache=True, fastmath=fastmath, **_OPTIONS)(function)
    except RuntimeError:  # no folder to write to: compiled anew in every process
        kernel = numba.njit(fastmath=fastmath, **_OPTIONS)(function)
        return cast(F, kernel)
    if hasattr(kernel, "_cache"):
        # Numba asks whether the file of a kernel has changed, but not those of the kernels that
        # it calls and that were compiled into it. So its cache has a version that tells all files:
        # that is read first, and what belongs to another one is not even looked at.
        cached = kernel._cache._cache_file
        cached._version = f"{cached._version} {_stamp(function, *parts)}"
        kernel._cache.load_overload = functools.partial(_load, kernel._cache)
    return cast(F, kernel)


def _load(cache: Any, *asked: Any) -> Any:
    """Load a kernel from the disk; None, so that it is made anew, if its files are damaged."""
    try:
        return type(cache).load_overload(cache, *asked)
    except Exception as error:  # truncated by a full disk or a power cut, say
        log.warning("a cached kernel in %s is damaged (%r): made anew", cache.cache_path, error)
        with contextlib.suppress(OSError):
            cache.flush()
        return None


def _stamp(*functions: Kernel) -> str:
    """A digest of the kernels of this folder, and of the files of functions from elsewhere."""
    stamp = _STAMP.copy()
    for file in sorted({Path(function.__code__.co_filename) for function in functions}):
        if file.parent != _FOLDER and file.exists():
            stamp.update(file.read_bytes())
    return stamp.hexdigest()


class _Notice(event.Listener):
    """Announce once in a process that kernels are being compiled, which can take seconds."""

    said = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__ or ""
        if self.said or not module.startswith("longrank."):
            return
        self.said = True
        text = "compiling for this machine, which takes some seconds and is kept for later"
        log.info(text)
        if not log.hasHandlers():  # otherwise standard error may be a log of another format
            print(f"longrank: {text}", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Required by numba; there is nothing to report."""


# Not sent for a kernel that comes from the disk.
event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
