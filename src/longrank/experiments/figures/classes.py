"""Figure 3: Dep, and what its latent space does to Ind, over the classes of MNIST."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path

from longrank.experiments.figures.style import LOOKS, MARKERS, empty, panels, save
from longrank.experiments.latent import Latent


def over_classes(shown: Sequence[Latent], path: Path) -> list[Path]:
    """One column for each scenario: above Dep's CR, below the difference of the two Inds."""
    figure, axes = panels(2, len(shown), height=2.3, sharex="col")
    for column, one in enumerate(shown):
        above, below = axes[0, column], axes[1, column]
        above.set_title(f"{one.scenario}, b = {one.budget}", fontsize=10)
        if not one.classes:
            empty(above, "no results of Dep, Ind\nand Ind-GMM yet")
            empty(below, "")
            continue
        above.plot(one.classes, one.dep, marker=MARKERS["Dep"], markersize=7, **LOOKS["Dep"])
        above.set_ylabel("CR of Dep", fontsize=9)
        below.bar(
            one.classes, one.difference, 0.6, color="#cfe3f1", edgecolor="#0072b2", hatch="///"
        )
        below.axhline(0.0, color="black", linewidth=0.8)
        below.set_ylabel("CR of Ind-GMM\nminus CR of Ind", fontsize=9)
        size = "" if isnan(one.correlation) else f" (correlation {one.correlation:.2f})"
        below.set_xlabel(f"pivot class{size}", fontsize=9)
        below.set_xticks(range(10))
    return save(figure, path)
