"""Background compilation: load the compiled forms of interpreted kernels, or have them made first.

Nothing happens until plain Python has taken :data:`PATIENCE` seconds in this process, so a short
script neither imports numba nor starts a process. Then a thread takes the requested kernels, the
most expensive first, loads them from numba's cache on disk, and has a separate process of low
priority (:mod:`longrank.kernels.compiler`) compile what is missing there.
"""

import atexit
import contextlib
import functools
import importlib.util
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 0.2  # seconds of plain Python before anything is compiled
TURN = 1e-4  # seconds that other threads run in one go while kernels are loaded
COMPILER = "LONGRANK_COMPILER"  # set in the environment of the process that compiles

log = logging.getLogger("longrank")


class Job(NamedTuple):
    """A kernel to compile, and the types of its arguments."""

    module: str
    name: str
    types: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.module.rpartition('.')[2]}.{self.name}"


Load = Callable[[], bool]  # loads the compiled form from the disk; False if it is missing there


class NoFolder(OSError):
    """There is no folder that a compiled form could be written to."""


class NoCompiler(ImportError):
    """There is no usable compiler."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"kernels run as plain Python, not compiled: {reason}")
        self.reason = reason


class Behind:
    """Kernels that are wanted, ready or failed."""

    def __init__(self) -> None:
        self.wanted: dict[Job, tuple[float, Load]] = {}  # with the seconds spent uncompiled
        self.ready: set[Job] = set()
        self.failed: dict[Job, str] = {}
        self.patience = PATIENCE
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._process = _Process()
        self._announced: set[bool | str] = set()

    def want(self, job: Job, load: Load, seconds: float) -> None:
        """Record that a kernel ran as plain Python for this many seconds."""
        if job in self.failed or job in self.ready:
            return
        with self._changed:
            spent, _ = self.wanted.get(job, (0.0, load))
            self.wanted[job] = spent + seconds, load
            self.patience -= seconds
            if self.patience <= 0.0:
                self._start()

    def begin(self) -> None:
        """Start compiling now instead of waiting for more evidence, as a service does."""
        with self._changed:
            self.patience = 0.0
            if self.wanted:
                self._start()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="longrank-kernels", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _work(self) -> None:
        while True:
            self.make(*self._next_job())

    def _next_job(self) -> tuple[Job, Load]:
        """Wait for a job; return the one that has cost the most time uncompiled."""
        with self._changed:
            self._changed.wait_for(lambda: self.wanted)
            job = max(self.wanted, key=lambda each: self.wanted[each][0])
            return job, self.wanted[job][1]

    def make(self, job: Job, load: Load, waited_for: bool = False) -> bool:
        """Load a compiled form, compiling it first if necessary; return whether it is ready."""
        if job not in self.ready and not self._load(job, load) and job not in self.failed:
            self._announce(waited_for)
            problem = self._process.compile(job)
            if not problem and not self._load(job, load):
                problem = "its compiled form is not where it was written"
            if problem and job not in self.failed:
                self.failed[job] = problem
                log.warning("kernel %s runs as plain Python, not compiled: %s", job, problem)
        with self._changed:
            self.wanted.pop(job, None)
        return job in self.ready

    def _load(self, job: Job, load: Load) -> bool:
        """Load a compiled form from the disk; return whether it was there."""
        if job in self.failed:
            return False
        with _loading, _short_turns():
            try:
                if not load():
                    return False
            except (NoCompiler, NoFolder) as error:  # the same for all kernels
                self.failed[job] = str(error)
                self.warn(str(error))
            except Exception as error:
                self.failed[job] = str(error)
                log.warning("kernel %s runs as plain Python, not compiled: %s", job, error)
            else:
                self.ready.add(job)
        with self._changed:
            self.wanted.pop(job, None)
        return job in self.ready

    def load_all(self) -> int:
        """Load requested kernels from the disk cache; return how many are missing there."""
        for job, (_, load) in list(self.wanted.items()):
            self._load(job, load)
        return len(self.wanted)

    def make_all(self) -> Iterator[tuple[Job, int]]:
        """Compile the requested kernels; yield each with the number of those left after it."""
        while self.wanted:
            job, (_, load) = next(iter(self.wanted.items()))
            self.make(job, load)
            yield job, len(self.wanted)

    def _announce(self, waited_for: bool) -> None:
        """Report once that kernels are compiled, and once that a call waits for one."""
        if waited_for not in self._announced:
            self._announced.add(waited_for)
            how = "which can take a minute, once" if waited_for else "in the background"
            log.info("compiling for this machine, %s", how)
            if waited_for and not log.hasHandlers():  # else it may be a log of another format
                print(f"longrank: compiling for this machine, {how}", file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """Warn once."""
        if text not in self._announced:
            self._announced.add(text)
            log.warning(text)


@contextlib.contextmanager
def _short_turns() -> Iterator[None]:
    """Shorten the interval after which a busy thread must give up the GIL.

    Importing numba releases the GIL at each of thousands of files. A busy program that then keeps
    it for 5 ms, the default, would draw this out to minutes.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, TURN))
    try:
        yield
    finally:
        if sys.getswitchinterval() < before:  # not changed elsewhere meanwhile
            sys.setswitchinterval(before)


