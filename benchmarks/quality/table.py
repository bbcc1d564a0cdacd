"""The table and the picture of a contest: wins, ties and losses against the best rival.

In a cell (a task, a class, a scenario) a player's lead over a rival is the mean of the paired
differences over the seeds that both have played. The best rival of a cell is the one with the
smallest lead over it. A lead within ``TIE`` of 0 is a tie. The standard error of a task's lead is
that of the mean of all these paired differences, over cells and seeds.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from players import RECOMMENDED, TREES
from tasks import WORLDS

from longrank.experiments.figures import panels, save

TIE = 0.01
BEHIND = 0.03  # that no task should be, on average

Where = tuple[str, int, str]  # task, class, scenario
Seeds = dict[int, tuple[float, float]]  # score and share of the rounds given up, by seed
Scores = dict[Where, dict[str, dict[str, Seeds]]]  # by player and setting
Chosen = Mapping[Where, Mapping[str, Seeds]]


class Summary(NamedTuple):
    """The leads of a task over the best rival of each cell, and all paired differences to it."""

    task: str
    leads: np.ndarray
    pairs: np.ndarray

    @property
    def wins(self) -> int:
        return int((self.leads > TIE).sum())

    @property
    def losses(self) -> int:
        return int((self.leads < -TIE).sum())

    @property
    def ties(self) -> int:
        return len(self.leads) - self.wins - self.losses

    @property
    def error(self) -> float:
        if len(self.pairs) < 2:
            return float("nan")
        return float(self.pairs.std(ddof=1) / np.sqrt(len(self.pairs)))


def as_they_come(scores: Scores) -> Chosen:
    """Every player with its first setting."""
    return {
        where: {name: next(iter(found.values())) for name, found in players.items()}
        for where, players in scores.items()
    }


def tuned(scores: Scores) -> Chosen:
    """Every player with the setting that is best in hindsight, for each task and scenario."""
    best: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for (task, _, scenario), players in scores.items():
        for name, found in players.items():
            for setting, seeds in found.items():
                means = best.setdefault((task, scenario, name), {}).setdefault(setting, [])
                means.append(mean(seeds))
    chosen = {key: max(found, key=lambda s: np.mean(found[s])) for key, found in best.items()}
    return {
        where: {name: found[chosen[where[0], where[2], name]] for name, found in players.items()}
        for where, players in scores.items()
    }


def mean(seeds: Seeds) -> float:
    return float(np.mean([score for score, _ in seeds.values()]))


def differences(ours: Seeds, theirs: Seeds) -> list[float]:
    """How far ours is ahead, in every seed that both have played."""
    return [ours[seed][0] - theirs[seed][0] for seed in sorted(ours.keys() & theirs.keys())]


def summaries(chosen: Chosen, trees: bool) -> list[Summary]:
    """The leads of the recommended policy, task by task."""
    found = []
    for task, cells in itertools.groupby(chosen, key=lambda where: where[0]):
        leads, pairs = [], []
        for where in cells:
            ours = chosen[where].get(RECOMMENDED)
            rivals = {n: s for n, s in chosen[where].items() if trees or n not in TREES}
            rivals.pop(RECOMMENDED, None)
            if ours and rivals:
                apart = min((differences(ours, theirs) for theirs in rivals.values()), key=np.mean)
                leads.append(float(np.mean(apart)))
                pairs += apart
        if leads:
            found.append(Summary(task, np.array(leads), np.array(pairs)))
    return found


def print_means(title: str, chosen: Chosen) -> None:
    """The mean score of everybody in every task."""
    names = list(dict.fromkeys(name for players in chosen.values() for name in players))
    print(f"\n| {title} | {' | '.join(names)} | rounds given up |")
    print(f"|---|{'--:|' * (len(names) + 1)}")
    for task, group in itertools.groupby(chosen, key=lambda where: where[0]):
        cells = list(group)
        row = []
        for name in names:
            means = [mean(chosen[where][name]) for where in cells if name in chosen[where]]
            row.append(f"{np.mean(means):.3f}" if means else "")
        given_up = [
            share for where in cells for _, share in chosen[where].get(RECOMMENDED, {}).values()
        ]
        row.append(f"{np.mean(given_up):.1%}" if given_up else "")
        print(f"| {task} | {' | '.join(row)} |")


def print_leads(chosen: Chosen) -> None:
    """Wins, ties and losses, task by task and in all."""
    print("\n| task | cells | wins | ties | losses | lead over the best | without trees |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    plain = {each.task: each for each in summaries(chosen, trees=False)}
    for each in summaries(chosen, trees=True):
        counts = f"{len(each.leads)} | {each.wins} | {each.ties} | {each.losses}"
        print(
            f"| {each.task} | {counts} | {each.leads.mean():+.3f} ± {each.error:.3f} "
            f"| {plain[each.task].leads.mean():+.3f} |"
        )


def print_verdict(title: str, chosen: Chosen) -> None:
    """In how many cells ours is best or ties, and which tasks are too far behind."""
    for what, trees in (("with trees", True), ("without trees", False)):
        found = summaries(chosen, trees)
        data = [each for each in found if each.task not in WORLDS]
        cells = sum(len(each.leads) for each in data)
        held = cells - sum(each.losses for each in data)
        behind = [each.task for each in found if each.leads.mean() < -BEHIND]
        share = f"{held} of {cells} cells of data sets ({held / max(cells, 1):.0%})"
        print(
            f"- against rivals {title}, {what}: best or within {TIE} in {share}; tasks more than "
            f"{BEHIND} behind: {', '.join(behind) or 'none'}"
        )


def print_tables(scores: Scores, image: Path) -> None:
    """Print everything, and draw the picture where the recommended policy has played."""
    first, best = as_they_come(scores), tuned(scores)
    print_means("mean score, as they come", first)
    print_means("mean score, tuned in hindsight", best)
    if summaries(best, trees=True):
        print_leads(best)
        print()
        print_verdict("as they come", first)
        print_verdict("tuned in hindsight", best)
        draw(summaries(best, trees=True), image)


def draw(found: list[Summary], image: Path) -> None:
    """Shares of wins, ties and losses, and the mean lead with its standard error."""
    figure, axes = panels(1, 2, width=4.8, height=1.2 + 0.24 * len(found), sharey=True)
    counts, leads = axes[0]
    places = np.arange(len(found))[::-1]
    left = np.zeros(len(found))
    looks = (("wins", "#0072b2", ""), ("ties", "#cfe3f1", ""), ("losses", "#f2c9a0", "///"))
    for what, colour, hatch in looks:
        shares = np.array([getattr(each, what) / len(each.leads) for each in found])
        counts.barh(
            places,
            shares,
            left=left,
            label=what,
            color=colour,
            hatch=hatch,
            edgecolor="black",
            linewidth=0.6,
        )
        left += shares
    counts.set_yticks(places, [each.task for each in found], fontsize=8)
    counts.set_xlabel("share of the cells", fontsize=9)
    means = [each.leads.mean() for each in found]
    leads.errorbar(
        means,
        places,
        xerr=[each.error for each in found],
        fmt="o",
        color="black",
        markersize=3,
        capsize=2,
    )
    leads.axvline(0.0, color="black", linewidth=0.6)
    leads.axvline(-BEHIND, color="black", linewidth=0.6, linestyle=":")
    leads.set_xlabel("lead over the best rival of each cell, ± standard error", fontsize=9)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    print(*save(figure, image))
