"""Groups of bars that can be told apart in black and white."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from longrank.experiments.figures import panels, save

HATCHES = ("", "///", "...")
COLOURS = ("#0072b2", "#cfe3f1", "#f2c9a0")


def bars(
    groups: Sequence[str],
    series: dict[str, Sequence[float]],
    ylabel: str,
    path: Path,
    errors: dict[str, Sequence[float]] | None = None,
    lowest: float = 0.0,
    highest: float = 1.0,
) -> None:
    """Draw, and print the names of the files."""
    figure, axes = panels(1, 1, width=max(6.5, 1.0 + 0.95 * len(groups)), height=3.2)
    axis, width = axes[0, 0], 0.8 / len(series)
    for i, (name, values) in enumerate(series.items()):
        axis.bar(
            np.arange(len(groups)) + (i - (len(series) - 1) / 2) * width,
            values,
            width,
            yerr=None if errors is None else errors[name],
            capsize=2,
            label=name,
            color=COLOURS[i],
            hatch=HATCHES[i],
            edgecolor="black",
            linewidth=0.6,
        )
    axis.set_xticks(range(len(groups)), groups, fontsize=9)
    axis.set_ylabel(ylabel, fontsize=9)
    axis.set_ylim(lowest, highest)
    figure.legend(loc="outside lower center", ncols=len(series), frameon=False)
    print(*save(figure, path))
