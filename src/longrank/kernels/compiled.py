"""How a kernel is compiled: once, kept on disk, with IEEE arithmetic and no reordering."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile on first use and cache; ``fastmath`` stays off so that results are exact."""
    return cast(F, numba.njit(cache=True, error_model="numpy", nogil=True)(function))
