"""``longrank doctor``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli.terminal import console, needs

if TYPE_CHECKING:
    from longrank.service.doctor import Finding


@needs("service")
def doctor(
    store: Annotated[
        str,
        typer.Option(
            envvar="LONGRANK_STORE",
            help="The SQLite file or the PostgreSQL URL (postgresql://user@host/name).",
        ),
    ] = "decisions.db",
) -> None:
    """Check that this machine and a store are ready for `longrank serve`.

    Checks versions, measures the disk, reads and verifies the whole store, and estimates the
    throughput to expect. Stop the service first: a store in use cannot be read. The exit code is 1
    if something needs fixing.

    Needs `pip install 'longrank[service]'`.

    Example: `longrank doctor --store decisions.db`
    """
    from longrank.service.doctor import examine

    if not show(examine(store)):
        raise typer.Exit(1)


def show(findings: Iterable[Finding]) -> bool:
    """Print findings as they come; return whether all are good."""
    good = True
    for finding in findings:
        good = good and finding.good
        mark = "[green]ok[/green]  " if finding.good else "[red]bad[/red] "
        console.print(f"{mark} {finding.what:<17}", end=" ")
        console.print(finding.detail, markup=False, highlight=False, soft_wrap=True)
    return good
