"""The arrays of a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InvalidInput

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """Items to be ranked, and how likely each one is to succeed; checked when it is made.

    Parameters
    ----------
    name
        The task.
    items
        Shape (n, d), finite, rows of norm 1 (or 0, if nothing is known of an item), shuffled.
    chances
        Shape (n,), the success probability of each item; 0 or 1 if success is a label.
    embedding_items
        Shape (m, d), the items that the embedding was fitted to. They are not ranked, so that
        topics can be fitted to them.
    labels
        Shape (n,), the classes, if the items have any.
    settings
        Everything that the arrays depend on, as plain numbers and text.
    """

    name: str
    items: Matrix
    chances: Vector
    embedding_items: Matrix
    labels: NDArray[np.int64] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("items", "embedding_items"):
            rows = getattr(self, name)
            if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype != np.float64:
                raise InvalidInput(name, "be an array of float64 of shape (n, d)", type(rows))
            if rows.shape[1] != self.items.shape[1]:
                raise InvalidInput(name, f"have {self.items.shape[1]} columns", rows.shape[1])
            squares = np.einsum("ij,ij->i", rows, rows)
            if not (squares <= 1.0 + 1e-9).all():
                raise InvalidInput(name, "be finite with rows of norm at most 1", squares.max())
        for name in ("chances", "labels"):
            values = getattr(self, name)
            if values is not None and np.shape(values) != (len(self.items),):
                rule = f"have shape ({len(self.items)},), one number per item"
                raise InvalidInput(name, rule, np.shape(values))
        if not ((self.chances >= 0.0) & (self.chances <= 1.0)).all():
            raise InvalidInput("chances", "be probabilities", self.chances)

    def __len__(self) -> int:
        return len(self.items)
