"""The paper's 13 tables in its layout, with our value and the published one in every field."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from itertools import groupby
from math import isnan, nan

from longrank.document.numbers import counted, number
from longrank.experiments.scores import Key, Score, Scores, deviation, mean
from longrank.experiments.settings import BUDGETS, LATENT
from longrank.policies import registry

SIX = ("rand", "eps", "c-ucb1", "gl-cdcm", "ind", "dep")  # the paper's, in its order
MNIST = tuple(f"mnist-{pivot}" for pivot in range(10))
PAPER_TASKS = {
    "msd": "Million Songs (MSD)",
    "yelp": "Yelp",
    "movielens-25m": "MovieLens-25M",
    **{task: f"MNIST, pivot class {task[-1]}" for task in MNIST},
}
_NUMBERS = (
    *("ncr", "ncr_published", "cumulative_reward", "cr_rand", "cr_max", "mean_length"),
    *("grid", "seeds", "rounds"),
)
_IN_THE_PAPER = {"vanilla": SIX, "exponential": ("rand", "ind", "dep")}


def label(policy: str) -> str:
    """Return a policy's name for readers: that of the registry, where it is known."""
    if policy == LATENT:
        return "Ind-GMM"
    return registry.get(policy).title if policy in registry.names() else policy


@dataclass(frozen=True)
class PolicyColumn:
    """A policy in a scenario; ``ours_only`` if the paper has no such column."""

    scenario: str
    policy: str
    ours_only: bool = False

    @property
    def label(self) -> str:
        """The policy's name for readers."""
        return label(self.policy)


@dataclass(frozen=True)
class Comparison:
    """A field of a table.

    ``best`` and ``best_held_out`` say that no column of the scenario is better at the two decimals
    shown. Columns that are ours only do not count against the paper's. The fields of a task that
    the paper has show ``ncr_published``, those of your ``own`` the plain ``ncr``.
    """

    column: PolicyColumn
    budget: int
    score: Score | None
    published: float | None
    best: bool = False
    best_held_out: bool = False
    own: bool = False

    @property
    def value(self) -> float | None:
        """Our normalised cumulative reward, as the table shows it."""
        if self.score is None:
            return None
        return self.score.ncr if self.own else self.score.ncr_published

    def shown(self, held_out: bool) -> tuple[float | None, float, bool]:
        """Return the value of a protocol, its deviation between shuffles, and if it is the best."""
        if self.score is None:
            return None, nan, False
        if not held_out:
            return self.value, deviation(self.score.rows, "ncr"), self.best
        rows, column = self.score.held_out, "ncr" if self.own else "ncr_published"
        return mean(rows, column), deviation(rows, column), self.best_held_out

    @property
    def difference(self) -> float | None:
        """Ours minus the published value."""
        if self.score is None or self.published is None:
            return None
        return self.score.ncr_published - self.published


@dataclass(frozen=True)
class PaperTable:
    """A task with one row per budget; ``number`` is that in the paper, if it has one."""

    task: str
    title: str
    number: int | None
    columns: tuple[PolicyColumn, ...]
    rows: tuple[tuple[Comparison, ...], ...]

    @property
    def name(self) -> str:
        """The name of its files."""
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", self.task)  # no way out of the folder
        return name if self.number is None else f"table-{self.number:02d}-{name}"

    def entries(self) -> Iterator[Comparison]:
        """Iterate over all fields, row by row."""
        for row in self.rows:
            yield from row

    @property
    def scores(self) -> list[Score]:
        """Our scores."""
        return [entry.score for entry in self.entries() if entry.score is not None]

    @property
    def not_run(self) -> int:
        """The number of the paper's fields for which we have no score."""
        return sum(e.score is None and e.published is not None for e in self.entries())

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios, in the order of the columns."""
        return tuple(dict.fromkeys(column.scenario for column in self.columns))

    def keep(self, wanted: Callable[[PolicyColumn], bool]) -> PaperTable:
        """Return the same with the columns that are wanted."""
        rows = tuple(tuple(entry for entry in row if wanted(entry.column)) for row in self.rows)
        return replace(self, columns=tuple(filter(wanted, self.columns)), rows=rows)

    def only(self, scenario: str) -> PaperTable:
        """Return the same with the columns and the rows that were run in one scenario."""
        return self.keep(lambda column: column.scenario == scenario).run()

    def run(self) -> PaperTable:
        """Return the same without the columns and rows in which nothing was run."""
        columns = {entry.column for entry in self.entries() if entry.score}
        table = self.keep(lambda column: column in columns)
        return replace(table, rows=tuple(row for row in table.rows if any(x.score for x in row)))


@cache
def published() -> dict[Key, float]:
    """Return all 585 numbers of the paper's tables, by our names."""
    policies = {label(policy): policy for policy in SIX}
    tasks = {"movielens": "movielens-25m"}
    text = resources.files("longrank.experiments").joinpath("published.csv").read_text("utf-8")
    numbers = {}
    for row in csv.DictReader(text.splitlines()):
        task = tasks.get(row["task"], row["task"])
        key = Key(task, row["scenario"], int(row["budget"]), policies[row["policy"]])
        numbers[key] = float(row["ncr"])
    return numbers


