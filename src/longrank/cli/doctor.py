"""``longrank doctor``."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli.terminal import console, needs
from longrank.kernels.behind import available
from longrank.kernels.compilation import mode

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

    Says whether kernels are compiled, checks versions, measures the disk, reads and verifies the
    whole store, and estimates the throughput to expect. Stop the service first: a store in use
    cannot be read. The exit code is 1 if something needs fixing.

    Needs `pip install 'longrank[service]'`.

    Example: `longrank doctor --store decisions.db`
    """
    from longrank.service.doctor import Finding, examine

    if not show(chain([Finding("kernels", True, kernels())], examine(store))):
        raise typer.Exit(1)


def kernels() -> str:
    """Say whether there is a compiler, and what follows from that."""
    if find_spec("numba") is None:
        return "plain Python, slower, since numba is not installed"
    if not available() or mode() == "plain":
        return "plain Python, slower, since compiling is switched off"
    return f"compiled by numba {version('numba')} when they are needed, or now by `longrank warm`"


def show(findings: Iterable[Finding]) -> bool:
    """Print findings as they come; return whether all are good."""
    good = True
    for finding in findings:
        good = good and finding.good
        mark = "[green]ok[/green]  " if finding.good else "[red]bad[/red] "
        console.print(f"{mark} {finding.what:<17}", end=" ")
        console.print(finding.detail, markup=False, highlight=False, soft_wrap=True)
    return good
