"""CR(t) / t over the rounds: the demo's picture and the paper's Figure 2."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longrank.experiments.figures.style import LOOKS, empty, legend, panels, save

Curves = Mapping[str, NDArray[np.float64]]


def average_rewards(
    shown: Mapping[str, Curves | str], path: Path, columns: int = 3, width: float = 4.2
) -> list[Path]:
    """CR(t) / t of every policy, one panel per world and scenario; returns the files written.

    A panel that is a text says only that.
    """
    figure, axes = panels(-(-len(shown) // columns), columns, width, 0.74 * width)
    for axis, (title, curves) in zip(axes.flat, shown.items(), strict=False):
        axis.set_title(title, fontsize=10)
        if isinstance(curves, str):
            empty(axis, curves)
            continue
        for name, curve in curves.items():
            axis.plot(np.arange(1, len(curve) + 1), curve, label=name, linewidth=1.6, **LOOKS[name])
        late = [curve[len(curve) // 20 :] for curve in curves.values()]
        low, high = min(c.min() for c in late), max(c.max() for c in late)
        margin = 0.05 * (high - low) + 1e-9
        axis.set_ylim(low - margin, high + margin)  # the first rounds are all noise
        axis.set_xlabel("round t", fontsize=9)
        axis.set_ylabel("CR(t) / t", fontsize=9)
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    legend(figure)
    return save(figure, path)