def in_order(scenarios: Iterable[str]) -> list[str]:
    """Return each scenario once: the paper's first, then the others by name."""
    present = set(scenarios)
    return sorted(present, key=lambda name: (name not in _IN_THE_PAPER, name != "vanilla", name))


def tables(scores: Scores) -> list[PaperTable]:
    """Return the paper's 13, with or without results, then those of all other tasks."""
    others = sorted({key.task for key in scores} - set(PAPER_TASKS))
    numbers = {task: number for number, task in enumerate(PAPER_TASKS, start=1)}
    return [
        _table(task, PAPER_TASKS.get(task, task), numbers.get(task), scores)
        for task in (*PAPER_TASKS, *others)
    ]


def _table(task: str, title: str, number: int | None, scores: Scores) -> PaperTable:
    here = [key for key in scores if key.task == task and key.policy != LATENT]
    policies = (*SIX, *sorted({key.policy for key in here} - set(SIX)))
    layout = [(scenario, policy) for scenario, run in _IN_THE_PAPER.items() for policy in run]
    columns = [PolicyColumn(*names) for names in layout] if number else []
    for scenario in in_order(key.scenario for key in here):
        run = {key.policy for key in here if key.scenario == scenario}
        if number:
            run -= set(_IN_THE_PAPER.get(scenario, ()))
        columns += [
            PolicyColumn(scenario, policy, bool(number)) for policy in policies if policy in run
        ]
    budgets = {key.budget for key in here} | (set(BUDGETS) if number else set())
    own = number is None
    rows = tuple(_row(task, budget, columns, scores, own) for budget in sorted(budgets))
    return PaperTable(task, title, number, tuple(columns), rows)


def _row(
    task: str, budget: int, columns: Sequence[PolicyColumn], scores: Scores, own: bool
) -> tuple[Comparison, ...]:
    keys = [Key(task, column.scenario, budget, column.policy) for column in columns]
    entries = [
        Comparison(column, budget, scores.get(key), published().get(key), own=own)
        for column, key in zip(columns, keys, strict=True)
    ]
    best = _best(columns, [entry.value for entry in entries])
    best_held_out = _best(columns, [entry.shown(held_out=True)[0] for entry in entries])
    return tuple(
        replace(entry, best=is_best, best_held_out=is_best_held_out)
        for entry, is_best, is_best_held_out in zip(entries, best, best_held_out, strict=True)
    )


def _best(columns: Sequence[PolicyColumn], values: Sequence[float | None]) -> list[bool]:
    """Return whether each value is the largest of its scenario after rounding, as in the paper."""
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


