"""The figures of the report, from scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean, median

import numpy as np

from longrank.experiments.figures import Curves, average_rewards, over_budgets, over_classes
from longrank.experiments.figures.budgets import Measured
from longrank.experiments.latent import PANELS, latent
from longrank.experiments.report.document import Picture
from longrank.experiments.scores import Key, Score, Scores
from longrank.experiments.tables import LABELS, PAPER_TASKS, SIX

_FIGURE_2 = {
    "msd": "MSD",
    "yelp": "Yelp",
    "movielens-25m": "MovieLens-25M",
    "mnist-0": "MNIST, class 0",
}
_SHOWN = {"vanilla": SIX, "exponential": ("rand", "ind", "dep")}


def figure_2(found: Scores, folder: Path) -> tuple[list[Path], Picture]:
    """CR(t) / t in eight panels."""
    shown: dict[str, Curves | str] = {}
    for scenario, budget in PANELS:
        for task, name in _FIGURE_2.items():
            curves = {}
            for policy in _SHOWN[scenario]:
                if (scenario, task, policy) == ("exponential", "mnist-0", "rand"):
                    continue  # as in the paper: the others could not be told apart
                score = found.get(Key(task, scenario, budget, policy))
                if score is not None and score.rewards is not None:
                    rounds = np.arange(1, len(score.rewards) + 1)
                    curves[LABELS[policy]] = np.asarray(np.cumsum(score.rewards) / rounds)
            shown[f"{name}: {scenario}, b = {budget}"] = curves or f"no results\nof {task}"
    files = average_rewards(shown, folder / "figure-2", columns=4, width=3.0)
    return files, Picture(
        files[1],
        "Figure 2: CR(t) / t of the best settings. Above vanilla with b = 1, below exponential "
        "with b = 10; as in the paper, Rand is left out at the bottom right, far below the others.",
    )


def figure_3(found: Scores, folder: Path, most: int | None = None) -> tuple[list[Path], Picture]:
    """Dep, and what its latent space does to Ind; ``most`` says that mixtures are that small."""
    name = "figure-3" if most is None else "figure-3-few"
    files = over_classes([latent(found, *panel) for panel in PANELS], folder / name)
    small = "" if most is None else f", when mixtures have at most {most} components"
    return files, Picture(
        files[1],
        f"Figure 3{small}: over the classes of MNIST, Dep's CR (above) and the CR of Ind on Dep's "
        "latent space minus that of Ind on the items (below).",
    )


def seconds(found: Scores) -> dict[str, Measured]:
    """Microseconds a round: the median over settings, then over tasks."""
    return _measured(found, lambda score: 1e6 * score.seconds, median)


def lengths(found: Scores) -> dict[str, Measured]:
    """The mean length of the best settings as a part of the budget."""
    return _measured(found, lambda score: score.mean_length / score.key.budget, fmean)


def figure_of_seconds(found: Scores, folder: Path) -> tuple[list[Path], Picture]:
    """Running time over the budgets."""
    measure = "microseconds a round"
    files = over_budgets(seconds(found), folder / "seconds", measure, log=True)
    return files, Picture(
        files[1],
        "Running time of a round (median over settings and tasks), on a log scale: ranking and "
        "learning in the compiled loop, on the machine of the run, busy or not.",
    )


def figure_of_lengths(found: Scores, folder: Path) -> tuple[list[Path], Picture]:
    """Lengths over the budgets."""
    files = over_budgets(lengths(found), folder / "lengths", "mean length / budget")
    return files, Picture(
        files[1], "The length that a policy commits to, as a part of the budget (mean over tasks)."
    )


def _measured(
    found: Scores, value: Callable[[Score], float], of: Callable[[Iterable[float]], float]
) -> dict[str, Measured]:
    """Scenario, policy, budget: the value over the paper's tasks, or over all if none is there."""
    ours = [score for score in found.values() if score.key.task in PAPER_TASKS]
    values: dict[str, dict[str, dict[int, list[float]]]] = {}
    for policy in SIX:
        for score in sorted(ours or found.values(), key=lambda score: score.key.budget):
            if score.key.policy == policy:
                lines = values.setdefault(score.key.scenario, {}).setdefault(LABELS[policy], {})
                lines.setdefault(score.key.budget, []).append(value(score))
    return {
        scenario: {name: {b: of(x) for b, x in line.items()} for name, line in lines.items()}
        for scenario, lines in sorted(values.items(), reverse=True)
    }
