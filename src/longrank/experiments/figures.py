"""Figures that can be read in black and white, as PNG and SVG."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from longrank.arrays import Vector
from longrank.document.blocks import Block, Grid, Picture, Prose
from longrank.document.numbers import number
from longrank.errors import needs_extra
from longrank.experiments.latent import PANELS, Latent, latent
from longrank.experiments.page import Drawn
from longrank.experiments.scores import Key, Score, Scores
from longrank.experiments.settings import LATENT, fees
from longrank.experiments.tables import PAPER_TASKS, SIX, in_order, label

Curves = Mapping[str, Sequence[Vector]]  # policy -> the rewards of each shuffle
Measured = Mapping[str, Mapping[int, float]]  # policy -> budget -> value

# One look per policy, everywhere: colours of equal lightness steps, and different dashes.
_STYLES = {  # colour, dashes, marker
    "Rand": ("#999999", (0, (1, 1)), "x"),
    "Eps": ("#e69f00", (0, (5, 1, 1, 1)), "^"),
    "C-UCB1": ("#009e73", (0, (3, 1, 1, 1, 1, 1)), "s"),
    "GL-CDCM": ("#cc79a7", (0, (5, 2)), "D"),
    "Ind": ("#0072b2", "-", "o"),
    "Dep": ("#d55e00", (0, (8, 2)), "v"),
    "recommended": ("#000000", (0, (12, 1)), "*"),
}
LOOKS = {name: {"color": color, "linestyle": dash} for name, (color, dash, _) in _STYLES.items()}
MARKERS = {name: marker for name, (*_, marker) in _STYLES.items()}
# Those of all other policies: no colour is one of the above.
_FURTHER = (
    *("#56b4e9", "#7b3294", "#8c510a", "#1b5e20", "#e7298a", "#3f3fbf", "#9e9d24", "#b71c1c"),
)
_DASHES = ((0, (2, 1)), (0, (10, 2, 2, 2)), (0, (4, 4)), (0, (6, 1, 1, 1, 1, 1)))
_FIGURE_2 = {
    "msd": "MSD",
    "yelp": "Yelp",
    "movielens-25m": "MovieLens-25M",
    "mnist-0": "MNIST, class 0",
}
_SHOWN = {"vanilla": (*SIX, "recommended"), "exponential": ("rand", "ind", "dep", "recommended")}
_MAX_PANELS = 8


def figure_2(scores: Scores, folder: Path) -> Drawn:
    """Draw CR(t) / t in up to eight panels: those with results."""
    shown: dict[str, Curves] = {}
    missing = []
    for scenario, budget in PANELS:
        for task, name in _FIGURE_2.items():
            # As in the paper: with Rand, the others are indistinguishable there.
            crowded = (scenario, task) == ("exponential", "mnist-0")
            policies = [name for name in _SHOWN[scenario] if not (crowded and name == "rand")]
            curves = _curves(scores, task, scenario, budget, policies)
            panel = f"{name}: {scenario}, b = {budget}"
            if curves:
                shown[panel] = curves
            else:
                missing.append(panel)
    if not shown:
        return [], _left_out("Figure 2", missing)
    files = average_rewards(shown, folder / "figure-2", columns=min(4, len(shown)), width=3.0)
    caption = f"Figure 2: CR(t) / t of the best settings{_shuffle(scores)}."
    if f"{_FIGURE_2['mnist-0']}: exponential, b = 10" in shown:
        caption += (
            " As in the paper, the panel of MNIST, exponential, omits Rand, far below the others."
        )
    if any("recommended" in curves for curves in shown.values()):
        caption += " “recommended” is not in the paper."
    return files, [Picture(files[1], caption), *_left_out("Figure 2", missing)]


def _shuffle(scores: Scores) -> str:
    """Say which shuffle is drawn, if there are several."""
    return " on the first shuffle" if any(score.seeds > 1 for score in scores.values()) else ""


def figure_of_fees(scores: Scores, folder: Path) -> Drawn:
    """Draw CR(t) / t where each item has a fee: of each task and scenario, one budget."""
    priced = {key: score for key, score in scores.items() if fees(key.scenario)}
    caption = (
        f"CR(t) / t of the best settings{_shuffle(priced)} where each item has a fee of its own: "
        "rewards minus fees. The paper has no such scenario."
    )
    shown: dict[str, Curves] = {}
    for task, scenario in dict.fromkeys((key.task, key.scenario) for key in priced):
        here = [key for key in priced if (key.task, key.scenario) == (task, scenario)]
        policies = [policy for policy in _ordered(key.policy for key in here) if policy != LATENT]
        drawn = {
            b: _curves(scores, task, scenario, b, policies)
            for b in sorted({k.budget for k in here})
        }
        most = max(drawn, key=lambda budget: len(drawn[budget]))
        if drawn[most]:
            shown[f"{task}: {scenario}, b = {most}"] = drawn[most]
    if not shown:
        return [], []
    some = dict(list(shown.items())[:_MAX_PANELS])
    files = average_rewards(some, folder / "fees", columns=min(4, len(some)), width=3.0)
    rest = list(shown)[_MAX_PANELS:]
    left_out = [Prose(f"Not drawn: {'; '.join(rest)}.")] if rest else []
    return files, [Picture(files[1], caption), *left_out]


def _curves(
    scores: Scores, task: str, scenario: str, budget: int, policies: Iterable[str]
) -> Curves:
    """Return the rewards of each policy that has them."""
    keys = [Key(task, scenario, budget, policy) for policy in policies]
    rewards = {key.policy: scores[key].rewards for key in keys if key in scores}
    return {label(policy): [curve] for policy, curve in rewards.items() if curve is not None}


def figure_3(scores: Scores, folder: Path, max_topics: int | None = None) -> Drawn:
    """Draw Dep and the effect of its latent space on Ind, for mixtures of limited size if given."""
    name = "figure-3" if max_topics is None else "figure-3-few"
    small = "" if max_topics is None else f", with mixtures of at most {max_topics} components"
    every = [latent(scores, *panel) for panel in PANELS]
    missing = [f"{panel.scenario}, b = {panel.budget}" for panel in every if not panel.classes]
    shown = [panel for panel in every if panel.classes]
    left_out = _left_out(f"Figure 3{small}", missing)
    if not shown:
        return [], left_out
    files = over_classes(shown, folder / name)
    caption = (
        f"Figure 3{small}: Dep's CR by MNIST class (above), and the CR of Ind in Dep's latent "
        "space minus that of Ind on the items (below)."
    )
    return files, [Picture(files[1], caption), *left_out]


def _left_out(figure: str, panels: Sequence[str]) -> list[Block]:
    text = f"Left out of {figure}, as there are no results: {'; '.join(panels)}."
    return [Prose(text)] if panels else []


def seconds(scores: Scores) -> dict[str, Measured]:
    """Return microseconds per round: the median over settings, then over tasks."""
    return _measured(scores, lambda score: 1e6 * score.seconds, median)


def lengths(scores: Scores) -> dict[str, Measured]:
    """Return the mean length of the best settings as a share of the budget."""
    return _measured(scores, lambda score: score.mean_length / score.key.budget, fmean)


def figure_of_seconds(scores: Scores, folder: Path) -> Drawn:
    """Draw the running time over the budgets, and list it."""
    unit, shown = "microseconds per round", seconds(scores)
    files = over_budgets(shown, folder / "seconds", unit, log=True)
    caption = (
        "Running time per round (median over settings and tasks), on a log scale: ranking and "
        "learning, without compilation. Other programs may have been running on the machine."
    )
    return files, [Picture(files[1], caption), _numbers(shown, 1, f", in {unit}")]


def figure_of_lengths(scores: Scores, folder: Path) -> Drawn:
    """Draw lengths over the budgets, and list them."""
    shown = lengths(scores)
    files = over_budgets(shown, folder / "lengths", "mean length / budget")
    caption = "Mean sequence length as a fraction of the budget, over tasks."
    return files, [Picture(files[1], caption), _numbers(shown, 2)]


def _measured(
    scores: Scores, value: Callable[[Score], float], of: Callable[[Iterable[float]], float]
) -> dict[str, Measured]:
    """Return a value by scenario, policy and budget: over the paper's tasks, or else all."""
    of_the_paper = {key.scenario for key in scores if key.task in PAPER_TASKS}
    values: dict[str, dict[str, dict[int, list[float]]]] = {}
    for key, score in sorted(scores.items(), key=lambda item: item[0].budget):
        if key.policy != LATENT and (key.task in PAPER_TASKS or key.scenario not in of_the_paper):
            line = values.setdefault(key.scenario, {}).setdefault(key.policy, {})
            line.setdefault(key.budget, []).append(value(score))
    return {
        scenario: {
            label(policy): {b: of(x) for b, x in values[scenario][policy].items()}
            for policy in _ordered(values[scenario])
        }
        for scenario in in_order(values)
    }


