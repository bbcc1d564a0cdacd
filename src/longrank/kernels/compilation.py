"""Kernels: plain Python that runs at once, and is replaced by compiled code when that is ready.

The time that interpreted kernels take is reported to :mod:`longrank.kernels.behind`, which loads
their compiled forms from numba's cache on disk, or has a separate process compile them there.
Both give the same results, bit for bit: compiled arithmetic is IEEE, and is not reordered.

The environment variable ``LONGRANK_KERNELS`` chooses: ``auto`` (as above), ``plain`` (never
compiled) or ``compiled`` (the first call waits for the compiler). Without numba, or with
``NUMBA_DISABLE_JIT=1``, the mode is ``plain``.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from longrank.errors import InvalidInput
from longrank.kernels import behind as background
from longrank.kernels.behind import COMPILER, Job, NoCompiler, NoFolder, import_numba

F = TypeVar("F", bound=Callable[..., object])
Function = Callable[..., Any]
Types = tuple[Any, ...]  # of arguments, as :func:`describe` gives them

log = logging.getLogger("longrank")

MODES = ("auto", "plain", "compiled")
LARGE = 1 << 18  # numbers in an array from which plain Python would take about a second
_FOLDER = Path(__file__).parent


class Kernel(functools.partial[Any]):
    """A function of plain arrays and numbers, interpreted or compiled.

    A call goes to ``func`` without a Python function in between; :meth:`run` replaces it.
    """

    every: ClassVar[list[Kernel]] = []
    plain: Function
    fastmath: frozenset[str]

    def __new__(cls, plain: Function, fastmath: frozenset[str]) -> Kernel:
        if plain.__defaults__:
            raise TypeError(f"a kernel has no default values: {plain.__qualname__}")
        kernel = super().__new__(cls, plain)
        kernel.plain, kernel.fastmath, kernel._dispatcher = plain, fastmath, None
        kernel.run(_FIRST[mode()](kernel))
        cls.every.append(kernel)
        return kernel

    _dispatcher: Any

    def run(self, function: Function) -> None:
        """Direct calls to this function from now on."""
        self.__setstate__((function, (), {}, vars(self)))  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"<kernel {self.plain.__module__}.{self.plain.__qualname__}>"

    def interpret(self, *arguments: Any) -> Any:
        """Run as plain Python and report the time, which includes the kernels called."""
        if _thread.interpreting:
            return self.plain(*arguments)
        if (mode() == "auto" or _obstacle) and _size(arguments) >= LARGE:
            if not _obstacle:
                return self.wait(*arguments)
            background.behind.warn(f"{_SLOW}: {_obstacle}")
        _thread.interpreting, start = True, time.perf_counter()
        try:
            with np.errstate(all="ignore"):  # compiled code does not warn either
                return self.plain(*arguments)
        finally:
            _thread.interpreting = False
            if mode() == "auto":
                job = self.job(arguments)
                background.behind.want(job, self._loader(job), time.perf_counter() - start)

    def wait(self, *arguments: Any) -> Any:
        """Run the compiled form, waiting until it is ready."""
        job = self.job(arguments)
        if not background.behind.make(job, self._loader(job), waited_for=True):
            with np.errstate(all="ignore"):
                return self.plain(*arguments)
        return self._dispatcher(*arguments)

    def job(self, arguments: tuple[Any, ...]) -> Job:
        """Return what to compile for these arguments."""
        return Job(self.plain.__module__, self.plain.__qualname__, describe(arguments))

    def _loader(self, job: Job) -> Callable[[], bool]:
        return functools.partial(self.load, job.types)

    def load(self, types: Types) -> bool:
        """Load the compiled form for these types from the disk; return whether it was there.

        Only one thread at a time may do so.
        """
        try:
            if self._dispatcher is None:
                made = dispatcher(self.plain, self.fastmath)
                # Numba calls these where it has no compiled form: to get one, and to make it.
                made._compile_for_args = self._missed
                made._compiler.compile = _refuse
                self._dispatcher = made
            self._dispatcher.compile(numba_types(types))
        except _NotOnDisk:
            if self._dispatcher.read_only:
                raise NoFolder(_NO_FOLDER) from None
            return False
        except NoCompiler as error:
            _go_without(error.reason)
            raise
        if mode() != "plain":
            self.run(self._dispatcher)
        return True

    def _missed(self, *_: Any) -> Function:
        return self.wait if mode() == "compiled" else self.interpret


def compiled(function: F) -> F:
    """Make a kernel; results are exact, operation by operation."""
    return _kernel(function)


def reordered(function: F) -> F:
    """Make a kernel whose sums may be reordered, and products fused into them, when compiled.

    For bounds that are checked afterwards: no state and no ranking may depend on the last bits.
    """
    return _kernel(function, "reassoc", "contract", "nsz")


def orderly(function: F) -> F:
    """Make a kernel like :func:`reordered`, for numbers that are known not to be NaN."""
    return _kernel(function, "reassoc", "contract", "nsz", "nnan")


def _kernel(function: F, *fastmath: str) -> F:
    if COMPILER in os.environ:  # the process that compiles: kernels call each other's
        return cast(F, dispatcher(function, frozenset(fastmath)))
    return cast(F, Kernel(function, frozenset(fastmath)))


def mode() -> str:
    """Return how kernels run: one of :data:`MODES`."""
    return _mode


def prepare() -> None:
    """Load requested kernels from the disk cache; compile the others in the background."""
    if mode() == "auto":
        background.behind.load_all()
        background.behind.begin()


@contextlib.contextmanager
def using(name: str) -> Iterator[None]:
    """Run kernels in this mode for a while, in all threads; for tests and measurements."""
    before = mode()
    _set_mode(name)
    try:
        yield
    finally:
        _set_mode(before)


def _set_mode(name: str) -> None:
    global _mode
    if name not in MODES:
        raise InvalidInput("mode", f"be one of {', '.join(MODES)}", repr(name))
    _mode = name
    for kernel in Kernel.every:
        compiled = name != "plain" and kernel._dispatcher is not None
        kernel.run(kernel._dispatcher if compiled else _FIRST[name](kernel))


def _go_without(obstacle: str) -> None:
    """Run kernels as plain Python from now on, since there is no usable compiler."""
    global _obstacle
    _obstacle = obstacle
    _set_mode("plain")


_FIRST: dict[str, Callable[[Kernel], Function]] = {
    "auto": lambda kernel: kernel.interpret,
    "plain": lambda kernel: kernel.interpret,
    "compiled": lambda kernel: kernel.wait,
}
_mode = "auto"
_obstacle = ""  # why there is no usable compiler


class _Thread(threading.local):
    interpreting = False


_thread = _Thread()


class _NotOnDisk(Exception):
    pass


_SLOW = "a large array runs as plain Python, which may take minutes"
_NO_FOLDER = (
    "no folder for compiled kernels can be written, so those that were not compiled before run as "
    "plain Python: set NUMBA_CACHE_DIR to a folder that can"
)


def _refuse(*_: Any) -> None:
    raise _NotOnDisk


def dispatcher(function: Function, fastmath: frozenset[str]) -> Any:
    """Return numba's dispatcher of a function; its cache on disk depends on its callees too."""
    kernel = import_numba().njit(
        fastmath=set(fastmath),
        error_model="numpy",
        nogil=True,
        no_cfunc_wrapper=True,  # no kernel is called from C: a tenth less to compile
    )(function)
    kernel.read_only = False
    try:
        kernel.enable_caching()
    except RuntimeError:  # numba wants a folder that can be written, even to read from it
        with _reading_only():
            kernel.enable_caching()
        kernel.read_only = True
    # Numba checks whether the file of a kernel has changed, but not the files of the kernels that
    # it calls and that were compiled into it. So the version of its cache covers all files: it is
    # read first, and entries of other versions are ignored.
    files = kernel._cache._cache_file
    files._version = f"{files._version} {_stamp()}"
    kernel._cache.load_overload = functools.partial(_load, kernel._cache)
    return kernel


