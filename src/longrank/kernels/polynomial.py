"""Polynomial features."""

import math

import numpy as np
from numpy.typing import NDArray

from longrank.kernels.compilation import compiled


@compiled
def expand(items: NDArray[np.floating], squares: bool) -> NDArray[np.float64]:
    """Expand items to [x, 1], with ``squares`` followed by x_i^2 and sqrt(2) x_i x_j. O(k d^2).

    The factor makes the norm of the last part |x|^2, whatever the axes.
    """
    k, d = items.shape
    width = d + 1 + (d * (d + 1) // 2 if squares else 0)
    rows = np.empty((k, width))
    for item in range(k):
        for i in range(d):
            rows[item, i] = items[item, i]
        rows[item, d] = 1.0
        if squares:
            at = d + 1
            for i in range(d):
                own = rows[item, i]
                rows[item, at] = own * own
                for j in range(i + 1, d):
                    rows[item, at + j - i] = math.sqrt(2.0) * own * rows[item, j]
                at += d - i
    return rows
