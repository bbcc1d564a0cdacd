"""A measure of every policy over the budgets: running time, length."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from longrank.experiments.figures.style import LOOKS, MARKERS, legend, panels, save

Measured = Mapping[str, Mapping[int, float]]  # policy -> budget -> value


def over_budgets(
    shown: Mapping[str, Measured], path: Path, measure: str, log: bool = False
) -> list[Path]:
    """One panel for each scenario, one line for each policy; returns the files written."""
    figure, axes = panels(1, max(len(shown), 1), height=3.4, sharey=True)
    budgets = sorted({b for lines in shown.values() for line in lines.values() for b in line})
    for axis, (title, lines) in zip(axes.flat, shown.items(), strict=False):
        for name, line in lines.items():
            axis.plot(
                [budgets.index(budget) for budget in line],
                list(line.values()),
                label=name,
                linewidth=1.3,
                marker=MARKERS[name],
                markersize=6,
                markerfacecolor="white",
                **LOOKS[name],
            )
        axis.set_title(title, fontsize=10)
        axis.set_xticks(range(len(budgets)), [str(budget) for budget in budgets])
        axis.set_xlabel("budget b", fontsize=9)
        axis.set_ylabel(measure, fontsize=9)
        if log:
            axis.set_yscale("log")
    legend(figure)
    return save(figure, path)
