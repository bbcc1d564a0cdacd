"""Pictures that can be read in black and white, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longrank.errors import MissingExtra

Curves = Mapping[str, NDArray[np.float64]]

# One look per policy, everywhere: colours of equal lightness steps, told apart by dashes too.
LOOKS: dict[str, dict[str, object]] = {
    "Rand": {"color": "#999999", "linestyle": (0, (1, 1))},
    "Eps": {"color": "#e69f00", "linestyle": (0, (5, 1, 1, 1))},
    "C-UCB1": {"color": "#009e73", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
    "GL-CDCM": {"color": "#cc79a7", "linestyle": (0, (5, 2))},
    "Ind": {"color": "#0072b2", "linestyle": "-"},
    "Dep": {"color": "#d55e00", "linestyle": (0, (8, 2))},
}


def average_rewards(panels: Mapping[str, Curves], path: Path, columns: int = 3) -> list[Path]:
    """CR(t) / t of every policy, one panel per world and scenario; returns the files written."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("drawing", "experiments") from error
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.1 * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis, (title, curves) in zip(axes.flat, panels.items(), strict=False):
        for name, curve in curves.items():
            axis.plot(np.arange(1, len(curve) + 1), curve, label=name, linewidth=1.6, **LOOKS[name])
        late = [curve[len(curve) // 20 :] for curve in curves.values()]
        low, high = min(c.min() for c in late), max(c.max() for c in late)
        margin = 0.05 * (high - low) + 1e-9
        axis.set_ylim(low - margin, high + margin)  # the first rounds are all noise
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("round t", fontsize=9)
        axis.set_ylabel("CR(t) / t", fontsize=9)
        axis.grid(color="#dddddd", linewidth=0.6)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=len(labels),
        frameon=False,
        handlelength=4,
    )
    files = [path.with_suffix(".png"), path.with_suffix(".svg")]
    with rc_context({"svg.hashsalt": "longrank"}):  # the same curves give the same file
        figure.savefig(files[0], dpi=100)
        figure.savefig(files[1], metadata={"Date": None})
    return files
