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


def test_what_others_compile_is_not_mentioned(capfd):
    import numba

    @numba.njit
    def twice(x: float) -> float:
        return 2.0 * x

    assert twice(1.5) == 3.0
    assert capfd.readouterr().err == ""