def _numbers(shown: Mapping[str, Measured], decimals: int, unit: str = "") -> Grid:
    """Show a measure of every policy over the budgets in numbers."""
    budgets = sorted({b for lines in shown.values() for line in lines.values() for b in line})
    rows = tuple(
        (f"{scenario}: {name}", *(number(line.get(budget), decimals) for budget in budgets))
        for scenario, lines in shown.items()
        for name, line in lines.items()
    )
    header = ("", *(f"b = {budget}" for budget in budgets))
    return Grid(header, rows, folded=f"As numbers{unit}")


def _ordered(policies: Iterable[str]) -> list[str]:
    """Return each policy once: the paper's in its order, then the others."""
    present = set(policies)
    return [*(name for name in SIX if name in present), *sorted(present - set(SIX))]


def looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return a colour and a dash for each policy of a figure: no two look the same."""
    unique = dict.fromkeys(names)
    further = {}
    for i, name in enumerate(sorted(unique.keys() - LOOKS.keys())):
        dashes = _DASHES[(i + i // len(_FURTHER)) % len(_DASHES)]
        further[name] = {"color": _FURTHER[i % len(_FURTHER)], "linestyle": dashes}
    return {name: LOOKS.get(name) or further[name] for name in unique}


def average_rewards(
    shown: Mapping[str, Curves],
    path: Path,
    columns: int = 3,
    width: float = 4.2,
    height: float | None = None,
) -> list[Path]:
    """Draw CR(t) / t of every policy, one panel per world and scenario; return the files.

    Of several shuffles it is the mean, and a band of all of them.
    """
    figure, axes = panels(-(-len(shown) // columns), columns, width, height or 0.74 * width)
    styles = looks(name for curves in shown.values() for name in curves)
    for axis, (title, curves) in zip(axes.flat, shown.items(), strict=False):
        _title(axis, title, "round t", "CR(t) / t")
        late = []  # all but the first rounds, which are noise
        for name, rewards in curves.items():
            rounds = np.arange(1, len(rewards[0]) + 1)
            averages = np.cumsum(rewards, axis=1) / rounds
            mean = averages.mean(axis=0)
            axis.plot(rounds, mean, label=name, linewidth=1.6, **styles[name])
            if len(rewards) > 1:
                low, high = averages.min(axis=0), averages.max(axis=0)
                axis.fill_between(rounds, low, high, color=styles[name]["color"], alpha=0.12, lw=0)
            late.append(mean[len(mean) // 20 :])
        low, high = min(map(np.min, late)), max(map(np.max, late))
        margin = 0.05 * (high - low) + 1e-9
        axis.set_ylim(low - margin, high + margin)
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    legend(figure)
    return save(figure, path)


def over_budgets(
    shown: Mapping[str, Measured], path: Path, measure: str, log: bool = False
) -> list[Path]:
    """Draw one panel per scenario and one line per policy; return the files."""
    figure, axes = panels(1, max(len(shown), 1), height=3.4, sharey=True)
    styles = looks(name for lines in shown.values() for name in lines)
    budgets = sorted({b for lines in shown.values() for line in lines.values() for b in line})
    for axis, (title, lines) in zip(axes.flat, shown.items(), strict=False):
        for name, line in lines.items():
            axis.plot(
                [budgets.index(budget) for budget in line],
                list(line.values()),
                label=name,
                linewidth=1.3,
                marker=MARKERS.get(name, "P"),
                markersize=6,
                markerfacecolor="white",
                **styles[name],
            )
        _title(axis, title, "budget b", measure)
        axis.set_xticks(range(len(budgets)), [str(budget) for budget in budgets])
        if log:
            axis.set_yscale("log")
        else:
            axis.set_ylim(bottom=0.0)
    legend(figure)
    return save(figure, path)


def over_classes(shown: Sequence[Latent], path: Path) -> list[Path]:
    """Draw one column per scenario: Dep's CR above, the difference of the two Inds below."""
    figure, axes = panels(2, len(shown), height=2.3, sharex="col")
    for column, panel in enumerate(shown):
        above, below = axes[0, column], axes[1, column]
        _title(above, f"{panel.scenario}, b = {panel.budget}", "", "CR of Dep")
        above.plot(panel.classes, panel.dep, marker=MARKERS["Dep"], markersize=7, **LOOKS["Dep"])
        below.bar(
            panel.classes, panel.difference, 0.6, color="#cfe3f1", edgecolor="#0072b2", hatch="///"
        )
        below.axhline(0.0, color="black", linewidth=0.8)
        size = "" if isnan(panel.correlation) else f" (correlation {panel.correlation:.2f})"
        _title(below, "", f"pivot class{size}", "CR of Ind-GMM\nminus CR of Ind")
        below.set_xticks(range(10))
    return save(figure, path)


