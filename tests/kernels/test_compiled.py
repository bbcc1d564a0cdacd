"""How a kernel is compiled."""

from __future__ import annotations

import numpy as np

from longrank.kernels.compiled import compiled


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
