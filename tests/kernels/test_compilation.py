"""How a kernel is compiled."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

from longrank.kernels.compilation import compiled


def test_a_kernel_gives_what_its_function_gives():
    @compiled
    def twice(x: float) -> float:
        return 2.0 * x

    assert twice(1.5) == 3.0


def test_a_kernel_that_cannot_be_kept_on_disk_is_compiled_all_the_same():
    names: dict = {}
    exec("def twice(x):\n    return 2.0 * x", names)  # it stands in no file
    assert compiled(names["twice"])(1.5) == 3.0


def test_a_division_by_zero_is_infinite_as_in_numpy():
    @compiled
    def inverse(x: float) -> float:
        return np.float64(1.0) / x

    with np.errstate(divide="ignore"):
        assert inverse(0.0) == np.inf


def test_it_says_once_that_it_compiles_and_nothing_when_all_is_kept(tmp_path):
    code = "from longrank import kernels; kernels.probability(0, 0.5); kernels.probe_is_due(16)"

    def said(**more: str) -> str:
        own = {"NUMBA_DISABLE_JIT": "0", "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, env=os.environ | own | more, capture_output=True, text=True, check=True
        )
        assert done.stdout == ""
        return done.stderr

    assert said(NUMBA_DISABLE_JIT="1") == ""
    first = said()
    assert first.startswith("longrank: compiling")
    assert first.count("\n") == 1
    assert said() == ""


OWN = """
from longrank import kernels

@kernels.compiled
def weigh(state, rows, succeeded):
    state[0][0] += FACTOR * rows.shape[0]
"""
RUN = """
import numpy as np
import own
from longrank import Payoffs, Plain, kernels, named
from longrank.simulation import Stream, live
from longrank.kernels import Rule, Step, compose_run
stream = Stream(np.eye(2), np.array([0, 2]), np.array([False, True]))
live(named("ind", dim=2, max_budget=2), stream, Payoffs.vanilla(2))
weights = np.zeros(1)
step = Step(own.weigh, (weights, np.eye(1)))
run = compose_run(Rule(kernels.random_rule), Plain().compiled_selection(stream.items), step)
rewards, losses = np.ones(2), np.zeros(3)
run((stream.items, stream.starts, stream.wins), (np.ones(1, bool), np.array([0.2, 0.1])),
    (rewards, losses, losses), (weights, np.eye(1), 0, 1.0), step.state, (), 1.0,
    (np.empty(1), np.empty(1, int), np.empty(1, int)))
print(weights[0])
"""


def test_composed_runs_are_kept_on_disk_until_a_file_of_their_parts_changes(tmp_path):
    folders = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_DISABLE_JIT": "0"}
    own = tmp_path / "own.py"
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])

    def told(factor: float) -> tuple[str, str]:
        own.write_text(OWN.replace("FACTOR", str(factor)))
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            env=os.environ | folders | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip(), done.stderr

    said = "longrank: compiling"
    first, second, changed, again = told(2.0), told(2.0), told(3.0), told(3.0)
    assert first[0] == second[0] == "4.0"
    assert first[1].startswith(said)
    assert second[1] == ""
    assert changed[0] == again[0] == "6.0"
    assert changed[1].startswith(said)
    assert again[1] == ""


def test_what_others_compile_is_not_mentioned(capfd):
    import numba

    @numba.njit
    def twice(x: float) -> float:
        return 2.0 * x

    assert twice(1.5) == 3.0
    assert capfd.readouterr().err == ""
