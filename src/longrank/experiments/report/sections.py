"""The parts of the report as blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from longrank.datasets import SOURCES, TASKS
from longrank.experiments.agreement import TOLERANCE, Agreement
from longrank.experiments.check import Check
from longrank.experiments.commands import commands
from longrank.experiments.figures.budgets import Measured
from longrank.experiments.latent import PANELS, POLICIES, latent
from longrank.experiments.report.document import Block, Code, Field, Grid, Heading, Text, number
from longrank.experiments.scores import Scores
from longrank.experiments.tables import LABELS, MNIST, Entry, Table


def summary(found: Sequence[Check], compared: Sequence[Agreement]) -> list[Block]:
    """Every check, and every number that we do not reach."""
    rows = tuple((Field(c.sentence), Field(c.figure), Field(c.verdict, strong=True)) for c in found)
    grid = Grid(("statement", "our results", "verdict"), rows, prose=True)
    return [grid, *(_shortfalls(one) for one in compared if one.shortfalls)]


def _shortfalls(one: Agreement) -> Grid:
    rows = []
    for short in one.shortfalls:
        task, scenario, budget, policy = short.score.key
        held_out = short.score.held_out
        numbers = (
            number(short.score.ncr_published, 3),
            number(short.published),
            number(short.difference, 3, sign=True),
            number(None if held_out is None else held_out.mean, 3),
        )
        cell = Field(f"{task}, {scenario}, b = {budget}, {LABELS[policy]}", short.reason)
        rows.append((cell, *map(Field, numbers)))
    names = ", ".join(LABELS[policy] for policy in one.policies)
    title = f"{names}: the {len(rows)} cells more than {TOLERANCE} below the paper's number"
    header = ("cell", "ours", "paper", "difference", "held out")
    return Grid(header, tuple(rows), folded=title, prose=True)


def table_blocks(table: Table) -> list[Block]:
    """A table of the paper by both protocols, its settings and its commands."""
    prefix = "" if table.number is None else f"Table {table.number}: "
    heading = Heading(f"{prefix}{table.title}", 3, table.name)
    if not table.scores:
        return [heading, *_how_to_get(table.task)]
    blocks: list[Block] = [
        heading,
        Text(
            "Best of the grid on the same stream; in small print the paper's, and the difference:"
        ),
        _grid(table, _ours),
    ]
    if any(score.held_out for score in table.scores):
        seeds = sorted({score.held_out.seeds for score in table.scores if score.held_out})
        counts = " or ".join(map(str, seeds))
        blocks += [
            Text(f"Held out: mean over {counts} other shuffles; in small print the deviation:"),
            _grid(table, _held_out),
        ]
    return [*blocks, _settings(table), Code(tuple(commands(table.scores)))]


def _how_to_get(task: str) -> list[Block]:
    source = SOURCES[TASKS[task].source]
    get, add = f"longrank data get {source.name}", f"longrank data add {source.name} PATH"
    if source.manual is None:
        text = f"No results. Download the data as below, or use files that you have: `{add}`."
    else:
        text, get = f"No results. For the data, {source.manual}.", add
    return [Text(text), Code((get, f"longrank run {task} --grid paper --held-out 4"))]


def _grid(table: Table, field: Callable[[Entry], Field]) -> Grid:
    scenarios = [
        (f"{scenario} (ours only)" if ours_only else scenario, len(list(run)))
        for (scenario, ours_only), run in groupby(
            table.columns, lambda column: (column.scenario, column.ours_only)
        )
    ]
    return Grid(
        ("b", *(column.label for column in table.columns)),
        tuple((Field(str(row[0].budget)), *map(field, row)) for row in table.rows),
        (("", 1), *scenarios),
    )


def _ours(entry: Entry) -> Field:
    ours = number(None if entry.score is None else entry.score.ncr_published)
    if entry.published is None:
        return Field(ours, strong=entry.best)
    difference = "" if entry.difference is None else f", {number(entry.difference, sign=True)}"
    return Field(ours, number(entry.published.ncr) + difference, entry.best)


def _held_out(entry: Entry) -> Field:
    one = None if entry.score is None else entry.score.held_out
    if one is None:
        return Field(number(None))
    return Field(number(one.mean), f"± {number(one.deviation)}", entry.best_held_out)


def _settings(table: Table) -> Grid:
    header = (
        "scenario",
        "b",
        "policy",
        "settings",
        "of",
        "NCR",
        "CR",
        "CR_rand",
        "CR_max",
        "length",
    )
    rows = []
    for score in table.scores:
        texts = (
            *(score.key.scenario, str(score.key.budget), LABELS[score.key.policy]),
            " / ".join(map(readable, score.settings)),
            str(score.tried),
            number(score.ncr, 3),
            number(score.cumulative_reward, 1),
            number(score.cr_rand, 1),
            number(score.cr_max, 1),
            number(score.mean_length, 1),
        )
        rows.append(tuple(Field(text) for text in texts))
    return Grid(header, tuple(rows), folded="Settings chosen, rewards and lengths")


def readable(settings: str) -> str:
    """Settings in JSON as ``rate 3, radius 1``."""
    return ", ".join(f"{name} {value}" for name, value in json.loads(settings).items()) or "none"


def figure_3_blocks(found: Scores) -> list[Block]:
    """The commands behind Figure 3, and those for what is missing of it."""
    used = [
        score
        for score in found.values()
        if (score.key.scenario, score.key.budget) in PANELS
        and score.key.policy in POLICIES
        and score.key.task in MNIST
    ]
    blocks: list[Block] = [Code(tuple(commands(used)))] if used else []
    lines = [
        f"longrank run mnist --scenario {scenario} --budgets {budget} "
        f"--policies {','.join(POLICIES)} --grid paper"
        for scenario, budget in PANELS
        if not latent(found, scenario, budget).complete
    ]
    return [*blocks, Text("To complete Figure 3:"), Code(tuple(lines))] if lines else blocks


def measured_blocks(shown: Mapping[str, Measured], decimals: int) -> list[Block]:
    """A measure of every policy over the budgets, in numbers."""
    budgets = sorted({b for lines in shown.values() for line in lines.values() for b in line})
    rows = tuple(
        (
            Field(f"{scenario}: {name}"),
            *(Field(number(line.get(budget), decimals)) for budget in budgets),
        )
        for scenario, lines in shown.items()
        for name, line in lines.items()
    )
    return [Grid(("", *(f"b = {budget}" for budget in budgets)), rows, folded="In numbers")]
