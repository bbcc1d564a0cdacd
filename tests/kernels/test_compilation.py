"""Kernels are interpreted at once, and compiled in the background."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import NamedTuple

import numba
import numpy as np
import pytest

from longrank.errors import InvalidInput
from longrank.kernels import behind as background
from longrank.kernels import compilation
from longrank.kernels.behind import TURN, Behind, Job
from longrank.kernels.compilation import Kernel, compiled, describe, numba_types, using
from longrank.kernels.length import best_length, probe_is_due
from longrank.kernels.ranking import worst_row

FIVE_LINES = """
from longrank import Outcome, Payoffs, recommended
policy = recommended()
routes = [{"id": "adyen", "cost": 0.22}, {"id": "stripe", "cost": 0.40}]
worth = Payoffs.linear(2, success=2.40, attempt_cost=0.0, give_up=-0.20)
ranking = policy.rank(routes, worth, context={"brand": "visa", "amount": 120.0})
policy.learn(ranking, Outcome(tried=1, succeeded=True))
"""
# As where a folder cannot be written; root may write everywhere.
READ_ONLY = """
import tempfile
def refuse(*_, **__): raise PermissionError("read-only")
tempfile.TemporaryFile = refuse
"""
# A kernel is called until its compiled form has taken over.
UNTIL_COMPILED = """
import logging, sys, time
logging.basicConfig(level=logging.INFO, stream=sys.stderr)
from longrank.kernels.behind import behind
from longrank.kernels.length import probe_is_due
behind.begin()
first, end = probe_is_due(16), time.monotonic() + 600
while not behind.ready and not behind.failed and time.monotonic() < end:
    assert probe_is_due(16) == first
assert behind.ready and not behind.failed, behind.failed
assert probe_is_due.func is not probe_is_due.interpret
assert probe_is_due(16) == first
"""


UNCOMPILED = """
from longrank.kernels.compilation import mode
assert mode() == "plain" and behind._thread is None and not behind.wanted
"""
# As where the installed numba is for another numpy.
UNUSABLE = """
import sys
class Broken:
    def find_spec(self, name, *_):
        if name == "numba.core.config": raise ImportError("Numba needs NumPy 2.3 or less")
sys.meta_path.insert(0, Broken())
from longrank.kernels.behind import behind
behind.patience = float("inf")
"""


def run(code: str, **more: str) -> str:
    """Run a script in another process; return what it said on standard error."""
    own = {"LONGRANK_KERNELS": "auto", "NUMBA_DISABLE_JIT": "0"} | more
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=os.environ | own, capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_kernel_gives_what_its_function_gives_and_has_no_defaults():
    @compiled
    def scaled(x: float, factor: float) -> float:
        return factor * x

    for name in ("plain", "auto"):
        with using(name):
            assert scaled(1.5, 3.0) == 4.5
    with pytest.raises(TypeError, match="a kernel has no default values"):

        @compiled
        def defaulted(x: float, factor: float = 2.0) -> float:
            return factor * x


class Counted:
    """A lock that knows how often it was asked for."""

    def __init__(self):
        self.lock, self.asked = threading.Lock(), threading.Semaphore(0)

    def __enter__(self):
        self.asked.release()
        self.lock.acquire()

    def __exit__(self, *_):
        self.lock.release()


def test_threads_that_need_a_kernel_at_once_share_its_dispatcher(monkeypatch):
    made, lock, dispatcher = [], Counted(), compilation.dispatcher

    def when_both_ask(*given):
        for _ in range(0 if made else 2):
            assert lock.asked.acquire(timeout=120)
        made.append(dispatcher(*given))
        return made[-1]

    monkeypatch.setattr(compilation, "dispatcher", when_both_ask)
    monkeypatch.setattr(background, "_loading", lock)
    kernel = Kernel(probe_is_due.plain, frozenset())
    Kernel.every.remove(kernel)
    job = kernel.job((16,)), kernel._loader(kernel.job((16,)))
    threads = [threading.Thread(target=Behind()._load, args=job) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [kernel._dispatcher]


def test_a_decision_imports_no_numba_and_starts_no_process():
    run(
        FIVE_LINES
        + "import sys; from longrank.kernels.behind import behind\n"
        + "assert 'numba' not in sys.modules and behind._thread is None and behind.wanted"
    )


def test_everything_works_without_numba():
    absent = "import sys; sys.modules['numba'] = None\n"
    absent += "import importlib.util as u; was = u.find_spec\n"
    absent += "u.find_spec = lambda name, *more: None if name == 'numba' else was(name, *more)\n"
    begun = "from longrank.kernels.behind import behind; behind.begin()\n"
    run(absent + begun + FIVE_LINES + UNCOMPILED)


def test_without_a_usable_compiler_no_thread_is_started_and_a_large_array_warns_once():
    large = "import numpy as np; from longrank.kernels.ranking import worst_row\n"
    large += "[worst_row(np.ones((8, 1 << 15))) for _ in range(2)]\n"
    begun = "from longrank.kernels.behind import behind; behind.begin()\n"
    for chosen in ("auto", "compiled"):
        code = begun + FIVE_LINES + UNCOMPILED + large
        warned = run(code, LONGRANK_KERNELS=chosen, NUMBA_DISABLE_JIT="1")
        assert warned.count("not compiled: NUMBA_DISABLE_JIT is set") == (chosen == "compiled")
        assert warned.count("a large array runs as plain Python") == 1
    frozen = "import sys; sys.executable = ''\n" + begun + FIVE_LINES + UNCOMPILED
    assert run(frozen) == ""


def test_a_numba_that_cannot_be_imported_is_reported_once(tmp_path):
    expected = "not compiled: numba cannot be imported (Numba needs NumPy 2.3 or less)"
    for chosen in ("auto", "compiled"):
        code = UNUSABLE + FIVE_LINES + "from longrank.kernels.compilation import prepare\n"
        warned = run(code + "prepare()" + UNCOMPILED, LONGRANK_KERNELS=chosen)
        assert warned.count(expected) == len(warned.splitlines()) == 1
    for command in ("doctor", "warm"):
        code = UNUSABLE + "from longrank.cli import main; from contextlib import suppress\n"
        code += f"sys.argv = ['longrank', {command!r}]; sys.stdout = sys.stderr\n"
        shown = run(code + "with suppress(SystemExit): main()", LONGRANK_STORE=str(tmp_path / "x"))
        assert "numba cannot be imported" in shown
        assert "Traceback" not in shown


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_waits_for_a_kernel_that_is_loaded_and_its_child_compiles_on_its_own():
    code = """
