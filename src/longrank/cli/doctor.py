"""``longrank doctor``."""

from __future__ import annotations

from typing import Annotated

import typer

from longrank.cli.console import console
from longrank.errors import MissingExtra


def doctor(
    store: Annotated[
        str, typer.Option(help="The SQLite file or PostgreSQL database to look at.")
    ] = "decisions.db",
) -> None:
    """Check versions, measure the disk, read the store, and say what to expect.

    The exit code is 1 if something must be mended. A store that is in use is not read.
    """
    try:
        from longrank.service.doctor import examine
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("longrank"):
            raise
        raise MissingExtra("longrank doctor", "service") from error
    good = True
    for finding in examine(store):
        good = good and finding.good
        mark = "[green]ok[/green]  " if finding.good else "[red]bad[/red] "
        console.print(f"{mark} {finding.what:<12}", end=" ")
        console.print(finding.detail, markup=False, highlight=False, soft_wrap=True)
    if not good:
        raise typer.Exit(1)
