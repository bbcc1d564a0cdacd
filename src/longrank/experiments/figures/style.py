"""One look for each policy, and how a picture is begun and written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longrank.errors import MissingExtra

# One look per policy, everywhere: colours of equal lightness steps, told apart by dashes too.
LOOKS: dict[str, dict[str, object]] = {
    "Rand": {"color": "#999999", "linestyle": (0, (1, 1))},
    "Eps": {"color": "#e69f00", "linestyle": (0, (5, 1, 1, 1))},
    "C-UCB1": {"color": "#009e73", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
    "GL-CDCM": {"color": "#cc79a7", "linestyle": (0, (5, 2))},
    "Ind": {"color": "#0072b2", "linestyle": "-"},
    "Dep": {"color": "#d55e00", "linestyle": (0, (8, 2))},
    "recommended": {"color": "#000000", "linestyle": (0, (12, 1))},
}
MARKERS = {
    "Rand": "x",
    "Eps": "^",
    "C-UCB1": "s",
    "GL-CDCM": "D",
    "Ind": "o",
    "Dep": "v",
    "recommended": "*",
}


def panels(
    rows: int, columns: int, width: float = 4.2, height: float = 3.1, **more: Any
) -> tuple[Any, Any]:
    """An empty figure and its axes, with room for a legend below."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("drawing", "experiments") from error
    figure = Figure(figsize=(width * columns, height * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **more)
    for axis in axes.flat:
        axis.grid(color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
    return figure, axes


def empty(axis: Any, text: str) -> None:
    """Say in a panel why there is nothing in it."""
    axis.text(0.5, 0.5, text, ha="center", va="center", fontsize=9, transform=axis.transAxes)
    axis.grid(visible=False)
    axis.set(xticks=[], yticks=[])


def legend(figure: Any) -> None:
    """Every label of any panel once, below."""
    found: dict[str, Any] = {}
    for axis in figure.axes:
        handles, labels = axis.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True)) | found
    ordered = sorted(found, key=lambda name: list(LOOKS).index(name) if name in LOOKS else 99)
    if ordered:
        figure.legend(
            [found[name] for name in ordered],
            ordered,
            loc="outside lower center",
            ncols=len(ordered),
            frameon=False,
            handlelength=4,
        )


def save(figure: Any, path: Path) -> list[Path]:
    """Write PNG and SVG; the same picture gives the same files."""
    from matplotlib import rc_context

    files = [path.with_suffix(".png"), path.with_suffix(".svg")]
    with rc_context({"svg.hashsalt": "longrank"}):
        figure.savefig(files[0], dpi=100)
        figure.savefig(files[1], metadata={"Date": None})
    return files