class _Process:
    """The process that compiles; one job at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: subprocess.Popen[str] | None = None

    def compile(self, job: Job) -> str:
        """Wait until a job is done; return what went wrong, if anything."""
        problem, answered = "the process that compiles has died", False
        with self._lock:
            if self._running is None or self._running.poll() is not None:
                self._leave()
                try:
                    self._running = _spawn()
                except OSError as error:
                    return f"no process can be started that compiles: {error}"
            inward, outward = self._running.stdin, self._running.stdout
            assert inward is not None
            assert outward is not None
            try:
                inward.write(json.dumps(job) + "\n")
                inward.flush()
                problem, answered = json.loads(outward.readline()), True
            except (BrokenPipeError, ValueError):
                pass
            finally:
                if not answered:  # interrupted, say: the next answer must not be that to this job
                    self._leave()
        return problem

    def close(self) -> None:
        """Let it exit on its own once its current job is done."""
        if self._lock.acquire(blocking=False):
            self._leave()
            self._lock.release()
        elif self._running is not None and self._running.stdin is not None:
            self._running.stdin.close()  # not the other pipe: a thread reads it

    def _leave(self) -> None:
        process, self._running = self._running, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]
            if process.poll() is None:
                process.returncode = 0  # not waited for, on purpose


def _spawn() -> subprocess.Popen[str]:
    package = str(Path(__file__).parents[2])
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "longrank.kernels.compiler"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {COMPILER: "1", "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C must not reach it
    )


def obstacle() -> str:
    """Return why there is no usable compiler, as far as can be seen without importing it."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return "NUMBA_DISABLE_JIT is set"
    if importlib.util.find_spec("numba") is None:
        return "numba is not installed (pip install numba)"
    if not sys.executable or getattr(sys, "frozen", False):
        return "no Python interpreter is known that could compile"
    return ""


def import_numba() -> Any:
    """Import numba, or raise :class:`NoCompiler`."""
    if reason := obstacle() or _import_problem():
        raise NoCompiler(reason)
    return sys.modules["numba"]


@functools.cache  # a failed import is not repeated for every kernel
def _import_problem() -> str:
    try:
        importlib.import_module("numba")
    except Exception as error:  # built for another numpy, say
        return f"numba cannot be imported ({error})"
    return ""


behind = Behind()
_loading = threading.RLock()  # held while a kernel is loaded


def _renew() -> None:
    """Forget the parent's thread, process and lock after a fork."""
    global behind, _loading
    behind, _loading = Behind(), threading.RLock()


if hasattr(os, "register_at_fork"):  # no fork while a thread imports numba, or holds its locks
    os.register_at_fork(
        before=lambda: _loading.acquire(),
        after_in_parent=lambda: _loading.release(),
        after_in_child=_renew,
    )
atexit.register(lambda: behind._process.close())
