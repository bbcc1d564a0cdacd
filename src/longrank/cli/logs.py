"""``longrank logs``: histories of decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from longrank.cli.terminal import console, deprecated
from longrank.logs import COLUMNS
from longrank.logs import check as check_history

app = typer.Typer(
    help="Check logs of decisions and outcomes before you learn from them.", no_args_is_help=True
)


@app.command("check")
def check(
    file: Annotated[Path, typer.Argument(help="A .parquet, .csv or .jsonl file.")],
    max_problems: Annotated[
        int, typer.Option(min=1, help="Maximum number of problems shown.")
    ] = 20,
    most: Annotated[
        int | None,
        typer.Option(min=1, hidden=True, callback=deprecated("--most", "--max-problems")),
    ] = None,
) -> None:
    """Check a log row by row, and list what it can be used for.

    Says for a warm start, bounds, replay and off-policy estimates whether the log supports them,
    and why. Files may be larger than memory. The exit code is 1 if a row breaks a rule.

    Parquet files need `pip install 'longrank[logs]'`.

    Example: `longrank logs check log.csv`
    """
    shown = most or max_problems
    with console.status(f"reading {file}"):
        found = check_history(file)
    for problem in found.problems[:shown]:
        console.print(str(problem), style="red", markup=False, highlight=False, soft_wrap=True)
    rest = len(found.problems) + found.more - shown
    if rest > 0:
        console.print(f"and {rest} more problems (see --max-problems)", style="red")
    if found.ignored:
        console.print(
            f"Ignored columns that are not part of the format: {', '.join(found.ignored)}"
        )
    table = Table(title=f"{found.name}: {found.decisions} decisions")
    for column in ("use", "possible", "why"):
        table.add_column(column, overflow="fold")
    for ability in found.abilities:
        table.add_row(ability.name, "yes" if ability.possible else "no", ability.reason)
    console.print(table)
    if found.problems:
        raise typer.Exit(1)


@app.command("columns")
def columns() -> None:
    """List the columns of a log, what each one holds, and what it makes possible.

    Example: `longrank logs columns`
    """
    table = Table(title="Columns of a log (docs/logs.md)")
    for name in ("column", "holds", "needed for"):
        table.add_column(name, overflow="fold")
    for column in COLUMNS.values():
        table.add_row(column.name, column.holds.replace("`", ""), column.enables.replace("`", ""))
    console.print(table)
