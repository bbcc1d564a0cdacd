"""The paper's 13 tables in its layout, our value and the published one in every field."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources

from longrank.experiments.scores import Key, Score, Scores
from longrank.experiments.settings import BUDGETS

LABELS = {
    "rand": "Rand",
    "eps": "Eps",
    "c-ucb1": "C-UCB1",
    "gl-cdcm": "GL-CDCM",
    "ind": "Ind",
    "dep": "Dep",
    "ind-gmm": "Ind-GMM",
}
SIX = tuple(policy for policy in LABELS if policy != "ind-gmm")
MNIST = tuple(f"mnist-{pivot}" for pivot in range(10))
PAPER_TASKS = {
    "msd": "Million Songs (MSD)",
    "yelp": "Yelp",
    "movielens-25m": "MovieLens-25M",
    **{task: f"MNIST, pivot class {task[-1]}" for task in MNIST},
}
_IN_THE_PAPER = {"vanilla": SIX, "exponential": ("rand", "ind", "dep")}


@dataclass(frozen=True)
class Published:
    """A number of the paper's tables, and whether it stands there in bold."""

    ncr: float
    bold: bool


@dataclass(frozen=True)
class Column:
    """A policy in a scenario; ``ours_only`` where the paper has no such column."""

    scenario: str
    policy: str
    ours_only: bool = False

    @property
    def label(self) -> str:
        return LABELS[self.policy]


@dataclass(frozen=True)
class Entry:
    """A field of a table.

    ``best`` and ``best_held_out`` say that no column of the scenario has more, at the two
    decimals shown. A column that is ours only does not take this away from the paper's.
    """

    column: Column
    budget: int
    score: Score | None
    published: Published | None
    best: bool = False
    best_held_out: bool = False

    @property
    def difference(self) -> float | None:
        """Ours minus the published value."""
        if self.score is None or self.published is None:
            return None
        return self.score.ncr_published - self.published.ncr


@dataclass(frozen=True)
class Table:
    """A task: one row for each budget; ``number`` is that in the paper, if it is there."""

    task: str
    title: str
    number: int | None
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]

    @property
    def name(self) -> str:
        """What its files are called."""
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", self.task)  # nothing that leads elsewhere
        return name if self.number is None else f"table-{self.number:02d}-{name}"

    def entries(self) -> Iterator[Entry]:
        """All fields, row by row."""
        for row in self.rows:
            yield from row

    @property
    def scores(self) -> list[Score]:
        """What we have of it."""
        return [entry.score for entry in self.entries() if entry.score is not None]


@functools.cache
def published() -> dict[Key, Published]:
    """All 585 numbers of the paper's tables, by our names."""
    policies = {label: policy for policy, label in LABELS.items()}
    tasks = {"movielens": "movielens-25m"}
    text = resources.files("longrank.experiments").joinpath("published.csv").read_text("utf-8")
    found = {}
    for row in csv.DictReader(text.splitlines()):
        task = tasks.get(row["task"], row["task"])
        key = Key(task, row["scenario"], int(row["budget"]), policies[row["policy"]])
        found[key] = Published(float(row["ncr"]), row["bold"] == "1")
    return found


def tables(scores: Scores) -> list[Table]:
    """The paper's 13, whether we have results or not, then those of all other tasks."""
    others = sorted({key.task for key in scores} - set(PAPER_TASKS))
    numbers = {task: number for number, task in enumerate(PAPER_TASKS, start=1)}
    return [
        _table(task, PAPER_TASKS.get(task, task), numbers.get(task), scores)
        for task in (*PAPER_TASKS, *others)
    ]


def _table(task: str, title: str, number: int | None, scores: Scores) -> Table:
    here = [key for key in scores if key.task == task and key.policy in SIX]
    layout = [(scenario, policy) for scenario, run in _IN_THE_PAPER.items() for policy in run]
    columns = [Column(*names) for names in layout] if number else []
    scenarios = dict.fromkeys([*_IN_THE_PAPER, *sorted(key.scenario for key in here)])
    for scenario in scenarios:
        run = {key.policy for key in here if key.scenario == scenario}
        if number:
            run -= set(_IN_THE_PAPER.get(scenario, ()))
        columns += [Column(scenario, policy, bool(number)) for policy in SIX if policy in run]
    budgets = {key.budget for key in here} | (set(BUDGETS) if number else set())
    rows = tuple(_row(task, budget, columns, scores) for budget in sorted(budgets))
    return Table(task, title, number, tuple(columns), rows)


def _row(task: str, budget: int, columns: Sequence[Column], scores: Scores) -> tuple[Entry, ...]:
    keys = [Key(task, column.scenario, budget, column.policy) for column in columns]
    ours = [scores.get(key) for key in keys]
    best = _best(columns, [None if score is None else score.ncr_published for score in ours])
    held_out = [None if score is None else score.held_out for score in ours]
    best_held_out = _best(columns, [None if one is None else one.mean for one in held_out])
    return tuple(
        Entry(column, budget, score, published().get(key), *bold)
        for column, key, score, *bold in zip(columns, keys, ours, best, best_held_out, strict=True)
    )


def _best(columns: Sequence[Column], values: Sequence[float | None]) -> list[bool]:
    """Whether each value is the largest of its scenario's, after rounding, as in the paper."""
    rounded = [None if value is None else round(value, 2) for value in values]
    tops: dict[str, tuple[bool, float]] = {}
    for column, value in zip(columns, rounded, strict=True):
        if value is not None:
            candidate = (not column.ours_only, value)  # the paper's columns before ours
            tops[column.scenario] = max(candidate, tops.get(column.scenario, candidate))
    return [
        value is not None and value >= tops[column.scenario][1]
        for column, value in zip(columns, rounded, strict=True)
    ]
