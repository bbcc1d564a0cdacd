"""Background compilation: load the compiled forms of interpreted kernels, or have them made first.

Nothing happens until plain Python has taken :data:`PATIENCE` seconds in this process, so a short
script neither imports numba nor starts a process. Then a thread takes what was wanted, the most
expensive first, loads it from numba's cache on disk, and asks a separate process of low priority
(:mod:`longrank.kernels.compiler`) for what is not there yet.
"""

import atexit
import contextlib
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


Load = Callable[[], bool]  # takes the compiled form from the disk, if it is there


class NoFolder(OSError):
    """There is no folder that a compiled form could be written to."""


class Behind:
    """Kernels that are wanted, ready or failed."""

    def __init__(self) -> None:
        self.wanted: dict[Job, tuple[float, Load]] = {}  # seconds spent without it
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
            with _short_turns():
                while (dearest := self._dearest()) is not None and available():
                    self.make(*dearest)
            with self._changed:
                self._changed.wait_for(lambda: self.wanted)

    def _dearest(self) -> tuple[Job, Load] | None:
        """Return the job that most time was spent without."""
        with self._changed:
            if not self.wanted:
                return None
            job = max(self.wanted, key=lambda each: self.wanted[each][0])
            return job, self.wanted[job][1]

    def make(self, job: Job, load: Load, waited_for: bool = False) -> bool:
        """Load a compiled form, compiling it first if necessary; return whether it is there."""
        if job not in self.ready and job not in self.failed:
            try:
                if not load():
                    self._announce(waited_for)
                    self._process.compile(job)
                    if not load():
                        raise OSError("its compiled form is not where it was written")
                self._done(job)
            except NoFolder as error:
                self.failed[job] = str(error)
                self.warn(str(error))
            except Exception as error:
                self.failed[job] = str(error)
                log.warning("kernel %s runs as plain Python, not compiled: %s", job, error)
        with self._changed:
            self.wanted.pop(job, None)
        return job in self.ready

    def _done(self, job: Job) -> None:
        with self._changed:
            self.ready.add(job)
            self.wanted.pop(job, None)

    def load_all(self) -> int:
        """Load what was wanted so far and is on the disk; return how many are not."""
        with self._changed:
            jobs = list(self.wanted.items()) if available() else []
        for job, (_, load) in jobs:
            with contextlib.suppress(NoFolder):
                if load():
                    self._done(job)
        return len(self.wanted)

    def make_all(self) -> Iterator[tuple[Job, int]]:
        """Compile what was wanted so far; yield each kernel with how many are left after it."""
        while self.wanted and available():
            job = next(iter(self.wanted))
            load = self.wanted[job][1]
            self.make(job, load)
            yield job, len(self.wanted)

    def _announce(self, waited_for: bool) -> None:
        """Say once that something is compiled, and once that somebody waits for it."""
        if waited_for not in self._announced:
            self._announced.add(waited_for)
            how = "which can take a minute, once" if waited_for else "in the background"
            log.info("compiling for this machine, %s", how)
            if waited_for and not log.hasHandlers():  # else it may be a log of another format
                print(f"longrank: compiling for this machine, {how}", file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """Say something once."""
        if text not in self._announced:
            self._announced.add(text)
            log.warning(text)


@contextlib.contextmanager
def _short_turns() -> Iterator[None]:
    """Let threads take turns more often.

    Importing numba lets go of the interpreter at each of thousands of files. If a busy program then
    keeps it for 5 ms, the default, that takes minutes.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, TURN))
    try:
        yield
    finally:
        if sys.getswitchinterval() < before:  # nobody else changed it
            sys.setswitchinterval(before)


class _Process:
    """The process that compiles; one job at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: subprocess.Popen[str] | None = None

    def compile(self, job: Job) -> None:
        with self._lock:
            if self._running is None or self._running.poll() is not None:
                self._leave()
                self._running = _spawn()
            inward, outward = self._running.stdin, self._running.stdout
            assert inward is not None
            assert outward is not None
            try:
                inward.write(json.dumps(job) + "\n")
                inward.flush()
                answer = outward.readline()
            except BrokenPipeError:
                answer = ""
        if not answer:
            raise ChildProcessError("the process that compiles has died")
        problem = json.loads(answer)
        if problem:
            raise RuntimeError(problem)

    def close(self) -> None:
        """Let it exit on its own once its current job is done."""
        if self._lock.acquire(blocking=False):
            self._leave()
            self._lock.release()
        elif self._running is not None and self._running.stdin is not None:
            self._running.stdin.close()  # a thread reads the other pipe, and would hold us up

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


def available() -> bool:
    """Return whether there is a compiler, and it may be used; does not import it."""
    disabled = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
    return not disabled and importlib.util.find_spec("numba") is not None


behind = Behind()


def _renew() -> None:
    """Forget the parent's thread and process after a fork."""
    global behind
    behind = Behind()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
atexit.register(lambda: behind._process.close())
