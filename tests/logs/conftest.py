"""A log in which every column is right."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from longrank import unit_rows

Rows = list[dict[str, Any]]


@pytest.fixture
def sound() -> Callable[[], Rows]:
    """Makes a log of three decisions in which every column is right."""

    def make() -> Rows:
        items = unit_rows(np.arange(1.0, 9.0).reshape(4, 2) * [[1, 1], [1, -1], [2, 1], [1, 3]])
        return [
            {
                "id": f"d{i}",
                "time": f"2026-01-0{i + 1}T12:00:00",
                "policy_version": "v1",
                "candidates": ["a", "b", "c", "d"],
                "items": items.tolist(),
                "order": ["c", "a"],
                "features": items[[2, 0]].tolist(),
                "tried": 2,
                "succeeded": i == 1,
                "rewards": [1.0, 0.5, 0.2],
                "losses": [0.0, -0.1, -0.2, -0.3],
                "budget": 3,
                "propensity": 0.05,
                "prefix_propensities": [0.3, 0.1],
            }
            for i in range(3)
        ]

    return make
