"""How cost grows with items, features, budget and topics, beside plain numpy.

Draws the pictures of docs/speed.md: `python benchmarks/growth.py docs/images`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from targets import greedy, usual

from longrank import Payoffs, kernels, named
from longrank.experiments.figures import panels, save
from longrank.experiments.measure import (
    NumpyInd,
    Play,
    alternate,
    playing,
    playing_numpy,
    rounds,
    through,
)

Pair = tuple[Play, Play, int]  # ours, the plain one, and how many rounds a call is
ROUNDS = 5


def a_round(items: int, dim: int, budget: int) -> Pair:
    """Rank and learn with Ind."""
    dealt, payoffs = rounds(dim, items, ROUNDS), Payoffs.exponential(budget)
    ours = named("ind", dim=dim, max_budget=budget, exploration=0.1, rate=5.0, radius=3.0)
    return (
        through(playing(ours, payoffs), dealt),
        through(playing_numpy(NumpyInd(dim, budget), payoffs), dealt),
        ROUNDS,
    )


def dependent(items: int, topics: int, budget: int) -> Pair:
    """The greedy order over topics."""
    case = usual(items, topics)

    def ours() -> object:
        return kernels.greedy_coverage(*case, float("inf"), budget)

    return ours, lambda: greedy(*case, budget), 1


# name -> (axis, title, sizes, what is measured at a size)
Subject = tuple[str, str, list[int], Callable[[int], Pair]]
SUBJECTS: dict[str, Subject] = {
    "items": (
        "items k",
        "a round of Ind, d = 10, b = 10",
        [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000],
        lambda k: a_round(k, 10, 10),
    ),
    "features": (
        "features d",
        "a round of Ind, k = 100, b = 10",
        [2, 4, 8, 16, 32, 64, 128],
        lambda d: a_round(100, d, 10),
    ),
    "budget": (
        "budget b",
        "dependent ranking, k = 1,000, d' = 30",
        [1, 3, 10, 30, 100, 300],
        lambda b: dependent(1_000, 30, b),
    ),
    "topics": (
        "topics d'",
        "dependent ranking, k = 1,000, b = 100",
        [3, 5, 10, 20, 30, 50, 80],
        lambda d: dependent(1_000, d, 100),
    ),
}


def measured(subject: Subject, blocks: int = 7) -> dict[str, dict[int, float]]:
    """Measure the seconds at every size."""
    lines: dict[str, dict[int, float]] = {"longrank": {}, "plain numpy": {}}
    for size in subject[2]:
        ours, theirs, calls = subject[3](size)
        for name, times in alternate({"longrank": ours, "plain numpy": theirs}, blocks).items():
            lines[name][size] = times.median / calls
    return lines


def draw(subject: Subject, lines: Mapping[str, Mapping[int, float]], path: Path) -> Path:
    """Draw both lines on logarithmic axes; returns the path of the PNG."""
    figure, axes = panels(1, 1, width=5.2, height=3.4)
    axis = axes[0, 0]
    looks = {"longrank": ("#0072b2", "-", "o"), "plain numpy": ("#d55e00", (0, (8, 2)), "v")}
    for name, line in lines.items():
        colour, dashes, marker = looks[name]
        axis.loglog(
            list(line),
            list(line.values()),
            label=name,
            color=colour,
            linestyle=dashes,
            marker=marker,
            markerfacecolor="white",
        )
    axis.set_title(subject[1], fontsize=10)
    axis.set_xlabel(subject[0], fontsize=9)
    axis.set_ylabel("seconds of one core", fontsize=9)
    axis.legend(frameon=False)
    png, svg = save(figure, path)
    svg.unlink()
    return png


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    for name, subject in SUBJECTS.items():
        lines = measured(subject)
        print(draw(subject, lines, folder / f"speed-{name}"))
        for size in subject[2]:
            ours, plain = (line[size] * 1e6 for line in lines.values())
            print(f"  {subject[0]} {size:>6,}: {ours:10.1f} us, plain {plain:10.1f} us")


if __name__ == "__main__":
    main()