import os, threading
from longrank.kernels import behind
from longrank.kernels.behind import Behind, Job
parent, entered, go, loaded = behind.behind, threading.Event(), threading.Event(), []
def load():
    entered.set()
    assert go.wait(120)
    loaded.append(1)
    return True
thread = threading.Thread(target=parent.make, args=(Job("m", "k", ()), load))
thread.start()
assert entered.wait(120)
os.register_at_fork(before=go.set)  # runs before the hooks that were registered earlier
child = os.fork()
if not child:
    own = behind.behind
    os._exit(0 if loaded and own is not parent and own.make(Job("m", "j", ()), load) else 1)
assert os.waitpid(child, 0)[1] == 0
thread.join(120)
assert parent.make(Job("m", "j", ()), load)
"""
    run(code)


def test_an_interrupted_wait_does_not_shift_later_answers():
    class Interrupted:
        """A pipe whose first answer is interrupted by a signal."""

        def __init__(self, pipe):
            self.pipe, self.close = pipe, pipe.close

        def readline(self):
            raise TimeoutError

    jobs, job = Behind(), Job("longrank.kernels.length", "of_no_kernel", ())
    jobs._process._running = started = background._spawn()
    started.stdout = Interrupted(started.stdout)
    with pytest.raises(TimeoutError):
        jobs.make(job, lambda: False)
    assert job not in jobs.failed
    other = Job("longrank.kernels.length", "another", ())
    assert not jobs.make(other, lambda: False)
    assert "no attribute 'another'" in jobs.failed[other]
    jobs._process.close()


class Pair(NamedTuple):
    first: np.ndarray
    second: float


FROZEN = np.zeros(3)
FROZEN.setflags(write=False)


def test_types_are_those_of_numba():
    flat, square = np.zeros(4), np.zeros((4, 4))
    arrays = flat, np.zeros((2, 3), np.float32), square[:2].T, square[::2, ::2], flat[::2], FROZEN
    arrays += np.zeros((0, 3)), np.zeros(2, np.uint64), np.zeros(2, bool)
    scalars = 1, 1.0, True, np.int64(3), np.uint64(3), np.float32(1.0), np.bool_(True)
    for value in (*scalars, *arrays, (1, flat), Pair(flat, 1.0), ((flat, 1), FROZEN)):
        assert numba_types(describe((value,))) == (numba.typeof(value),)


def test_a_mode_that_does_not_exist_is_refused():
    with pytest.raises(InvalidInput, match="mode must be one of auto, plain, compiled"):
        compilation._set_mode("fast")
    code = "import sys; from longrank.kernels.compilation import mode; sys.stderr.write(mode())"
    for text in ("", "AUTO"):
        assert run(code, LONGRANK_KERNELS=text) == "auto"
    warned = run(code, LONGRANK_KERNELS="fast")
    assert "must be one of auto, plain, compiled, got 'fast'" in warned
    assert warned.endswith("auto")


def test_short_scripts_never_compile_and_long_ones_do():
    jobs, job = Behind(), Job("m", "f", ())
    started = []
    jobs._start = lambda: started.append(1)
    for _ in range(4):
        jobs.want(job, lambda: True, 0.06)
    assert started == [1]
    assert jobs.wanted[job][0] == pytest.approx(0.24)


def test_threads_take_short_turns_while_a_kernel_is_loaded_but_not_while_it_is_compiled():
    turns, jobs, before = [], Behind(), sys.getswitchinterval()

    def load():
        turns.append(sys.getswitchinterval())
        return len(turns) == 3

    jobs._process.compile = lambda _: load() and ""
    assert jobs.make(Job("m", "k", ()), load)
    assert turns == [pytest.approx(TURN), before, pytest.approx(TURN)]
    assert sys.getswitchinterval() == before


def test_what_cannot_be_compiled_is_said_once_and_a_compiler_that_dies_is_replaced(caplog):
    jobs, job = Behind(), Job("longrank.kernels.length", "nothing_of_this_name", ())
    for _ in range(2):
        assert not jobs.make(job, lambda: False)
    assert [record.message for record in caplog.records if "plain Python" in record.message] == [
        "kernel length.nothing_of_this_name runs as plain Python, not compiled: AttributeError: "
        "module 'longrank.kernels.length' has no attribute 'nothing_of_this_name'"
    ]
    jobs._process._running.kill()
    jobs._process._running.wait()
    jobs.make(Job("longrank.kernels.length", "gone", ()), lambda: False)
    assert "no attribute 'gone'" in caplog.text
    jobs._process.close()


def test_it_is_compiled_in_the_background_said_once_and_loaded_the_next_time(tmp_path):
    first = run(UNTIL_COMPILED, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.count("compiling for this machine, in the background") == 1
    assert "compiling" not in run(UNTIL_COMPILED, NUMBA_CACHE_DIR=str(tmp_path))
    for suffix, length in (("nbc", 0.5), ("nbi", 0)):
        for file in tmp_path.rglob(f"*.{suffix}"):
            os.truncate(file, int(length * file.stat().st_size))
        again = run(UNTIL_COMPILED, NUMBA_CACHE_DIR=str(tmp_path))
        assert "is damaged" in again
        assert "compiling for this machine" in again


def test_a_damaged_index_counts_as_not_compiled(tmp_path):
    compile_one = UNTIL_COMPILED + "from longrank.kernels.compilation import count_on_disk\n"
    run(compile_one + "assert count_on_disk()[0] == 1", NUMBA_CACHE_DIR=str(tmp_path))
    for file in tmp_path.rglob("*.nbi"):
        os.truncate(file, 0)
    counted = "from longrank.kernels.compilation import count_on_disk\nimport longrank\n"
    run(counted + "assert count_on_disk()[0] == 0", NUMBA_CACHE_DIR=str(tmp_path))


def test_a_filled_cache_is_read_where_no_folder_can_be_written(tmp_path):
    run(UNTIL_COMPILED, NUMBA_CACHE_DIR=str(tmp_path))
    assert "no folder" not in run(READ_ONLY + UNTIL_COMPILED, NUMBA_CACHE_DIR=str(tmp_path))
    code = "import numpy as np\nfrom longrank.kernels.length import best_length, probe_is_due\n"
    code += "assert probe_is_due(16) and not probe_is_due(17)\n" * 2
    code += "best_length(np.ones(1), np.ones(1), np.zeros(2), 1.0)"
    warned = run(READ_ONLY + code, LONGRANK_KERNELS="compiled", NUMBA_CACHE_DIR=str(tmp_path))
    assert warned.count("no folder for compiled kernels can be written") == 1


@pytest.mark.compiled
def test_compiled_kernels_wait_for_the_compiler_and_so_do_large_arrays():
    p, rewards, losses = np.array([0.5, 0.2]), np.array([1.0, 0.5]), np.array([0.0, -0.1, -0.2])
    with using("plain"):
        expected = best_length(p, rewards, losses, 1.0)
    with using("compiled"):
        assert best_length(p, rewards, losses, 1.0) == expected
        assert probe_is_due(16) == probe_is_due.plain(16)
        assert best_length._dispatcher.overloads
        with using("auto"):  # of other types, so interpreted
            turned = p[::-1], rewards, losses, 1.0
            assert best_length(*turned) == best_length.plain(*turned)
    with using("auto"):
        assert worst_row(np.ones((compilation.LARGE // 4, 4))) == (0, 4.0)
        assert worst_row._dispatcher.overloads


def test_a_call_that_waits_for_the_compiler_says_so(tmp_path):
    code = "from longrank.kernels import length; length.probe_is_due(16)"
    said = run(code, LONGRANK_KERNELS="compiled", NUMBA_CACHE_DIR=str(tmp_path))
    assert said == "longrank: compiling for this machine, which can take a minute, once\n"


def test_all_kernels_are_known_by_the_name_of_their_module():
    for kernel in Kernel.every:
        name = kernel.plain.__qualname__
        if kernel.plain.__module__.startswith("longrank."):
            assert getattr(sys.modules[kernel.plain.__module__], name) is kernel
