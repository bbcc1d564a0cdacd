"""``longrank report``."""

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli.terminal import console, needs, say


@needs("experiments")
def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER...", help="Folders that `longrank run` wrote.", exists=True),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("report"),
) -> None:
    """Report results: tables, learning curves, running times, and the paper's numbers beside them.

    Results on the paper's tasks are compared with its tables, figures and claims; a report on your
    own tasks leaves those out.

    Writes a self-contained page (`report.html`), the same as Markdown (`report.md`), each figure
    as SVG and PNG (`figures/`) and each table as CSV and LaTeX (`tables/`). The same results always
    give the same files. An older report in the folder is replaced.

    Needs `pip install '.[experiments]'`.

    Example: `longrank report results/ --out report/`
    """
    write(results, out)


def write(results: list[Path], out: Path) -> None:
    """Write the report and print where it is."""
    from longrank.experiments.report import report as write_report

    with console.status("writing the report"):
        files = write_report(results, out)
    say(f"Wrote {len(files)} files. Open {files[0]} in a browser.")
