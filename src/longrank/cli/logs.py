"""``longrank logs``: histories of decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from longrank.cli.console import console
from longrank.logs import COLUMNS
from longrank.logs import check as check_history

app = typer.Typer(help="Look at logs of decisions and their outcomes.", no_args_is_help=True)


@app.command("check")
def check(
    file: Annotated[Path, typer.Argument(help="A .parquet, .csv or .jsonl file.")],
    most: Annotated[int, typer.Option(min=1, help="How many problems to show.")] = 20,
) -> None:
    """Say what is wrong with a log, row by row, and what can be done with it.

    Warm start, bounds, replay, off-policy estimates: each with the reason why it is possible or
    not. The exit code is 1 where a rule is broken. Files may be larger than memory.
    """
    with console.status(f"reading {file}"):
        found = check_history(file)
    for problem in found.problems[:most]:
        console.print(str(problem), style="red", markup=False, highlight=False, soft_wrap=True)
    rest = len(found.problems) + found.more - most
    if rest > 0:
        console.print(f"and {rest} more problems (--most shows more)", style="red")
    if found.ignored:
        console.print(f"columns that are not of the format, ignored: {', '.join(found.ignored)}")
    table = Table(title=f"{found.name}: {found.decisions} decisions")
    for column in ("what", "possible", "why"):
        table.add_column(column, overflow="fold")
    for ability in found.abilities:
        table.add_row(ability.name, "yes" if ability.possible else "no", ability.reason)
    console.print(table)
    if found.problems:
        raise typer.Exit(1)


@app.command("columns")
def columns() -> None:
    """The columns of the format, what they hold, and what each makes possible."""
    table = Table(title="The columns of a history (docs/logs.md)")
    for name in ("column", "holds", "needed for"):
        table.add_column(name, overflow="fold")
    for column in COLUMNS.values():
        table.add_row(column.name, column.holds.replace("`", ""), column.enables.replace("`", ""))
    console.print(table)
