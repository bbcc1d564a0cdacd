"""Results in, report out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from longrank.experiments.agreement import agreements
from longrank.experiments.latent import few_topics
from longrank.experiments.report import pictures
from longrank.experiments.report.document import Block, Heading, Links, Text
from longrank.experiments.report.files import to_csv, to_latex
from longrank.experiments.report.markdown import to_markdown
from longrank.experiments.report.page import to_html
from longrank.experiments.report.sections import (
    figure_3_blocks,
    measured_blocks,
    summary,
    table_blocks,
)
from longrank.experiments.results import Row, read_results
from longrank.experiments.scores import Scores, scores
from longrank.experiments.tables import Table, tables
from longrank.experiments.trends import FEW, checks

TITLE = "Learning to rank long sequences: the paper's experiments, run again"
_INTRODUCTION = (
    "The experiments of “On Learning to Rank Long Sequences with Contextual Bandits” (Santara, "
    "Gentile, Aggarwal, Li, 2021), run with longrank: our numbers beside the published ones, with "
    "the settings, the spread and the command for every table."
)
_READING = (
    "All values are normalised cumulative rewards, (CR − CR_rand) / (CR_max − CR_rand + 1): "
    "CR_rand is the mean reward of random orders, CR_max that of a clairvoyant. The 1 is not in "
    "the paper's formula but in its tables, so these values (`ncr_published`) are compared with "
    "them; the files have `ncr` without it too. In bold: the best of each scenario at two "
    "decimals, as in the paper. Eps, C-UCB1 and GL-CDCM in the exponential scenario are ours only; "
    "they are in bold where they are no worse than the best of the paper's columns.",
    "There are two protocols. The paper's takes the best setting of a grid on the very stream that "
    "it is reported for, which flatters noise: the more settings, the more. Held out means that "
    "the setting was chosen on one shuffle and is reported on others that had no part in the "
    "choice, with the standard deviation of one shuffle.",
)


def report(folders: Sequence[Path], out: Path) -> list[Path]:
    """Write report.html, report.md, figures/ and tables/ to the folder ``out``.

    Equal results give equal files. Returns the files, the page first.
    """
    rows = read_results(folders)
    found = scores(rows)
    all_tables = tables(found)
    drawn = out / "figures"
    drawn.mkdir(parents=True, exist_ok=True)
    blocks, files = _blocks(rows, found, all_tables, drawn)
    page, markdown = out / "report.html", out / "report.md"
    page.write_text(to_html(blocks, TITLE), "utf-8")
    markdown.write_text(to_markdown(blocks, out), "utf-8")
    return [page, markdown, *files, *_table_files(all_tables, out / "tables")]


def _table_files(all_tables: Sequence[Table], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for table in all_tables:
        if table.scores:
            for ending, text in ((".csv", to_csv(table)), (".tex", to_latex(table))):
                files.append(folder / f"{table.name}{ending}")
                files[-1].write_text(text, "utf-8")
    return files


def _blocks(
    rows: Sequence[Row], found: Scores, all_tables: Sequence[Table], folder: Path
) -> tuple[list[Block], list[Path]]:
    files: list[Path] = []
    blocks: list[Block] = [
        Heading(TITLE, 1),
        Text(_INTRODUCTION),
        Links(
            (
                ("summary", "Summary"),
                ("figures", "Figures 2 and 3"),
                ("time", "Running time"),
                ("lengths", "Lengths"),
                ("tables", "Tables"),
                *((table.name, table.title) for table in all_tables),
            )
        ),
        Heading("Summary", 2, "summary"),
        Text(_extent(found, all_tables)),
        *summary(checks(rows, found), agreements(found)),
        Heading("Figures 2 and 3", 2, "figures"),
    ]

    def draw(drawn: tuple[list[Path], Block]) -> None:
        files.extend(drawn[0])
        blocks.append(drawn[1])

    draw(pictures.figure_2(found, folder))
    draw(pictures.figure_3(found, folder))
    draw(pictures.figure_3(few_topics(rows, FEW), folder, FEW))
    blocks += figure_3_blocks(found)
    blocks.append(Heading("Running time", 2, "time"))
    draw(pictures.figure_of_seconds(found, folder))
    blocks += measured_blocks(pictures.seconds(found), 1)
    blocks.append(Heading("Lengths", 2, "lengths"))
    draw(pictures.figure_of_lengths(found, folder))
    blocks += measured_blocks(pictures.lengths(found), 2)
    blocks.append(Heading("Tables", 2, "tables"))
    blocks += [Text(text) for text in _READING]
    for table in all_tables:
        blocks += table_blocks(table)
    return blocks, files


def _extent(found: Scores, all_tables: Sequence[Table]) -> str:
    there = sum(table.number is not None and bool(table.scores) for table in all_tables)
    runs = sum(score.tried * score.seeds for score in found.values())
    further = sum(0 if s.held_out is None else s.held_out.seeds for s in found.values())
    grids = ", ".join(sorted({score.grid for score in found.values()}))
    return (
        f"Results for {there} of the paper's 13 tables: {len(found):,} cells, {runs:,} runs to "
        f"search the settings (grid: {grids}) and {further:,} held-out runs."
    )
