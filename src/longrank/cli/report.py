"""``longrank report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli.console import console


def report(
    results: Annotated[
        list[Path], typer.Argument(help="Folders with results of `longrank run`.", exists=True)
    ],
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("report"),
) -> None:
    """Compare results with the paper: its tables, its figures, its claims.

    Writes one page that needs nothing else (`report.html`), the same as Markdown (`report.md`),
    every figure as SVG and PNG (`figures/`) and every table as CSV and LaTeX (`tables/`). Equal
    results give equal files; files of an older report in that folder are replaced.
    """
    write(results, out)


def write(results: list[Path], out: Path) -> None:
    """Write the report and say where it is."""
    from longrank.experiments.report import report as write_report

    with console.status("writing the report"):
        files = write_report(results, out)
    console.print(f"{len(files)} files; the page is {files[0]}")