@contextlib.contextmanager
def _reading_only() -> Iterator[None]:
    """Let numba use a cache that was filled before, though its folder cannot be written."""
    from numba.core import caching

    locator: Any = caching._CacheLocator
    before = locator.ensure_cache_path
    locator.ensure_cache_path = _ensure_filled
    try:
        yield
    except RuntimeError as error:
        raise NoFolder(_NO_FOLDER) from error
    finally:
        locator.ensure_cache_path = before


def _ensure_filled(locator: Any) -> None:
    path = locator.get_cache_path()
    if not any(Path(path).glob("*.nbi")):
        raise FileNotFoundError(path)


def count_on_disk() -> tuple[int, str]:
    """Count the kernels that are compiled for this processor on disk, and return their folder.

    The folder is an empty text if no cache can be used.
    """
    import_numba()
    from numba.core.registry import cpu_target

    target, count, folder = cpu_target.target_context.codegen().magic_tuple(), 0, ""
    for kernel in Kernel.every:
        with contextlib.suppress(NoFolder):
            cache = dispatcher(kernel.plain, kernel.fastmath)._cache
            folder = cache.cache_path
            with contextlib.suppress(Exception):  # a damaged index: it will be recompiled
                count += any(key[1] == target for key in cache._cache_file._load_index())
    return count, folder


