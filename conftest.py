"""How the tests run kernels: as plain Python, unless a test is marked ``compiled``.

Compiling takes longer than nearly every test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

os.environ.setdefault("LONGRANK_KERNELS", "plain")  # also for the processes that tests start

import pytest

from longrank.kernels import compilation


@pytest.fixture(autouse=True)
def kernels_of_the_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the kernels of a test that is marked ``compiled`` compiled."""
    if request.node.get_closest_marker("compiled"):
        with compilation.using("compiled"):
            yield
    else:
        yield
