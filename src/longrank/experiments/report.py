"""The report: one page, the same as Markdown, and every table and figure as a file."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from longrank.datasets import SOURCES, TASKS
from longrank.document.blocks import Block, Code, Field, Grid, Prose, to_html, to_markdown
from longrank.document.numbers import counted, number
from longrank.experiments import custom_tasks_report, figures
from longrank.experiments.claims import (
    FEW,
    NOTHING,
    TOLERANCE,
    Agreement,
    Check,
    agreements,
    checks,
)
from longrank.experiments.commands import commands
from longrank.experiments.custom_tasks_report import details, field, grid
from longrank.experiments.latent import PANELS, POLICIES, few_topics, latent
from longrank.experiments.page import Page, paragraphs
from longrank.experiments.results import ResultRow, origin, read_results
from longrank.experiments.scores import Scores, mean, score_cells
from longrank.experiments.tables import (
    MNIST,
    Comparison,
    PaperTable,
    label,
    tables,
    to_csv,
    to_latex,
)

TITLE = "Learning to rank long sequences: the paper's experiments, run again"
_INTRODUCTION = (
    "The experiments of “On Learning to Rank Long Sequences with Contextual Bandits” (Santara, "
    "Gentile, Aggarwal, Li, 2021), run with longrank: our numbers next to the published ones, with "
    "the settings, the spread and the command for every table."
)
_BOTH_WAYS = (
    "The first two statements are one-sided. This table counts both directions, at two decimals: "
    f"cells within {TOLERANCE} of the paper's number, and those further above or below. A larger "
    "grid scores higher by luck alone:"
)


def report(folders: Sequence[Path], out: Path) -> list[Path]:
    """Write report.html, report.md, figures/ and tables/ to the folder ``out``.

    Results on tasks of the paper are compared with it; without any, the report is about yours
    alone. Equal results in folders of the same name give equal files. Return them, the page first.
    """
    rows = read_results(folders)
    scores = score_cells(rows)
    all_tables = tables(scores)
    drawn = out / "figures"
    drawn.mkdir(parents=True, exist_ok=True)
    [source, *others] = map(Path, folders)
    known = None if others or source == Path("results") else source  # what --out was
    if any(table.number is not None and table.scores for table in all_tables):
        page = _compare(rows, scores, all_tables, drawn, known)
    else:
        page = custom_tasks_report.write(scores, all_tables, drawn, origin(folders), known)
    html, markdown = out / "report.html", out / "report.md"
    html.write_text(to_html(page.blocks, page.title), "utf-8")
    markdown.write_text(to_markdown(page.blocks, out), "utf-8")
    return [html, markdown, *page.files, *_table_files(all_tables, out / "tables")]


def _table_files(all_tables: Sequence[PaperTable], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for table in all_tables:
        if table.scores:
            for ending, text in ((".csv", to_csv(table)), (".tex", to_latex(table))):
                files.append(folder / f"{table.name}{ending}")
                files[-1].write_text(text, "utf-8")
    return files


def _compare(
    rows: Sequence[ResultRow],
    scores: Scores,
    all_tables: Sequence[PaperTable],
    folder: Path,
    source: Path | None,
) -> Page:
    """Report results on tasks of the paper beside its own, then those on other tasks."""
    page = Page(TITLE, _INTRODUCTION)
    all_checks = checks(rows, scores)
    tested = [check for check in all_checks if check.figure != NOTHING]
    page.section(
        "summary",
        "Summary",
        [
            Prose(_extent(scores, all_tables)),
            *(summary(tested, agreements(scores)) if tested else ()),
            *_untested(len(all_checks) - len(tested), len(all_checks)),
        ],
    )
    page.section("figures", "Figures 2 and 3")
    page.add(*figures.figure_2(scores, folder))
    page.add(*figures.figure_3(scores, folder))
    page.add(*figures.figure_3(few_topics(rows, FEW), folder, FEW))
    page.add([], figure_3_blocks(scores, source))
    fees = figures.figure_of_fees(scores, folder)
    if fees[0]:
        page.section("fees", "Fees")
        page.add(*fees)
    page.section("time", "Running time")
    page.add(*figures.figure_of_seconds(scores, folder))
    page.section("lengths", "Lengths")
    page.add(*figures.figure_of_lengths(scores, folder))
    page.section("tables", "Tables", paragraphs("reading.md"))
    ours = [table for table in all_tables if table.number is not None]
    for table in ours:
        if table.scores:
            title = f"Table {table.number}: {table.title}"
            page.section(table.name, title, table_blocks(table, source), level=3)
    custom_tasks_report.add_tasks(page, all_tables, folder, source)
    missing = [table for table in ours if not table.scores]
    if missing:
        page.section("not-run", "Not run", _not_run(missing))
    return page


def _untested(count: int, total: int) -> list[Block]:
    which = "All" if count == total else f"{count} of the"
    text = f"{which} {total} statements are about cells that were not run."
    return [Prose(text)] if count else []


def _extent(scores: Scores, all_tables: Sequence[PaperTable]) -> str:
    there = sum(table.number is not None and bool(table.scores) for table in all_tables)
    runs = sum(score.tried * score.seeds for score in scores.values())
    further = sum(len(score.held_out) for score in scores.values())
    grids = ", ".join(sorted({score.grid for score in scores.values()}))
    return (
        f"Results for {there} of the paper's 13 tables: "
        f"{counted(len(scores), 'cell')}, {counted(runs, 'run')} to search the settings "
        f"(grid: {grids}) and {counted(further, 'held-out run')}."
    )


def summary(checked: Sequence[Check], compared: Sequence[Agreement]) -> list[Block]:
    """List every claim, and every published number that is not reached."""
    rows = tuple(
        (check.sentence, check.figure, Field(check.verdict, strong=True)) for check in checked
    )
    header = ("statement", "our results", "verdict")
    blocks: list[Block] = [Grid(header, rows, prose=(0, 1, 2))]
    if any(agreement.scores for agreement in compared):
        blocks += [Prose(_BOTH_WAYS), _closeness(compared)]
    return [*blocks, *(_shortfalls(each) for each in compared if each.shortfalls)]


def _closeness(compared: Sequence[Agreement]) -> Grid:
    rows = [
        (label(policy), *(f"{count:,}" for count in counts))
        for agreement in compared
        for policy, *counts in agreement.closeness()
        if any(counts)
    ]
    header = ("policy", "settings in the grid", "cells", f"within {TOLERANCE}", "above", "below")
    return Grid(header, tuple(rows))


def _shortfalls(agreement: Agreement) -> Grid:
    rows = []
    for short in agreement.shortfalls:
        task, scenario, budget, policy = short.score.key
        numbers = (
            number(short.score.ncr_published, 3),
            number(short.published),
            number(short.difference, 3, sign=True),
            number(mean(short.score.held_out, "ncr_published"), 3),
        )
        cell = Field(f"{task}, {scenario}, b = {budget}, {label(policy)}", short.reason)
        rows.append((cell, *numbers))
    names = ", ".join(label(policy) for policy in agreement.policies)
    cells = counted(len(rows), "cell")
    title = f"{names}: the {cells} more than {TOLERANCE} below the paper's number"
    header = ("cell", "ours", "paper", "difference", "held out")
    return Grid(header, tuple(rows), folded=title, prose=tuple(range(len(header))))


def table_blocks(table: PaperTable, out: Path | None = None) -> list[Block]:
    """Show a table by both protocols, with its settings and the commands that wrote ``out``."""
    run = table.run()
    compared = any(entry.published is not None for entry in run.entries())
    small = "; in small print, the paper's number and the difference" if compared else ""
    blocks = [Prose(f"Best of the grid on the same stream{small}:"), grid(run, _ours)]
    if any(score.held_out for score in table.scores):
        seeds = sorted({len(score.held_out) for score in table.scores if score.held_out})
        counts = " or ".join([*map(str, seeds[:-1]), counted(seeds[-1], "other shuffle")])
        spread = "; in small print, the standard deviation" if seeds[-1] > 1 else ""
        blocks += [Prose(f"Held out: mean over {counts}{spread}:"), grid(run, partial(field, True))]
    if table.not_run:
        blocks.append(Prose(f"{counted(table.not_run, 'field')} of the paper's table not run."))
    chosen = details(table, lambda score: score.rows, "Chosen settings, rewards and lengths")
    return [*blocks, chosen, Code(tuple(commands(table.scores, out)))]


def _not_run(missing: Sequence[PaperTable]) -> list[Block]:
    """Name the paper's tables without results, and say how to get the data of each."""
    blocks: list[Block] = []
    sources = dict.fromkeys(TASKS[table.task].source for table in missing)
    for source in (SOURCES[name] for name in sources):
        mine = [table for table in missing if TASKS[table.task].source == source.name]
        names = "; ".join(f"Table {table.number}, {table.title}" for table in mine)
        get, add = f"longrank data get {source.name}", f"longrank data add {source.name} PATH"
        if source.manual is None:
            text = (
                f"{names}. Download the data as below, or add files that you already have: `{add}`."
            )
        else:
            text, get = f"{names}. To get the data, {source.manual}.", add
        tasks = " ".join(table.task for table in mine)
        blocks += [Prose(text), Code((get, f"longrank run {tasks} --grid paper --held-out 4"))]
    return blocks


def _ours(entry: Comparison) -> Field:
    published = "" if entry.published is None else number(entry.published)
    if entry.difference is not None:
        published += f", {number(entry.difference, sign=True)}"
    return Field(number(entry.value), published, entry.best)


def figure_3_blocks(scores: Scores, out: Path | None = None) -> list[Block]:
    """List the commands behind Figure 3, and those for what it still lacks."""
    used = [
        score
        for score in scores.values()
        if (score.key.scenario, score.key.budget) in PANELS
        and score.key.policy in POLICIES
        and score.key.task in MNIST
    ]
    blocks: list[Block] = [Code(tuple(commands(used, out)))] if used else []
    lines = [
        f"longrank run mnist --scenario {scenario} --budgets {budget} "
        f"--policies {','.join(POLICIES)} --grid paper"
        for scenario, budget in PANELS
        if used and not latent(scores, scenario, budget).complete
    ]
    return [*blocks, Prose("To complete Figure 3:"), Code(tuple(lines))] if lines else blocks
