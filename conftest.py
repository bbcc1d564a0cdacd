"""How the tests run kernels: as plain Python, unless the environment says otherwise.

Compiling takes longer than nearly every test. Tests that are about compiled kernels are marked
``compiled``; ``make test`` gives them a run of their own, with ``NUMBA_DISABLE_JIT=0``.
"""

from __future__ import annotations

import os

os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # before numba is imported

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is about compiled kernels where nothing is compiled."""
    if os.environ["NUMBA_DISABLE_JIT"] == "0":
        return
    absent = pytest.mark.skip(reason="needs compiled kernels: NUMBA_DISABLE_JIT=0")
    for item in items:
        if item.get_closest_marker("compiled"):
            item.add_marker(absent)