def panels(
    rows: int, columns: int, width: float = 4.2, height: float = 3.1, **more: Any
) -> tuple[Any, Any]:
    """Start a figure with axes and room for a legend below."""
    with needs_extra("drawing", "experiments"):
        from matplotlib.figure import Figure
    figure = Figure(figsize=(width * columns, height * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **more)
    for axis in axes.flat:
        axis.grid(color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
    return figure, axes


def _title(axis: Any, title: str, x: str, y: str) -> None:
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(x, fontsize=9)
    axis.set_ylabel(y, fontsize=9)


def legend(figure: Any) -> None:
    """Show every label of any panel once, below the figure."""
    shown: dict[str, Any] = {}
    for axis in figure.axes:
        handles, labels = axis.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True)) | shown
    ordered = sorted(shown, key=lambda name: list(LOOKS).index(name) if name in LOOKS else 99)
    if ordered:
        figure.legend(
            [shown[name] for name in ordered],
            ordered,
            loc="outside lower center",
            ncols=_columns(ordered, figure.get_figwidth()),
            frameon=False,
            handlelength=4,
        )


def _columns(names: Sequence[str], width: float) -> int:
    """Return how many entries of a legend fit side by side in so many inches."""
    entries = [0.94 + 0.083 * len(name) for name in names]  # line, gaps and letters
    return len(names) if sum(entries) <= width else max(1, int(width / max(entries)))


def save(figure: Any, path: Path) -> list[Path]:
    """Write PNG and SVG; the same figure gives the same files."""
    from matplotlib import rc_context

    files = [path.with_name(f"{path.name}{ending}") for ending in (".png", ".svg")]
    with rc_context({"svg.hashsalt": "longrank"}):
        figure.savefig(files[0], dpi=100)
        figure.savefig(files[1], metadata={"Date": None})
    return files