@functools.cache
def _stamp() -> str:
    """Return a digest of all kernels."""
    files = (file.read_bytes() for file in sorted(_FOLDER.glob("*.py")))
    return hashlib.sha256(b"".join(files)).hexdigest()


def _load(cache: Any, *wanted: Any) -> Any:
    """Load a kernel from the disk; None, so that it is recompiled, if its files are damaged."""
    try:
        return type(cache).load_overload(cache, *wanted)
    except Exception as error:  # truncated by a full disk or a power cut, say
        log.warning("a cached kernel in %s is damaged (%r): recompiled", cache.cache_path, error)
        with contextlib.suppress(OSError):
            cache.flush()
        return None


def describe(arguments: tuple[Any, ...]) -> Types:
    """Return the types of arguments as numba distinguishes them, as plain tuples and texts."""
    return tuple(map(_describe, arguments))


def _describe(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return "array", value.dtype.str, value.ndim, layout, bool(flags.writeable)
    if isinstance(value, np.generic):
        return "scalar", value.dtype.str
    if isinstance(value, tuple):
        own = type(value)
        name = None if own is tuple else f"{own.__module__}:{own.__qualname__}"
        return "tuple", name, tuple(map(_describe, value))
    return type(value).__name__


def numba_types(types: Types) -> tuple[Any, ...]:
    """Return numba's own description of these types."""
    typeof = import_numba().typeof
    return tuple(typeof(_example(each)) for each in types)


def _example(described: Any) -> Any:
    """Make a value of a type; its tuples may be lists, as JSON has only those."""
    if isinstance(described, str):
        return _PLAIN[described]
    kind, name, *more = described
    if kind == "scalar":
        return np.zeros((), name)[()]
    if kind == "tuple":
        parts = tuple(map(_example, more[0]))
        if name is None:
            return parts
        module, _, own = name.partition(":")
        return getattr(importlib.import_module(module), own)(*parts)
    ndim, layout, writeable = more
    array = np.zeros((2,) * ndim, name, "F" if layout == "F" else "C")
    if layout == "A":
        array = np.zeros((4,) * ndim, name)[(slice(None, None, 2),) * ndim]
    array.setflags(write=writeable)
    return array


_PLAIN: dict[str, Any] = {"int": 1, "float": 1.0, "bool": True, "NoneType": None}


def _size(arguments: tuple[Any, ...]) -> int:
    return max((each.size for each in arguments if isinstance(each, np.ndarray)), default=0)


_chosen = os.environ.get("LONGRANK_KERNELS", "").lower() or "auto"
if _chosen not in MODES:
    warnings.warn(
        f"LONGRANK_KERNELS must be one of {', '.join(MODES)}, got {_chosen!r}: auto is used",
        stacklevel=2,
    )
    _chosen = "auto"
_set_mode(_chosen)
if _chosen != "plain" and (_found := background.obstacle()):
    _go_without(_found)
    if _chosen == "compiled":
        background.behind.warn(str(NoCompiler(_found)))