def to_csv(table: PaperTable) -> str:
    """Write one line per field that has a score, with all its numbers."""
    records = [_record(entry, entry.score) for entry in table.entries() if entry.score is not None]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def _record(entry: Comparison, score: Score) -> dict[str, object]:
    held_out, spread, _ = entry.shown(held_out=True)
    record = {
        **score.key._asdict(),
        **{name: getattr(score, name) for name in _NUMBERS},
        "paper": entry.published,
        "difference": None if entry.difference is None else round(entry.difference, 6),
        "best": int(entry.best),
        "mean_spent": score.spent,
        "settings": " ".join(score.settings),
        "held_out_mean": held_out,
        "held_out_deviation": spread,
        "held_out_seeds": len(score.held_out),
        "held_out_settings": score.held_out[0]["settings"] if score.held_out else "",
    }
    return {name: "" if value != value else value for name, value in record.items()}


def to_latex(table: PaperTable) -> str:
    """Write a table for the package booktabs.

    The held-out values come first, if there are any; then those of the best of the grid, beside
    those of the paper, where it has the task. Small print has deviations between shuffles.
    """
    table = table.run()
    one_by_one = [table.only(scenario) for scenario in table.scenarios]
    held_out = {"held-out": True} if any(score.held_out for score in table.scores) else {}
    parts = []
    for name, protocol in (held_out | {"best-of-grid": False}).items():
        cell = partial(_cell, protocol)
        tabulars = [_tabular(part, cell) for part in ([table] if table.number else one_by_one)]
        parts.append(_latex(_caption(table, protocol), f"{table.name}-{name}", tabulars))
    return "% needs \\usepackage{booktabs}\n" + "\n".join(parts)


def _latex(caption: str, name: str, tabulars: Sequence[str]) -> str:
    lines = [
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{_escaped(caption)}}}",
        rf"\label{{tab:{_escaped(name)}}}",
        "\n\\par\\medskip\n".join(tabulars),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _tabular(table: PaperTable, cell: Callable[[Comparison], str]) -> str:
    groups = [(s, len(list(run))) for s, run in groupby(table.columns, lambda c: c.scenario)]
    titles, rules, column = [], [], 2
    for scenario, span in groups:
        titles.append(rf"\multicolumn{{{span}}}{{c}}{{{_escaped(scenario.capitalize())}}}")
        rules.append(rf"\cmidrule(lr){{{column}-{column + span - 1}}}")
        column += span
    lines = [
        rf"\begin{{tabular}}{{r{'r' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(["", *titles]) + r" \\",
        " ".join(rules),
        " & ".join([r"$b_t$", *(_name(column) for column in table.columns)]) + r" \\",
        r"\midrule",
        *(" & ".join([str(row[0].budget), *map(cell, row)]) + r" \\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _caption(table: PaperTable, held_out: bool) -> str:
    counts = [len(score.reported if held_out else score.rows) for score in table.scores]
    which = (
        "on shuffles that played no part in choosing the settings"
        if held_out
        else "of the best setting of the grid on the shuffles that it was chosen on, which favours "
        "policies with many settings"
    )
    spread = ", with the standard deviation between shuffles" if max(counts) > 1 else ""
    size = f"{counted(table.scores[0].rounds, 'round')}, {counted(max(counts), 'shuffle')}"
    paper = "" if held_out else " The paper's numbers are in brackets."
    stars = f"{paper} A star marks columns that the paper does not have." if table.number else ""
    return f"{table.title}: normalized cumulative reward {which}{spread} ({size}).{stars}"


def _name(column: PolicyColumn) -> str:
    return column.label + ("$^*$" if column.ours_only else "")


def _cell(held_out: bool, entry: Comparison) -> str:
    value, spread, best = entry.shown(held_out)
    text = rf"\textbf{{{_number(value)}}}" if best else _number(value)
    if not isnan(spread):
        text += rf" {{\scriptsize $\pm$ {_number(spread)}}}"
    if entry.published is not None and not held_out:
        text += rf" {{\scriptsize ({_number(entry.published)})}}"
    return text


def _number(value: float | None) -> str:
    return number(value).replace("\N{MINUS SIGN}", "$-$").replace("\N{EN DASH}", "--")


def _escaped(text: str) -> str:
    return re.sub(r"([&%$#_{}])", r"\\\1", text.replace("\\", r"\textbackslash "))
