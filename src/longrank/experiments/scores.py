"""Scores: the results of each task, scenario, budget and policy, by two protocols."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from longrank.arrays import Vector
from longrank.experiments.results import ResultRow

_MEANS = ("cumulative_reward", "cr_rand", "cr_max", "ncr", "ncr_published", "mean_length")


class Key(NamedTuple):
    """What a score belongs to."""

    task: str
    scenario: str
    budget: int
    policy: str


@dataclass(frozen=True)
class Score:
    """The best setting of a grid on the same stream, as in the paper; a mean over the seeds.

    ``rows`` are those of the best setting of each seed, ``tried`` is the number of settings to
    choose from, ``rewards`` are those of every round on the first seed, ``seconds`` is the time
    per round, the median over all settings, and ``spent`` is what the tries of a round cost, where
    items have fees. ``ncr`` is what was measured; ``ncr_published`` of Rand is 0, as in the paper.
    ``held_out`` are the rows of one setting on shuffles that played no part in choosing it.
    """

    key: Key
    grid: str
    tried: int
    cumulative_reward: float
    cr_rand: float
    cr_max: float
    ncr: float
    ncr_published: float
    mean_length: float
    seconds: float
    rewards: Vector | None
    rows: tuple[ResultRow, ...]
    held_out: tuple[ResultRow, ...]
    spent: float | None = None

    @property
    def seeds(self) -> int:
        """The number of shuffles that were searched."""
        return len(self.rows)

    @property
    def settings(self) -> tuple[str, ...]:
        """The best setting (JSON) of each seed."""
        return tuple(row["settings"] for row in self.rows)

    @property
    def rounds(self) -> int:
        """The number of rounds of a run."""
        return self.rows[0]["rounds"]

    @property
    def reported(self) -> tuple[ResultRow, ...]:
        """The rows to report, one per shuffle: the held-out ones, if there are any."""
        return self.held_out or self.rows

    @property
    def perfect(self) -> bool:
        """Whether no policy could have earned more."""
        return self.cumulative_reward >= self.cr_max - 1e-9


Scores = dict[Key, Score]


def score_cells(rows: Iterable[ResultRow]) -> Scores:
    """Score every cell; of several grids, the one with the most settings counts."""
    kinds: dict[Key, dict[str, list[ResultRow]]] = {}
    for row in rows:
        key = Key(row["task"], row["scenario"], row["budget"], row["policy"])
        kinds.setdefault(key, {}).setdefault(row["grid"], []).append(row)
    scores: Scores = {}
    for key, grids in sorted(kinds.items()):
        tried = {
            grid: len({row["settings"] for row in here if row["protocol"] == "grid"})
            for grid, here in sorted(grids.items())
        }
        grid = max(tried, key=lambda name: tried[name])
        if tried[grid]:
            scores[key] = _score(key, grid, tried[grid], grids[grid])
    return scores


def _score(key: Key, grid: str, tried: int, rows: Sequence[ResultRow]) -> Score:
    searched = [row for row in rows if row["protocol"] == "grid"]
    best = _best_by_seed(searched)
    curve = best[0]["curve"]
    means: dict[str, Any] = {name: mean(best, name) for name in _MEANS}
    if key.policy == "rand":  # CR_rand is its expected reward, of which a run is one draw
        means["ncr_published"] = 0.0
    return Score(
        key=key,
        grid=grid,
        tried=tried,
        seconds=statistics.median(row["seconds"] / row["rounds"] for row in searched),
        rewards=None if curve is None else np.array(curve),
        rows=best,
        held_out=_best_by_seed(row for row in rows if row["protocol"] == "held-out"),
        spent=mean(best, "mean_spent"),
        **means,
    )


def _best_by_seed(rows: Iterable[ResultRow]) -> tuple[ResultRow, ...]:
    """Return the row with the largest reward of each seed; the first of equal ones."""
    best: dict[int, ResultRow] = {}
    for row in rows:
        known = best.setdefault(row["seed"], row)
        if row["cumulative_reward"] > known["cumulative_reward"]:
            best[row["seed"]] = row
    return tuple(best[seed] for seed in sorted(best))


def deviation(rows: Sequence[Mapping[str, Any]], column: str) -> float:
    """Return the standard deviation of a column; NaN of one row or none."""
    values = [row[column] for row in rows]
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def mean(rows: Iterable[Mapping[str, Any]], column: str) -> float | None:
    """Return the mean of a column over the rows that have it; None if none has."""
    values = [row[column] for row in rows if row.get(column) is not None]
    return statistics.fmean(values) if values else None
