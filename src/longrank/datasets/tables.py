"""The arrays of a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """Items to be ranked, and how likely each one is to succeed.

    Parameters
    ----------
    name
        The task.
    items
        Shape (n, d), rows of norm 1 (or 0, of an item of which nothing is known), shuffled.
    chances
        Shape (n,), the probability of success of each item; 0 or 1 where success is a label.
    embedding_items
        Shape (m, d), the items that the embedding was fitted to. They are not ranked: a mixture
        that is fitted to them has not peeked.
    labels
        Shape (n,), the classes, where the items have some.
    settings
        All that the arrays depend on, as plain numbers and text.
    """

    name: str
    items: Matrix
    chances: Vector
    embedding_items: Matrix
    labels: NDArray[np.int64] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.items)
