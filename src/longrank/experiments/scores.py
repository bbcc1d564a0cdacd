"""Scores: the results of each task, scenario, budget and policy, by two protocols."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.experiments.results import ResultRow


class Key(NamedTuple):
    """What a score belongs to."""

    task: str
    scenario: str
    budget: int
    policy: str


@dataclass(frozen=True)
class HeldOut:
    """A setting on shuffles that played no part in choosing it.

    ``mean`` and ``deviation`` are those of ``ncr_published``; ``ncr`` and ``ncr_deviation`` those
    without the paper's 1. A deviation is that of one shuffle, NaN if there is only one.
    """

    mean: float
    deviation: float
    seeds: int
    settings: str  # JSON
    ncr: float
    ncr_deviation: float
    rows: tuple[ResultRow, ...] = ()  # one per shuffle


@dataclass(frozen=True)
class Score:
    """The best setting of a grid on the same stream, as in the paper; a mean over the seeds.

    ``settings`` has the best setting (JSON) of each seed, ``tried`` is the number of settings to
    choose from, ``rewards`` are those of every round on the first seed, ``seconds`` is the time
    per round, the median over all settings, and ``spent`` is what the tries of a round cost, where
    items have fees. ``ncr`` is what was measured; ``ncr_published`` of Rand is 0, as in the paper.
    """

    key: Key
    grid: str
    seeds: int
    tried: int
    settings: tuple[str, ...]
    rounds: int
    cumulative_reward: float
    cr_rand: float
    cr_max: float
    ncr: float
    ncr_published: float
    mean_length: float
    seconds: float
    rewards: NDArray[np.float64] | None
    held_out: HeldOut | None
    spent: float | None = None
    deviation: float = float("nan")  # of the ``ncr`` of one seed; NaN if there is only one
    rows: tuple[ResultRow, ...] = ()  # those of the best setting of each seed

    @property
    def reported(self) -> tuple[ResultRow, ...]:
        """The rows to report, one per shuffle: the held-out ones, if there are any."""
        return self.rows if self.held_out is None else self.held_out.rows

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
    return Score(
        key=key,
        grid=grid,
        seeds=len(best),
        tried=tried,
        settings=tuple(row["settings"] for row in best),
        rounds=best[0]["rounds"],
        cumulative_reward=_mean(best, lambda row: row["cumulative_reward"]),
        cr_rand=_mean(best, lambda row: row["cr_rand"]),
        cr_max=_mean(best, lambda row: row["cr_max"]),
        ncr=_mean(best, lambda row: row["ncr"]),
        # In the paper Rand is 0. CR_rand is its expected reward, of which a run is one draw.
        ncr_published=(
            0.0 if key.policy == "rand" else _mean(best, lambda row: row["ncr_published"])
        ),
        mean_length=_mean(best, lambda row: row["mean_length"]),
        seconds=statistics.median(row["seconds"] / row["rounds"] for row in searched),
        rewards=None if curve is None else np.array(curve),
        held_out=_held_out(_best_by_seed([r for r in rows if r["protocol"] == "held-out"])),
        spent=_spent(best),
        deviation=_deviation([row["ncr"] for row in best]),
        rows=tuple(best),
    )


def _best_by_seed(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """Return the row with the largest reward of each seed; the first of equal ones."""
    best: dict[int, ResultRow] = {}
    for row in rows:
        known = best.get(row["seed"])
        if known is None or row["cumulative_reward"] > known["cumulative_reward"]:
            best[row["seed"]] = row
    return [best[seed] for seed in sorted(best)]


def _held_out(rows: Sequence[ResultRow]) -> HeldOut | None:
    if not rows:
        return None
    published, plain = [row["ncr_published"] for row in rows], [row["ncr"] for row in rows]
    return HeldOut(
        mean=statistics.fmean(published),
        deviation=_deviation(published),
        seeds=len(rows),
        settings=rows[0]["settings"],
        ncr=statistics.fmean(plain),
        ncr_deviation=_deviation(plain),
        rows=tuple(rows),
    )


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def _spent(rows: Sequence[ResultRow]) -> float | None:
    spent = [row["mean_spent"] for row in rows if row.get("mean_spent") is not None]
    return statistics.fmean(spent) if spent else None


def _mean(rows: Sequence[ResultRow], column: Callable[[ResultRow], float]) -> float:
    return statistics.fmean(column(row) for row in rows)
