"""Figure 3: whether Dep does badly where its latent space harms Ind."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from longrank.experiments.results import ResultRow
from longrank.experiments.scores import Key, Scores, score_cells
from longrank.experiments.tables import MNIST

PANELS = (("vanilla", 1), ("exponential", 10))
POLICIES = ("ind", "dep", "ind-gmm")
SIGNIFICANT = 0.632  # a correlation of ten pairs, at 5 % (two-sided)


@dataclass(frozen=True)
class Latent:
    """Rewards over the pivot classes, in one scenario and budget.

    ``dep`` is Dep's CR, ``difference`` the CR of Ind on the latent space minus that of Ind on the
    items, ``lead`` the CR of Dep minus that of Ind.
    """

    scenario: str
    budget: int
    classes: tuple[int, ...]
    dep: tuple[float, ...]
    difference: tuple[float, ...]
    lead: tuple[float, ...]

    @property
    def correlation(self) -> float:
        """Correlation of ``dep`` and ``difference``; NaN with too few classes or no variation."""
        if len(self.classes) < 3 or np.ptp(self.dep) == 0 or np.ptp(self.difference) == 0:
            return float("nan")
        return float(np.corrcoef(self.dep, self.difference)[0, 1])

    @property
    def complete(self) -> bool:
        """Whether there are results for all ten classes."""
        return len(self.classes) == len(MNIST)


def latent(scores: Scores, scenario: str, budget: int) -> Latent:
    """Return the classes for which all three policies have a score."""
    rewards = {}
    for pivot, task in enumerate(MNIST):
        keys = [Key(task, scenario, budget, policy) for policy in POLICIES]
        if all(key in scores for key in keys):
            rewards[pivot] = [scores[key].cumulative_reward for key in keys]
    return Latent(
        scenario,
        budget,
        tuple(rewards),
        tuple(dep for _, dep, _ in rewards.values()),
        tuple(gmm - ind for ind, _, gmm in rewards.values()),
        tuple(dep - ind for ind, dep, _ in rewards.values()),
    )


def few_topics(rows: Iterable[ResultRow], max_topics: int) -> Scores:
    """Score Dep and Ind on its latent space with at most so many components (d')."""
    wanted = {(task, *panel) for task in MNIST for panel in PANELS}
    return score_cells(
        row
        for row in rows
        if (row["task"], row["scenario"], row["budget"]) in wanted
        and row["policy"] in POLICIES
        and json.loads(row["settings"]).get("topics", 0) <= max_topics
    )
